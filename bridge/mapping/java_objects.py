"""AMQP lists, maps and arrays as Java's serialised objects: what the Java bridge wrote for them.

That bridge turned a body that is a list, map or array into the objects of Apache Qpid Proton-J and
wrote these with Java's own serialisation, which its consumers read with a deserializer of their
own. `write` gives the same bytes. It only ever writes: reading such bytes makes whatever objects
they name, and nothing here needs that.

Source: Java Object Serialization Specification, chapter 6 (the stream's grammar).
"""

from __future__ import annotations

import re
from struct import Struct
from typing import TYPE_CHECKING, Final

from bridge.codec import Array, Char, Described, Map, Repeated, Symbol, encode
from bridge.mapping.java_classes import (
    EMPTY_LIST,
    LIST,
    MAP,
    OBJECT_ARRAYS,
    PRIMITIVE_ARRAYS,
    SCALARS,
    JavaClass,
    NotSerializableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_HEAD: Final = b"\xac\xed\x00\x05"
_NULL: Final = b"p"
_REFERENCE: Final = b"q"
_CLASS: Final = b"r"
_OBJECT: Final = b"s"
_STRING: Final = b"t"
_ARRAY: Final = b"u"
_BLOCK: Final = b"w"
_END: Final = b"x"
_LONG_STRING: Final = b"|"

_FIRST_HANDLE: Final = 0x7E0000
_MAX_SHORT_STRING: Final = 2**16 - 1
_LOAD_FACTOR: Final = b"\x3f\x40\x00\x00"

_short: Final = Struct(">H").pack
_int: Final = Struct(">i").pack
_long: Final = Struct(">q").pack

_NAMES: Final = {bytes: "binary", Symbol: "a symbol", Described: "a described value"}


def write(value: object) -> bytes:
    """Serialise a list, map or array; `bridge.codec.types` says which value is which.

    Raises NotSerializableError for one that holds what the Java bridge could not write: binary,
    symbols, described values; or what it could not write so that it means something: decimals.
    """
    stream = _Stream()
    stream.write(value)
    return stream.content()


class _Stream:
    def __init__(self) -> None:
        self._parts = [_HEAD]
        self._handles: dict[object, int] = {}
        self._count = 0

    def content(self) -> bytes:
        return b"".join(self._parts)

    def write(self, value: object) -> None:
        """Write one value, of any type, with all that it holds."""
        scalar = SCALARS.get(type(value))
        if scalar is not None:
            self._scalar(value, *scalar)
        elif value is None:
            self._parts.append(_NULL)
        elif type(value) is str:
            self._string(value)
        elif isinstance(value, list):
            self._list(value)
        elif isinstance(value, Map):
            self._map(value)
        elif isinstance(value, Array):
            self._array(value)
        else:
            raise NotSerializableError(_NAMES.get(type(value), "a decimal"))

    def _refer(self, identity: object) -> bool:
        """Write a reference to what was written before under this identity, if it was."""
        handle = self._handles.get(identity)
        if handle is None:
            return False
        self._parts.append(_REFERENCE + _int(_FIRST_HANDLE + handle))
        return True

    def _remember(self, identity: object = None) -> None:
        """Give what is being written its number, as the stream's reader counts."""
        if identity is not None:
            self._handles[identity] = self._count
        self._count += 1

    def _class(self, described: JavaClass | None) -> None:
        if described is None:
            self._parts.append(_NULL)
        elif not self._refer(described):
            self._parts.append(_CLASS + described.name_and_serial())
            self._remember(described)
            self._parts.append(described.description())
            self._class(described.parent)

    def _start(self, kind: bytes, described: JavaClass, identity: object = None) -> None:
        self._parts.append(kind)
        self._class(described)
        self._remember(identity)

    def _scalar(
        self, value: object, described: JavaClass, data: Callable[[object], bytes], kept: range
    ) -> None:
        content = data(value)
        number = ord(value) if isinstance(value, Char) else value
        identity = (described, content) if number in kept else None
        if identity is None or not self._refer(identity):
            self._start(_OBJECT, described, identity)
            self._parts.append(content)

    def _string(self, value: str) -> None:
        identity = None if value else ""  # Proton-J has one empty string, and makes others anew
        if identity is not None and self._refer(identity):
            return
        text = _modified_utf8(value)
        if len(text) <= _MAX_SHORT_STRING:
            self._parts += (_STRING, _short(len(text)), text)
        else:
            self._parts += (_LONG_STRING, _long(len(text)), text)
        self._remember(identity)

    def _list(self, value: list[object], *, in_array: bool = False) -> None:
        if not value and not in_array:
            if not self._refer(EMPTY_LIST.name):  # there is but one, with no content
                self._start(_OBJECT, EMPTY_LIST, EMPTY_LIST.name)
            return
        size = _int(len(value))
        self._start(_OBJECT, LIST)
        self._parts += (size, _BLOCK, b"\x04", size)
        for element in value:
            self.write(element)
        self._parts.append(_END)

    def _map(self, value: Map) -> None:
        capacity, threshold = _capacity(len(value))
        pairs = {encode(key): (key, content) for key, content in value}
        self._start(_OBJECT, MAP)
        self._parts += (_LOAD_FACTOR, _int(threshold), _BLOCK, b"\x08", _int(capacity), _int(len(pairs)))
        for key, content in pairs.values():
            if isinstance(key, Array):
                raise NotSerializableError("an array as a key, which Java finds again in no map")
            self.write(key)
            self.write(content)
        self._parts.append(_END + b"\x00")

    def _array(self, value: Array) -> None:
        items: Sequence[object] = value.items
        if value.descriptors:
            raise NotSerializableError("a described value")
        if isinstance(items, Repeated):
            raise NotSerializableError("an array whose elements take no bytes")
        primitive = PRIMITIVE_ARRAYS.get(value.element)
        if primitive is not None:
            described, data = primitive
            content = b"".join([data(item) for item in items])
            self._start(_ARRAY, described)
            self._parts += (_int(len(items)), content)
            return
        if value.element not in OBJECT_ARRAYS:
            raise NotSerializableError(f"an array of {value.element}")
        self._start(_ARRAY, OBJECT_ARRAYS[value.element])
        self._parts.append(_int(len(items)))
        for item in items:
            if isinstance(item, list):
                self._list(item, in_array=True)
            else:
                self.write(item)


_FURTHER_PLANES: Final = re.compile("[\U00010000-\U0010ffff]")


def _modified_utf8(text: str) -> bytes:
    """Encode as Java does: NUL in two bytes, and further planes as two surrogates of three bytes."""
    halves = _FURTHER_PLANES.sub(lambda match: _surrogates(match[0]), text)
    return halves.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def _surrogates(character: str) -> str:
    number = ord(character) - 0x10000
    return chr(0xD800 + (number >> 10)) + chr(0xDC00 + (number & 0x3FF))


def _capacity(pairs: int) -> tuple[int, int]:
    """Tell the table size that Proton-J gives a map of so many pairs, and when it would grow."""
    if not pairs:
        return 1, 1
    capacity = 1 << (2 * pairs - 1).bit_length()
    return capacity, capacity * 3 // 4
