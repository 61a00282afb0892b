"""The mapping profiles by their names, as routes choose them.

Every profile reads the records of every other one without failing, since a route's profile may be
changed while its topic has records; `docs/mapping.md` tells what becomes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bridge.mapping import cloudevents, eventhubs, native, raw, strimzi, strimzi_json
from bridge.mapping.record import Record

if TYPE_CHECKING:
    from bridge.mapping.options import MappingOptions

MessageToRecord: TypeAlias = Callable[[bytes], Record]
"""A whole encoded message to a record; raises MappingError for a message that is refused."""


class RecordToMessage(Protocol):
    """Maps the records of one topic to whole encoded messages of one link. Never raises."""

    @property
    def damaged(self) -> int:
        """Count the records that were not all that their headers promised."""

    @property
    def plain(self) -> Callable[[int, int, int, bytes], bytes] | None:
        """A faster way for records with a CreateTime and a value, without key and headers, if there is one.

        It is for a first delivery; its arguments are partition, offset, timestamp in ms and value.
        """

    def __call__(  # noqa: PLR0913, PLR0917 - a record has that many parts, and a tuple costs time
        self,
        partition: int,
        offset: int,
        timestamp_type: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
        delivery_count: int,
        again: bool = ...,  # noqa: FBT001 - positional: the hot path
        /,
    ) -> bytes:
        """Encode the message for one delivery; b"" for a record that is to be skipped.

        `timestamp_type` is 0 (none), 1 (CreateTime) or 2 (LogAppendTime), `delivery_count` the
        number of attempts before this one that failed, `again` whether there was any attempt.
        """


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile: its name and its two directions.

    `message_to_record(options)` makes one function for each link to Kafka, `record_to_message(topic,
    address, options)` one for each link and topic from Kafka; `address` is what `to` is filled in
    with where a message has none. `stores_data` tells that a body of one data section becomes the value
    as it is, whatever else a message has.
    """

    name: str
    message_to_record: Callable[[MappingOptions], MessageToRecord]
    record_to_message: Callable[[str, str, MappingOptions], RecordToMessage]
    stores_data: bool = False


_ALL: Final = (
    Profile("native", native.message_to_record, native.record_to_message, stores_data=True),
    Profile("eventhubs", eventhubs.message_to_record, eventhubs.record_to_message),
    Profile("strimzi", strimzi.message_to_record, strimzi.record_to_message),
    Profile("strimzi-json", strimzi_json.message_to_record, strimzi_json.record_to_message),
    Profile("raw", raw.message_to_record, raw.record_to_message),
    Profile("cloudevents", cloudevents.message_to_record, cloudevents.record_to_message),
)

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType({profile.name: profile for profile in _ALL})
"""Every profile by its name."""

DEFAULT: Final = "native"
