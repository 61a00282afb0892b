"""What a route may choose about the native mapping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class MappingOptions:
    """The choices of profile `native`, both ways.

    To Kafka:
    `key_from_partition_key`, `key_from_group_id`: whether these give the record's key when the
    message has no annotation that names one. `tombstones`: whether a null body may become a null
    value. `value_as_json`: write a map, list, array or described body as tagged JSON instead of
    AMQP's encoding. `keep_delivery_annotations`: store them as `amqp.da.*`. `headers_max`,
    `header_bytes_max`: how many headers a record may have, and how large they may be together,
    names and values, in bytes.

    From Kafka:
    `foreign_headers`: how the headers of records that the bridge did not write become
    application-properties: strings where they are valid UTF-8 and binary else (`auto`), or always
    the one or the other. `creation_time_from_record`: give such records their CreateTime as
    creation-time. `event_streams`: add the delivery-annotations of OASIS Event Stream Extensions.
    `now_ms`: a clock in milliseconds since the epoch, asked only for records that carry a ttl,
    which is then shortened by the record's age; without it the ttl stays as it was. `expired`: what
    to do with a record whose ttl has passed: deliver it with a ttl of 0, or give no bytes for it.
    """

    key_from_partition_key: bool = True
    key_from_group_id: bool = True
    tombstones: bool = True
    value_as_json: bool = False
    keep_delivery_annotations: bool = False
    headers_max: int = 256
    header_bytes_max: int = 256 * 1024

    foreign_headers: Literal["auto", "binary", "string"] = "auto"
    creation_time_from_record: bool = True
    event_streams: bool = False
    now_ms: Callable[[], int] | None = None
    expired: Literal["deliver", "skip"] = "deliver"
