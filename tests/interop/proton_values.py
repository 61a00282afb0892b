"""Typed values to and from Proton's codec, which decodes what the bridge has stored.

Proton is a decoder that nobody of the bridge wrote.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from interop.values import Value, canonical, described, float_text, value
from proton import (
    UNDESCRIBED,
    Array,
    Data,
    Described,
    byte,
    char,
    decimal32,
    decimal64,
    decimal128,
    float32,
    int32,
    short,
    symbol,
    timestamp,
    ubyte,
    uint,
    ulong,
    ushort,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CODES: Final = {
    "null": Data.NULL,
    "boolean": Data.BOOL,
    "ubyte": Data.UBYTE,
    "ushort": Data.USHORT,
    "uint": Data.UINT,
    "ulong": Data.ULONG,
    "byte": Data.BYTE,
    "short": Data.SHORT,
    "int": Data.INT,
    "long": Data.LONG,
    "float": Data.FLOAT,
    "double": Data.DOUBLE,
    "decimal32": Data.DECIMAL32,
    "decimal64": Data.DECIMAL64,
    "decimal128": Data.DECIMAL128,
    "char": Data.CHAR,
    "timestamp": Data.TIMESTAMP,
    "uuid": Data.UUID,
    "binary": Data.BINARY,
    "string": Data.STRING,
    "symbol": Data.SYMBOL,
}
"""Proton's codes of the primitive types."""
NAMES: Final = {code: name for name, code in CODES.items()}

_CLASSES: Final[dict[str, Callable[[Any], Any]]] = {
    "ubyte": ubyte,
    "ushort": ushort,
    "uint": uint,
    "ulong": ulong,
    "byte": byte,
    "short": short,
    "int": int32,
    "float": float32,
    "decimal32": decimal32,
    "decimal64": decimal64,
    "decimal128": decimal128,
    "char": char,
    "timestamp": timestamp,
    "symbol": symbol,
}
"""Proton's classes for those types that no type of Python's own stands for."""
_INTEGERS: Final = ("ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long", "timestamp")
_PARSE: Final[dict[str, Callable[[str], Any]]] = {
    **dict.fromkeys(_INTEGERS, int),
    "boolean": lambda text: text == "true",
    "float": float,
    "double": float,
    "decimal32": lambda text: int(text, 16),
    "decimal64": lambda text: int(text, 16),
    "decimal128": bytes.fromhex,
    "uuid": uuid.UUID,
    "binary": bytes.fromhex,
    "char": str,
    "string": str,
    "symbol": str,
}

_WRITE: Final[dict[str, Callable[[Any], str]]] = {
    **dict.fromkeys(_INTEGERS, lambda found: str(int(found))),
    "boolean": lambda found: "true" if found else "false",
    "float": lambda found: float_text(found, ">f"),
    "double": lambda found: float_text(found, ">d"),
    "decimal32": lambda found: f"{found:08x}",
    "decimal64": lambda found: f"{found:016x}",
    "decimal128": lambda found: bytes(found).hex(),
    "binary": lambda found: bytes(found).hex(),
}


def parse(found: Value) -> Any:  # noqa: ANN401 - any Python value
    """Return the plain Python value of a primitive one."""
    return None if found["type"] == "null" else _PARSE[found["type"]](found["value"])


def to_python(found: Value) -> Any:  # noqa: ANN401 - any Python value
    """Return a value as Proton's users write it."""
    kind, inner = found["type"], found["value"]
    if kind == "list":
        return [to_python(each) for each in inner]
    if kind == "map":
        return dictionary(inner)
    if kind == "array":
        elements = (to_python(each) for each in inner)
        return Array(UNDESCRIBED, CODES[found["of"]], *elements)  # type: ignore[arg-type] # as Proton's own example
    if kind == "described":
        return Described(to_python(found["descriptor"]), to_python(inner))
    plain = parse(found)
    return _CLASSES[kind](plain) if kind in _CLASSES else plain


def dictionary(pairs: list[list[Value]]) -> dict[Any, Any]:
    """Return the pairs of a map as Proton's users write it."""
    return {to_python(key): to_python(each) for key, each in pairs}


def put(data: Data, found: Value) -> None:
    """Append a value."""
    kind, inner = found["type"], found["value"]
    if kind == "null":
        data.put_null()
    elif kind in CODES:
        getattr(data, f"put_{'bool' if kind == 'boolean' else kind}")(parse(found))
    else:
        if kind == "array":
            data.put_array(False, CODES[found["of"]])  # noqa: FBT003 - Proton's own
            parts = inner
        elif kind == "described":
            data.put_described()
            parts = [found["descriptor"], inner]
        else:
            getattr(data, f"put_{kind}")()
            parts = inner if kind == "list" else [part for pair in inner for part in pair]
        data.enter()
        for part in parts:
            put(data, part)
        data.exit()


def encode(*sections: Value) -> bytes:
    """Encode values, one after another."""
    encoded = b""
    for section in sections:
        data = Data()
        put(data, section)
        encoded += data.encode()
    return encoded


def decode(encoded: bytes) -> list[Value]:
    """Decode values that follow one another. Raises proton.DataException."""
    found = []
    while encoded:
        data = Data()
        encoded = encoded[data.decode(encoded) :]
        data.rewind()
        found.append(take(data))
    return found


def take(data: Data) -> Value:
    """Read the next value."""
    code = data.next()
    if code in NAMES:
        return _primitive(data, NAMES[code])
    if code == Data.ARRAY:
        count, _, of = data.get_array()
        data.enter()
        elements = [take(data) for _ in range(count)]
        data.exit()
        return {"type": "array", "of": NAMES[of], "value": elements}
    count = 2 if code == Data.DESCRIBED else data.get_map() if code == Data.MAP else data.get_list()
    data.enter()
    parts = [take(data) for _ in range(count)]
    data.exit()
    if code == Data.DESCRIBED:
        return described(*parts)
    if code == Data.MAP:
        return value("map", [[parts[at], parts[at + 1]] for at in range(0, count, 2)])
    return value("list", parts)


def _primitive(data: Data, kind: str) -> Value:
    if kind == "null":
        return value(kind, None)
    found = getattr(data, f"get_{'bool' if kind == 'boolean' else kind}")()
    return canonical(value(kind, _WRITE.get(kind, str)(found)))
