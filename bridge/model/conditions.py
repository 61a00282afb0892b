"""AMQP error conditions: the symbols that go on the wire, and the value that carries one.

Sources: AMQP 1.0 core, section 2.8.15 (amqp-error), 2.8.16 (connection-error), 2.8.17 (session-error)
and 2.8.18 (link-error).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bridge.model.dialect import FORMER_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.model.dialect import Dialect

INTERNAL_ERROR: Final = "amqp:internal-error"
NOT_FOUND: Final = "amqp:not-found"
UNAUTHORIZED_ACCESS: Final = "amqp:unauthorized-access"
DECODE_ERROR: Final = "amqp:decode-error"
RESOURCE_LIMIT_EXCEEDED: Final = "amqp:resource-limit-exceeded"
NOT_ALLOWED: Final = "amqp:not-allowed"
INVALID_FIELD: Final = "amqp:invalid-field"
NOT_IMPLEMENTED: Final = "amqp:not-implemented"
PRECONDITION_FAILED: Final = "amqp:precondition-failed"
RESOURCE_DELETED: Final = "amqp:resource-deleted"

CONNECTION_FORCED: Final = "amqp:connection:forced"
CONNECTION_FRAMING_ERROR: Final = "amqp:connection:framing-error"

LINK_DETACH_FORCED: Final = "amqp:link:detach-forced"
LINK_STOLEN: Final = "amqp:link:stolen"
LINK_TRANSFER_LIMIT_EXCEEDED: Final = "amqp:link:transfer-limit-exceeded"
LINK_MESSAGE_SIZE_EXCEEDED: Final = "amqp:link:message-size-exceeded"


_FIELD_BYTES: Final = 12
"""What AMQP puts around a text or a number, at most."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An AMQP `error` (core 2.8.14): what went wrong, told to the peer.

    `name` is the condition's symbol, `description` a sentence for people, `info` scalars for programs
    (keys become symbols on the wire). `former` is the name that the ancestor of this bridge had for it,
    if it had one: peers find it in the info, or as the name itself where they are to be told in its dialect.
    """

    name: str
    description: str
    info: Mapping[str, str | int | bool] = field(default_factory=dict)
    former: str = ""

    def within(self, bytes_max: int) -> Condition:
        """Give the condition in so many bytes: without the longest of its info, then with less description.

        Much of what is said may be a peer's own choice: names of links, addresses.
        """
        info = dict(self.info)
        said = {key: len(key) + len(str(value).encode()) + _FIELD_BYTES for key, value in info.items()}
        description = self.description.encode()
        free = bytes_max - len(self.name) - _FIELD_BYTES
        while info and sum(said.values()) + len(description) > free:
            longest = max(info, key=lambda key: said[key])
            del info[longest], said[longest]
        if len(info) == len(self.info) and len(description) <= free:
            return self
        text = description[: max(0, free)].decode(errors="ignore")
        return Condition(self.name, text, info, self.former)

    def for_wire(self, *, dialect: Dialect) -> Condition:
        """Give the condition as a peer is to read it."""
        if not self.former:
            return self
        info = {FORMER_KEY: self.former, **self.info}
        return Condition(self.former if dialect == "strimzi" else self.name, self.description, info)
