"""The Java classes as which the Java bridge wrote AMQP values, and the data of their objects.

Knows the values that are one number, text or id each; `bridge.mapping.java_objects` writes the stream.

Source: Java Object Serialization Specification, chapter 6. The serial version numbers are those of
the classes of Java and of Proton-J 0.33.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from struct import Struct
from typing import TYPE_CHECKING, Final
from uuid import UUID

from bridge.codec import (
    Byte,
    Char,
    Float,
    Int,
    Long,
    Short,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK: Final = b"w"
_END: Final = b"x"

_SERIALIZABLE: Final = 2
_OWN_DATA: Final = 3
"""Flags of a class: serializable; the same, with data that its own method writes."""

_MAX_CHAR: Final = 2**16 - 1


class NotSerializableError(ValueError):
    """The Java bridge could not write the value either; the message names what it is."""


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class: its name, serialVersionUID, and fields: each its type, one letter, and its name."""

    name: str
    serial: int
    fields: tuple[str, ...] = ()
    parent: JavaClass | None = None
    flags: int = _SERIALIZABLE

    def name_and_serial(self) -> bytes:
        """Give the part of the description that comes before its handle is given."""
        return _utf(self.name) + self.serial.to_bytes(8)

    def description(self) -> bytes:
        """Give the part behind it, up to the parent's description."""
        fields = b"".join([field[:1].encode() + _utf(field[1:]) for field in self.fields])
        return _flags(self.flags, len(self.fields)) + fields + _END


_flags: Final = Struct(">BH").pack
_short: Final = Struct(">H").pack
_long: Final = Struct(">q").pack


def _utf(text: str) -> bytes:
    return _short(len(text)) + text.encode("ascii")


_NUMBER: Final = JavaClass("java.lang.Number", 0x86AC951D0B94E08B)
_PROTON: Final = "org.apache.qpid.proton.amqp."
_BOOLEAN: Final = JavaClass("java.lang.Boolean", 0xCD207280D59CFAEE, ("Zvalue",))
_DATE: Final = JavaClass("java.util.Date", 0x686A81014B597419, flags=_OWN_DATA)
_UUID: Final = JavaClass("java.util.UUID", 0xBC9903F7986D852F, ("JleastSigBits", "JmostSigBits"))
EMPTY_LIST: Final = JavaClass("java.util.Collections$EmptyList", 0x7AB817B43CA79EDE)
LIST: Final = JavaClass("java.util.ArrayList", 0x7881D21D99C7619D, ("Isize",), flags=_OWN_DATA)
_HASH_MAP: Final = JavaClass(
    "java.util.HashMap", 0x0507DAC1C31660D1, ("FloadFactor", "Ithreshold"), flags=_OWN_DATA
)
MAP: Final = JavaClass("java.util.LinkedHashMap", 0x34C04E5C106CC0FB, ("ZaccessOrder",), _HASH_MAP)


def _packed(layout: str) -> Callable[[object], bytes]:
    return Struct(f">{layout}").pack


def _floating(layout: str) -> Callable[[object], bytes]:
    pack = Struct(f">{layout}").pack
    return lambda value: pack(nan if isnan(value) else value)  # type: ignore[arg-type]  # it is a float


def _character(value: object) -> bytes:
    code_point = ord(str(value))
    if code_point > _MAX_CHAR:
        raise NotSerializableError("a char that is not in Unicode's first plane")
    return _short(code_point)


def _date(value: object) -> bytes:
    return _BLOCK + b"\x08" + _long(value) + _END


def _uuid(value: object) -> bytes:
    assert isinstance(value, UUID)  # noqa: S101 - the table below says so
    return value.bytes[8:] + value.bytes[:8]


_BYTES: Final = range(-128, 128)
_NEVER: Final = range(0)

SCALARS: Final[dict[type, tuple[JavaClass, Callable[[object], bytes], range]]] = {
    bool: (_BOOLEAN, _packed("?"), range(2)),
    Byte: (JavaClass("java.lang.Byte", 0x9C4E6084EE50F51C, ("Bvalue",), _NUMBER), _packed("b"), _BYTES),
    Short: (JavaClass("java.lang.Short", 0x684D37133460DA52, ("Svalue",), _NUMBER), _packed("h"), _BYTES),
    Int: (JavaClass("java.lang.Integer", 0x12E2A0A4F7818738, ("Ivalue",), _NUMBER), _packed("i"), _BYTES),
    Long: (JavaClass("java.lang.Long", 0x3B8BE490CC8F23DF, ("Jvalue",), _NUMBER), _packed("q"), _BYTES),
    UByte: (
        JavaClass(f"{_PROTON}UnsignedByte", 0xBD539E0644C026B0, ("B_underlying",), _NUMBER),
        _packed("B"),
        range(256),
    ),
    UShort: (
        JavaClass(f"{_PROTON}UnsignedShort", 0x3AE846D867D60FC3, ("S_underlying",), _NUMBER),
        _packed("H"),
        range(256),
    ),
    UInt: (
        JavaClass(f"{_PROTON}UnsignedInteger", 0x0155B82BE31125B6, ("I_underlying",), _NUMBER),
        _packed("I"),
        range(256),
    ),
    ULong: (
        JavaClass(f"{_PROTON}UnsignedLong", 0x9A5AFAA6D08C2831, ("J_underlying",), _NUMBER),
        _packed("Q"),
        range(256),
    ),
    Float: (
        JavaClass("java.lang.Float", 0xDAEDC9A2DB3CF0EC, ("Fvalue",), _NUMBER),
        _floating("f"),
        _NEVER,
    ),
    float: (
        JavaClass("java.lang.Double", 0x80B3C24A296BFB04, ("Dvalue",), _NUMBER),
        _floating("d"),
        _NEVER,
    ),
    Char: (JavaClass("java.lang.Character", 0x348B47D96B1A2678, ("Cvalue",)), _character, range(128)),
    Timestamp: (_DATE, _date, _NEVER),
    UUID: (_UUID, _uuid, _NEVER),
}
"""Class and data of each scalar, and the values of which Java and Proton-J keep one object each:
in the stream, a later one is a reference to the first."""

PRIMITIVE_ARRAYS: Final[dict[str, tuple[JavaClass, Callable[[object], bytes]]]] = {
    "boolean": (JavaClass("[Z", 0x578F203914B85DE2), _packed("?")),
    "byte": (JavaClass("[B", 0xACF317F8060854E0), _packed("b")),
    "short": (JavaClass("[S", 0xEF832E06E55DB0FA), _packed("h")),
    "int": (JavaClass("[I", 0x4DBA602676EAB2A5), _packed("i")),
    "long": (JavaClass("[J", 0x782004B512B17593), _packed("q")),
    "float": (JavaClass("[F", 0x0B9C818922E00C42), _floating("f")),
    "double": (JavaClass("[D", 0x3EA68C14AB635A1E), _floating("d")),
    "char": (JavaClass("[C", 0xB02666B0E25D84AC), _character),
}

OBJECT_ARRAYS: Final = {
    "string": JavaClass("[Ljava.lang.String;", 0xADD256E7E91D7B47),
    "ubyte": JavaClass(f"[L{_PROTON}UnsignedByte;", 0x3950A907390345DC),
    "ushort": JavaClass(f"[L{_PROTON}UnsignedShort;", 0x7C2356241E216696),
    "uint": JavaClass(f"[L{_PROTON}UnsignedInteger;", 0xF3E134995D9B7370),
    "ulong": JavaClass(f"[L{_PROTON}UnsignedLong;", 0x8E8EA8C06C816A65),
    "timestamp": JavaClass("[Ljava.util.Date;", 0x431724A0300318E0),
    "uuid": JavaClass("[Ljava.util.UUID;", 0xF37761E678682026),
    "list": JavaClass("[Ljava.util.List;", 0xBCFB04612F9E4D11),
    "map": JavaClass("[Ljava.util.Map;", 0xFFE0B086EA474C0B),
    "array": JavaClass("[Ljava.lang.Object;", 0x90CE589F1073296C),
}
