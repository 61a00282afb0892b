"""The section header of a message on its way out: the sender's, as this delivery changes it.

Durable is true, since the record is stored; delivery-count counts the attempts that failed, and
first-acquirer says that this is the first one (core 3.2.1); a ttl is what is left of it. What the
record has stored of these goes into `x-opt-bridge.stored`, so that it is not lost when the message
is sent to a bridge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bridge.codec import UInt, encode
from bridge.mapping.encoding import NULL, TRUE, as_list, as_map, name
from bridge.mapping.from_text import WRITE
from bridge.mapping.names import STORED
from bridge.mapping.to_text import MALFORMED, READ

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_START: Final = b"\x00Sp"
_DEFAULT_PRIORITY: Final = b"4"
_FALSE: Final = b"\x42"


@dataclass(slots=True)
class StoredHeader:
    """What a record's headers `amqp.durable`, `amqp.priority` ... say.

    `unread` are the places of texts that are not what the bridge writes. `annotation` is
    `x-opt-bridge.stored`, or empty. `first` is the section of a first attempt, where there is no
    ttl.
    """

    priority: bytes = NULL
    ttl_ms: int | None = None
    unread: list[int] = field(default_factory=list)
    annotation: bytes = b""
    first: bytes = b""

    def section(self, delivery_count: int, ttl_ms: int | None, *, again: bool) -> bytes:
        """Encode the section; `ttl_ms` is what is left of the ttl."""
        content = TRUE + self.priority
        content += NULL if ttl_ms is None else encode(UInt(ttl_ms))
        if delivery_count:
            return _START + as_list(content + _FALSE + encode(UInt(delivery_count)), 5)
        return _START + as_list(content + (_FALSE if again else TRUE), 4)


def read(
    fields: Sequence[tuple[int, str, bytes | None]], stored: Sequence[bytes], *, are_encoded: bool = False
) -> StoredHeader:
    """Read the headers that hold fields of the section header: their places, names and texts.

    `stored` are keys and values, encoded, that also belong into `x-opt-bridge.stored`.
    `are_encoded` says that the fields are AMQP-encoded values instead of texts.
    """
    header = StoredHeader()
    entries = list(stored)
    for place, field_name, text in fields:
        encoded = _check(field_name, text) if are_encoded else encode_field(field_name, text)
        if encoded is None:
            header.unread.append(place)
        elif field_name == "amqp.priority":
            header.priority = encoded
        else:
            entries.append(name(field_name) + encoded)
            if field_name == "amqp.ttl":
                header.ttl_ms = int(READ[encoded[0]](encoded, 1)[0] or b"0")
    if entries:
        header.annotation = name(STORED) + as_map(b"".join(entries), 2 * len(entries))
    header.first = header.section(0, None, again=False)
    return header


def left_ms(ttl_ms: int | None, timestamp_ms: int, now_ms: Callable[[], int] | None) -> int | None:
    """Tell what the age of a record leaves of its ttl; all of it without a clock."""
    if ttl_ms is None or now_ms is None:
        return ttl_ms
    return max(ttl_ms - max(now_ms() - timestamp_ms, 0), 0)


def encode_field(field_name: str, text: bytes | None) -> bytes | None:
    """Encode a field from its text, or give None for a text that the bridge does not write."""
    if field_name in {"amqp.durable", "amqp.first-acquirer"}:
        return TRUE if text == b"true" else None
    if field_name == "amqp.priority":
        return None if text == _DEFAULT_PRIORITY else WRITE["ubyte"](text)
    if field_name == "amqp.delivery-count" and text == b"0":
        return None
    return WRITE["uint"](text)


def _check(field_name: str, encoded: bytes | None) -> bytes | None:
    """Give back an encoded field, or None for one that is not what `encode_field` gives."""
    if not encoded:
        return None
    try:
        text = READ[encoded[0]](encoded, 1)[0]
    except MALFORMED:
        return None
    return encoded if encode_field(field_name, text) == encoded else None
