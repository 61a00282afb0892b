"""Shapes and the mapping of messages to records, in either way; and messages to try them with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from support.compiled import compiled

from bridge.codec import Described, Int, Long, Map, Symbol, Timestamp, ULong, encode
from bridge.mapping.options import MappingOptions
from bridge.mapping.shapes import Shape, learn
from bridge.mapping.to_record import message_to_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.record import Record
    from bridge.mapping.shapes import Learnt, MakeShape

WAYS: Final = ("python", "compiled")

DATA: Final = (0x75, b"body")

WIDTHS: Final = {
    **dict.fromkeys((0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56), 1),
    **dict.fromkeys((0x60, 0x61), 2),
    **dict.fromkeys((0x70, 0x71, 0x72, 0x73, 0x74), 4),
    **dict.fromkeys((0x80, 0x81, 0x82, 0x83, 0x84), 8),
    **dict.fromkeys((0x94, 0x98), 16),
}
"""How many octets the values of a constructor have, where that is always the same."""


def mapping(way: str, options: MappingOptions | None = None) -> Callable[[bytes], Record]:
    """Make the function that maps messages, in one of the ways."""
    return message_to_record(options or MappingOptions(), None if way == "python" else compiled())


def maker(way: str) -> MakeShape:
    """Give the function that makes shapes in one of the ways."""
    return Shape if way == "python" else compiled().shape


def read_alone(message: bytes) -> Record:
    """Read a message as if it were the first one, as Python does."""
    return mapping("python")(message)


def learnt(way: str, message: bytes) -> Learnt:
    """Make the shape of a message that has one."""
    shape = learn(message, read_alone(message), maker(way))
    assert shape is not None
    return shape


def encoded(*sections: tuple[int, object]) -> bytes:
    """Encode a message from the codes of its sections and what they hold."""
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


def typical(number: int, *, key: tuple[str, object] | None = None, body: bytes = b"body") -> bytes:
    """Encode a message with values of many types, for a number of up to 255."""
    properties = [f"id-{number:05}", None, None, "subject", None, None, Symbol("a/b")]
    application = [
        *(("count", Int(1000 + number)), ("price", 0.5 + number), ("urgent", True)),
        *(("region", "eu"), ("raw", bytes((number,))), ("none", None), ("trace", UUID(int=number))),
        *(("time", Timestamp(number)), ("list", [Int(1)])),
    ]
    annotations = (
        [] if key is None else [(0x72, Map([(Symbol("x-opt-a"), Long(1)), (Symbol(key[0]), key[1])]))]
    )
    return encoded((0x70, [True]), *annotations, (0x73, properties), (0x74, Map(application)), (0x75, body))


def of_values(values: list[tuple[int, bytes]], body: bytes = b"body") -> bytes:
    """Write a message whose application-properties are these constructors and octets, right or wrong."""
    pairs = [
        b"\xa1\x03v%02d%c" % (number, code) + (b"" if code in WIDTHS else b"%c" % len(octets)) + octets
        for number, (code, octets) in enumerate(values)
    ]
    properties = b"".join(pairs)
    size = (len(properties) + 4).to_bytes(4, "big")
    count = (2 * len(pairs)).to_bytes(4, "big")
    return b"\x00St\xd1" + size + count + properties + encoded((0x75, body))
