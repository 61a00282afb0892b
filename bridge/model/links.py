"""What a peer asked for when it attached a link, and the settlement modes' names."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class SenderSettleMode(IntEnum):
    """How the sending end settles (AMQP 1.0 core, 2.8.2)."""

    UNSETTLED = 0
    SETTLED = 1
    MIXED = 2


class ReceiverSettleMode(IntEnum):
    """When the receiving end settles (AMQP 1.0 core, 2.8.3)."""

    FIRST = 0
    SECOND = 1


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """A remote attach, read once.

    `peer_sends` is True when the remote end is the sender (a source endpoint is wanted), `address` the
    address of the terminus at the bridge's side (its target, or its source), `outcomes` the symbols that
    the sending peer's source lists as supported (AMQP 1.0 core, 3.5.3), `properties` the scalars among
    the link's properties, `max_message_size_bytes` the largest message that the peer takes, 0 for no limit.

    `filters` is the filter-set of the source (core 3.5.8), decoded: keys as text, values as `bridge.codec`
    gives them, most of them `Described`. `durable` tells that the terminus is to outlive the link (its
    durability or its expiry-policy says so, core 3.5.5-3.5.6): the link's name is meant to come back.
    `capabilities` are those that the peer wishes for or has, in its open and in the link's source.
    `browses` tells that messages are to be looked at and not taken (distribution-mode copy, 3.5.7; a durable
    terminus with this mode is a subscription instead). `malformed` says what in the request is not as AMQP
    has it, in words for a person; such a request is to be refused.
    """

    container_id: str
    link_name: str
    peer_sends: bool
    address: str | None
    snd_settle_mode: SenderSettleMode
    rcv_settle_mode: ReceiverSettleMode
    outcomes: frozenset[str] = field(default_factory=frozenset)
    properties: Mapping[str, str | int | bool] = field(default_factory=dict)
    dynamic: bool = False
    browses: bool = False
    filters: Mapping[str, object] = field(default_factory=dict)
    malformed: str = ""
    durable: bool = False
    capabilities: frozenset[str] = field(default_factory=frozenset)
    coordinator: bool = False
    max_message_size_bytes: int = 0
