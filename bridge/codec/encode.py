"""Python values to AMQP bytes (core 1.2 and 1.6), each in its shortest form.

The type is kept exactly, the width is not: a small `UInt` is written in one byte or none, whichever
way it was once received. Equal values of equal types therefore give equal bytes. The elements of an
array share one constructor, which is the one that can hold any value of its type; strings, lists
and the like take the 8-bit form where all of them fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class, whatever its name
from typing import Any, Final, TypeAlias
from uuid import UUID

from bridge.codec import types
from bridge.codec.decode import MAX_DEPTH
from bridge.codec.errors import EncodeError
from bridge.codec.names import CONSTRUCTORS

_Write: TypeAlias = Callable[[Any, int], bytes]
"""A value of the one Python type, and the levels left."""

_MAX_8: Final = 0xFF
_MIN_SIGNED_8: Final = -0x80
_MAX_SIGNED_8: Final = 0x7F
_pack_size = Struct(">I").pack
_pack_sizes = Struct(">II").pack


def encode(value: object) -> bytes:
    """Encode a value of one of the types in `bridge.codec.types`.

    Raises EncodeError for other types (a plain `int` among them), for values outside their type's
    range, and for nesting deeper than `decode` would read.
    """
    try:
        return _encode(value, MAX_DEPTH)
    except (StructError, OverflowError) as error:
        raise EncodeError(f"a number or a length does not fit its AMQP type: {error}") from error
    except UnicodeEncodeError as error:
        raise EncodeError(f"text that AMQP cannot carry: {error}") from error


def _encode(value: object, depth: int) -> bytes:
    write = _WRITERS.get(type(value))
    if write is None:
        raise EncodeError(f"{type(value).__name__} stands for no AMQP type: {value!r:.80}")
    return write(value, depth)


def _boolean(value: bool, _depth: int) -> bytes:  # noqa: FBT001 - the shape of every writer
    return b"\x41" if value else b"\x42"


def _number(code: int, layout: str) -> _Write:
    pack = Struct(">B" + layout).pack

    def write(value: float, _depth: int) -> bytes:
        return pack(code, value)

    return write


def _unsigned(zero: bytes, small_code: int, code: int, layout: str) -> _Write:
    pack = Struct(">B" + layout).pack

    def write(value: int, _depth: int) -> bytes:
        if 0 < value <= _MAX_8:
            return bytes((small_code, value))
        return pack(code, value) if value else zero

    return write


def _signed(small_code: int, code: int, layout: str) -> _Write:
    pack, pack_small = Struct(">B" + layout).pack, Struct(">Bb").pack

    def write(value: int, _depth: int) -> bytes:
        if _MIN_SIGNED_8 <= value <= _MAX_SIGNED_8:
            return pack_small(small_code, value)
        return pack(code, value)

    return write


def _raw(value: bytes, width: int) -> bytes:
    if len(value) != width:
        raise EncodeError(f"{value!r} has {len(value)} bytes, its type has {width}")
    return bytes(value)


def _char(value: str) -> bytes:
    if len(value) != 1:
        raise EncodeError(f"a char is one code point, not {len(value)}")
    return value.encode("utf-32-be")


def _sized(code: int, content: bytes) -> bytes:
    """Write a binary, string or symbol; the code of the 32-bit form is 0x10 above the other."""
    if len(content) <= _MAX_8:
        return bytes((code, len(content))) + content
    return bytes((code + 0x10,)) + _pack_size(len(content)) + content


def _counted(code: int, count: int, content: bytes) -> bytes:
    """Write a list or map (the same relation of the codes)."""
    if len(content) < _MAX_8 and count <= _MAX_8:
        return bytes((code, len(content) + 1, count)) + content
    return bytes((code + 0x10,)) + _pack_sizes(len(content) + 4, count) + content


def _deeper(depth: int) -> int:
    if not depth:
        raise EncodeError(f"more than {MAX_DEPTH} levels of nesting")
    return depth - 1


def _list_content(value: list[object], depth: int) -> tuple[int, bytes]:
    depth = _deeper(depth)
    return len(value), b"".join([_encode(element, depth) for element in value])


def _map_content(value: types.Map, depth: int) -> tuple[int, bytes]:
    depth = _deeper(depth)
    return 2 * len(value), b"".join([_encode(part, depth) for pair in value for part in pair])


def _list(value: list[object], depth: int) -> bytes:
    return _counted(0xC0, *_list_content(value, depth)) if value else b"\x45"


def _map(value: types.Map, depth: int) -> bytes:
    return _counted(0xC1, *_map_content(value, depth))


def _described(value: types.Described, depth: int) -> bytes:
    depth = _deeper(depth)
    return b"\x00" + _encode(value.descriptor, depth) + _encode(value.value, depth)


def _array(value: types.Array, depth: int) -> bytes:
    return _counted(0xE0, *_array_content(value, depth))


def _array_content(value: types.Array, depth: int) -> tuple[int, bytes]:
    depth = _deeper(depth)
    prefix = b"".join([b"\x00" + _encode(descriptor, depth) for descriptor in value.descriptors])
    items, count = value.items, len(value.items)
    if value.element not in CONSTRUCTORS:
        raise EncodeError(f"{value.element!r} is no AMQP type")
    if isinstance(items, types.Repeated) and count:
        content = _repeated(value.element, items.value)
    else:
        wrong = {type(item) for item in items} - {_PYTHON_TYPES[value.element]}
        if wrong:
            raise EncodeError(f"an array of {value.element} holds a {wrong.pop().__name__}")
        content = _items(value.element, items, depth)
    return count, prefix + content


def _repeated(element: str, value: object) -> bytes:
    code = encode(value)
    if len(code) != 1 or code[0] not in CONSTRUCTORS[element]:
        raise EncodeError(f"an array of {element} cannot repeat {value!r:.80} without bytes")
    return code


def _items(element: str, items: Sequence[Any], depth: int) -> bytes:
    code = CONSTRUCTORS[element][0]
    constructor, wide = bytes((code,)), bytes((code + 0x10,))
    if element in _CONTENTS:
        content = _CONTENTS[element]
        parts = [content(item, depth) for item in items]
        if all(count <= _MAX_8 and len(part) < _MAX_8 for count, part in parts):
            sized = [bytes((len(part) + 1, count)) + part for count, part in parts]
        else:
            constructor = wide
            sized = [_pack_sizes(len(part) + 4, count) + part for count, part in parts]
    elif element in _TEXTS:
        texts = [_TEXTS[element](item) for item in items]
        if all(len(text) <= _MAX_8 for text in texts):
            sized = [bytes((len(text),)) + text for text in texts]
        else:
            constructor = wide
            sized = [_pack_size(len(text)) + text for text in texts]
    else:
        sized = [_FULL_WIDTH[element](item, depth)[1:] for item in items]
    return constructor + b"".join(sized)


_TEXTS: Final[dict[str, Callable[[Any], bytes]]] = {
    "binary": bytes,
    "string": str.encode,
    "symbol": lambda value: str.encode(value, "ascii"),
}

_CONTENTS: Final[dict[str, Callable[[Any, int], tuple[int, bytes]]]] = {
    "list": _list_content,
    "map": _map_content,
    "array": _array_content,
}

_FULL_WIDTH: Final[dict[str, _Write]] = {
    "null": lambda _value, _depth: b"\x40",
    "boolean": _number(0x56, "?"),
    "ubyte": _number(0x50, "B"),
    "ushort": _number(0x60, "H"),
    "uint": _number(0x70, "I"),
    "ulong": _number(0x80, "Q"),
    "byte": _number(0x51, "b"),
    "short": _number(0x61, "h"),
    "int": _number(0x71, "i"),
    "long": _number(0x81, "q"),
    "float": _number(0x72, "f"),
    "double": _number(0x82, "d"),
    "decimal32": lambda value, _depth: b"\x74" + _raw(value, 4),
    "decimal64": lambda value, _depth: b"\x84" + _raw(value, 8),
    "decimal128": lambda value, _depth: b"\x94" + _raw(value, 16),
    "char": lambda value, _depth: b"\x73" + _char(value),
    "timestamp": _number(0x83, "q"),
    "uuid": lambda value, _depth: b"\x98" + value.bytes,
}

_PYTHON_TYPES: Final[dict[str, type]] = {
    "null": type(None),
    "boolean": bool,
    "ubyte": types.UByte,
    "ushort": types.UShort,
    "uint": types.UInt,
    "ulong": types.ULong,
    "byte": types.Byte,
    "short": types.Short,
    "int": types.Int,
    "long": types.Long,
    "float": types.Float,
    "double": float,
    "decimal32": types.Decimal32,
    "decimal64": types.Decimal64,
    "decimal128": types.Decimal128,
    "char": types.Char,
    "timestamp": types.Timestamp,
    "uuid": UUID,
    "binary": bytes,
    "string": str,
    "symbol": types.Symbol,
    "list": list,
    "map": types.Map,
    "array": types.Array,
}

_WRITERS: Final[dict[type, _Write]] = {
    **{_PYTHON_TYPES[name]: write for name, write in _FULL_WIDTH.items()},
    bool: _boolean,
    types.UInt: _unsigned(b"\x43", 0x52, 0x70, "I"),
    types.ULong: _unsigned(b"\x44", 0x53, 0x80, "Q"),
    types.Int: _signed(0x54, 0x71, "i"),
    types.Long: _signed(0x55, 0x81, "q"),
    bytes: lambda value, _depth: _sized(0xA0, value),
    str: lambda value, _depth: _sized(0xA1, value.encode()),
    types.Symbol: lambda value, _depth: _sized(0xA3, value.encode("ascii")),
    list: _list,
    types.Map: _map,
    types.Described: _described,
    types.Array: _array,
}
