"""Reads the performatives that a peer sends: control frames by the codec, those of multitudes by hand.

A peer may write a field in any of its forms; whatever form it takes, what is not read here is skipped by
its size. Knows bytes only, and never where they came from. Source: AMQP 1.0 core, 1.6, 2.7.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from bench.load.errors import LoadError
from bridge.codec import DecodeError, Described, ULong, decode

Buffer: TypeAlias = bytes | bytearray
Span: TypeAlias = tuple[int, int]
"""Where something starts and ends in a buffer."""

OUTCOMES: Final = {0x24: "accepted", 0x25: "rejected", 0x26: "released", 0x27: "modified"}
"""Delivery states that are final (3.4), by their descriptors."""

_FIELDS: Final = 14
"""As many as any performative has."""
_WORD: Final = Struct(">I").unpack_from
_NULL: Final = 0x40
_TRUE: Final = 0x41
_BOOLEAN: Final = 0x56
_ZERO: Final = 0x43
_SMALL_UINT: Final = 0x52
_UINT: Final = 0x70
_LIST_8: Final = 0xC0
_LIST_32: Final = 0xD0
_SECTION: Final = b"\x00\x53"
"""How a descriptor begins that stands for a performative, a section or an outcome."""
_FIXED_BYTES: Final = {0x4: 1, 0x5: 2, 0x6: 3, 0x7: 5, 0x8: 9, 0x9: 17}
"""Bytes of a value of fixed width, its constructor included, by the first half of its constructor."""
_SIZED_8: Final = frozenset({0xA, 0xC, 0xE})
_BODY_SECTIONS: Final = frozenset({0x75, 0x76, 0x77})


class Performative(NamedTuple):
    """A performative's fields in order; those that are left out are None."""

    code: int
    fields: list[Any]


class Disposition(NamedTuple):
    """What a disposition says of the deliveries `first` to `last`; `state` is its descriptor, or 0.

    `first_at` and `last_at` are where the content of these two numbers is.
    """

    first: int
    last: int
    settled: bool
    state: int
    first_at: Span
    last_at: Span


class Transfer(NamedTuple):
    """What a transfer says.

    `payload_at` is where its payload starts, `id_at` and `tag_at` are where the content of its delivery-id
    and its delivery-tag is; no bytes when it has none.
    """

    handle: int
    delivery_id: int | None
    settled: bool
    more: bool
    aborted: bool
    payload_at: int
    id_at: Span
    tag_at: Span


class Body(NamedTuple):
    """The first body section of a message: where its constructor is, and how long its content is."""

    section_at: int
    content_at: int
    content_bytes: int


def performative(buffer: Buffer, at: int) -> Performative:
    """Decode the performative at `at`. Raises LoadError."""
    try:
        value, _ = decode(buffer, at)
    except DecodeError as error:
        raise LoadError(f"the peer sent a frame that cannot be decoded: {error}") from error
    if not (
        isinstance(value, Described) and isinstance(value.descriptor, ULong) and isinstance(value.value, list)
    ):
        raise LoadError(f"the peer sent a frame that is no performative: {value!r:.80}")
    fields = value.value + [None] * (_FIELDS - len(value.value))
    return Performative(value.descriptor, fields)


def error_text(error: Any) -> str:  # noqa: ANN401 - a field, whatever it holds
    """Tell the condition and the description of an error (2.8.14)."""
    if not isinstance(error, Described) or not isinstance(error.value, list):
        return "no error given"
    return ": ".join(str(part) for part in error.value[:2] if part is not None)


def disposition(buffer: Buffer, at: int) -> Disposition:
    """Read the disposition at `at`. Its role is not looked at: a session has links of one direction."""
    at, _, left = _list(buffer, at)
    at = after(buffer, at)
    start = at + 1
    first, at = _uint(buffer, at)
    first_at = last_at = (start, at)
    last: int | None = None
    settled, state = False, 0
    if left := left - 2:
        start = at + 1
        last, at = _uint(buffer, at)
        if last is not None:
            last_at = (start, at)
        if left > 1:
            settled, at = _boolean(buffer, at)
        if left > 2 and not buffer[at]:  # noqa: PLR2004 - after `last` and `settled`
            state = buffer[at + 2]
    if first is None:
        raise LoadError("the peer sent a disposition of no delivery")
    return Disposition(first, first if last is None else last, settled, state, first_at, last_at)


def transfer(buffer: Buffer, at: int) -> Transfer:
    """Read the transfer at `at`."""
    at, payload_at, left = _list(buffer, at)
    handle, at = _uint(buffer, at)
    id_at = tag_at = (at, at)
    delivery_id = None
    settled = more = aborted = False
    if left > 1:
        start = at + 1
        delivery_id, at = _uint(buffer, at)
        id_at = (start, at)
    if left > 2:  # noqa: PLR2004 - the tag
        start = at + (2 if buffer[at] >> 4 in _SIZED_8 else 5)
        at = after(buffer, at)
        # Null is one byte: it has no content.
        tag_at = (min(start, at), at)
    if left > 4:  # noqa: PLR2004 - the message-format goes before `settled`
        settled, at = _boolean(buffer, after(buffer, at))
    if left > 5:  # noqa: PLR2004 - `more`
        more, at = _boolean(buffer, at)
    if left > 9:  # noqa: PLR2004 - rcv-settle-mode, state and resume go before `aborted`
        aborted, at = _boolean(buffer, after(buffer, after(buffer, after(buffer, at))))
    if handle is None:
        raise LoadError("the peer sent a transfer without a handle")
    return Transfer(handle, delivery_id, settled, more, aborted, payload_at, id_at, tag_at)


def body(buffer: Buffer, at: int, end: int) -> Body | None:
    """Find the first body section of the message that starts at `at`, or of what is there of it."""
    while at + 5 < end and buffer[at : at + 2] == _SECTION:
        content = at + 3
        if buffer[at + 2] in _BODY_SECTIONS:
            wide = buffer[content] >> 4 not in _SIZED_8
            size = _WORD(buffer, content + 1)[0] if wide else buffer[content + 1]
            return Body(at, content + (5 if wide else 2), size)
        at = after(buffer, content)
    return None


def after(buffer: Buffer, at: int) -> int:
    """Give where the value at `at` ends."""
    code = buffer[at]
    kind = code >> 4
    if fixed := _FIXED_BYTES.get(kind):
        return at + fixed
    if not code:
        return after(buffer, after(buffer, at + 1))
    if kind in _SIZED_8:
        return at + 2 + buffer[at + 1]
    return at + 5 + int(_WORD(buffer, at + 1)[0])


def _list(buffer: Buffer, at: int) -> tuple[int, int, int]:
    """Give where the fields of the performative at `at` start and end, and how many there are."""
    if buffer[at : at + 2] != _SECTION:
        raise LoadError("the peer sent a performative with an unusual descriptor")
    code = buffer[at + 3]
    if code == _LIST_8:
        return at + 6, at + 5 + buffer[at + 4], buffer[at + 5]
    if code == _LIST_32:
        return at + 12, at + 8 + int(_WORD(buffer, at + 4)[0]), int(_WORD(buffer, at + 8)[0])
    raise LoadError(f"the peer sent a performative that is no list with fields: 0x{code:02x}")


def _uint(buffer: Buffer, at: int) -> tuple[int | None, int]:
    code = buffer[at]
    if code == _UINT:
        return _WORD(buffer, at + 1)[0], at + 5
    if code == _SMALL_UINT:
        return buffer[at + 1], at + 2
    if code == _ZERO:
        return 0, at + 1
    if code == _NULL:
        return None, at + 1
    raise LoadError(f"the peer sent 0x{code:02x} where an unsigned number belongs")


def _boolean(buffer: Buffer, at: int) -> tuple[bool, int]:
    """Read a boolean; null is false, as everywhere in dispositions and transfers."""
    code = buffer[at]
    if code == _BOOLEAN:
        return buffer[at + 1] == 1, at + 2
    return code == _TRUE, at + 1
