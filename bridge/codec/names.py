"""The constructors of AMQP's primitive types and the types' names (core 1.6)."""

from __future__ import annotations

from typing import Final

CONSTRUCTORS: Final[dict[str, tuple[int, ...]]] = {
    "null": (0x40,),
    "boolean": (0x56, 0x41, 0x42),
    "ubyte": (0x50,),
    "ushort": (0x60,),
    "uint": (0x70, 0x52, 0x43),
    "ulong": (0x80, 0x53, 0x44),
    "byte": (0x51,),
    "short": (0x61,),
    "int": (0x71, 0x54),
    "long": (0x81, 0x55),
    "float": (0x72,),
    "double": (0x82,),
    "decimal32": (0x74,),
    "decimal64": (0x84,),
    "decimal128": (0x94,),
    "char": (0x73,),
    "timestamp": (0x83,),
    "uuid": (0x98,),
    "binary": (0xA0, 0xB0),
    "string": (0xA1, 0xB1),
    "symbol": (0xA3, 0xB3),
    "list": (0xC0, 0xD0, 0x45),
    "map": (0xC1, 0xD1),
    "array": (0xE0, 0xF0),
}
"""Each type's constructors; the first one can hold every value, or every one of up to 255 bytes."""

TYPE_NAMES: Final[dict[int, str]] = {code: name for name, codes in CONSTRUCTORS.items() for code in codes}
"""The type of each constructor. 0x00, which opens a descriptor, is none of them."""
