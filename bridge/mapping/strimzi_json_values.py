"""AMQP values in the JSON of the Java bridge, both ways.

`write` gives the text that the Java bridge gave, so types are lost where JSON has none; `read` takes
the types that it took, and binary besides:

| AMQP | JSON | read as |
|---|---|---|
| null, boolean, string | the same | the same |
| integers | a number | int, else long, else ulong: the first that holds it |
| timestamp | a number, ms since 1970 | int, long |
| float, double | a number with a point (`1.0E10`) | double |
| NaN and the infinities | `"NaN"`, `"Infinity"`, `"-Infinity"` | string |
| symbol, char, uuid | a string | string |
| binary | `{"length":2,"array":"<Base64>","arrayOffset":0}` | binary |
| list | an array | list |
| map | an object; keys that are no strings by their text | map |
| array | an array; of bytes `"<Base64>"`, of chars a string | list, string |
| described | `{"descriptor":...,"described":...}` | map |

That Base64 has the alphabet of RFC 4648 section 5 and no padding; `read` takes both alphabets, with
padding and without. A double has the shortest digits that give it again; older Java versions wrote
more of them for some numbers.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from bridge.codec import (
    Array,
    Byte,
    Char,
    Described,
    Float,
    Int,
    Long,
    Map,
    Repeated,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
    encode,
)
from bridge.mapping.to_text import double_text, float_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_BINARY_KEYS: Final = {"length", "array", "arrayOffset"}
_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_ULONG_MAX: Final = 2**64 - 1
_PLAIN_EXPONENTS: Final = range(-3, 7)
"""The powers of ten for which Java writes a number without an exponent."""


class NoFormError(ValueError):
    """The value has no form on the other side; the message names what it is."""


def write(value: object) -> str:
    """Write a value of `bridge.codec.types`; raises NoFormError for one that has no form."""
    writer = _WRITERS.get(type(value))
    if writer is None:
        raise NoFormError("a decimal")
    return writer(value)


def write_object(pairs: Iterable[tuple[str, object]]) -> str:
    """Write an object; of two members of one name, the last is written, in the place of the first."""
    members = {name: f"{_quoted(name)}:{write(content)}" for name, content in pairs}
    return f"{{{','.join(members.values())}}}"


def read(value: object) -> object:
    """Read what `json.loads` gave; raises NoFormError for numbers that AMQP does not have."""
    if isinstance(value, bool) or value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        return _read_integer(value)
    if isinstance(value, list):
        return [read(element) for element in value]
    assert isinstance(value, dict)  # noqa: S101 - JSON has nothing else
    octets = read_binary(value)
    return Map((name, read(content)) for name, content in value.items()) if octets is None else octets


def _read_integer(value: int) -> object:
    if -_INT_MAX - 1 <= value <= _INT_MAX:
        return Int(value)
    if -_LONG_MAX - 1 <= value <= _LONG_MAX:
        return Long(value)
    if 0 <= value <= _ULONG_MAX:
        return ULong(value)
    raise NoFormError("an integer of more than 64 bits")


def read_binary(value: object) -> bytes | None:
    """Read an object that stands for binary; None for anything else."""
    if not isinstance(value, dict) or value.keys() != _BINARY_KEYS or value["arrayOffset"] != 0:
        return None
    octets = decode_base64(value["array"])
    return octets if octets is not None and len(octets) == value["length"] else None


def decode_base64(text: object) -> bytes | None:
    """Decode Base64 of either alphabet, with padding or without; None for anything else."""
    if not isinstance(text, str):
        return None
    digits = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except (Base64Error, ValueError):
        return None


def encode_base64(octets: bytes) -> str:
    """Encode as the JSON of the Java bridge's last versions has it: RFC 4648 section 5, no padding."""
    return urlsafe_b64encode(octets).decode().rstrip("=")


def _write_bytes(value: bytes) -> str:
    return f'{{"length":{len(value)},"array":"{encode_base64(value)}","arrayOffset":0}}'


def _write_array(value: Array) -> str:
    if isinstance(value.items, Repeated):
        raise NoFormError("an array whose elements take no bytes")
    if value.descriptors:
        return f"[{','.join([_described(value.descriptors, item) for item in value.items])}]"
    if value.element == "byte":
        return _quoted(encode_base64(bytes([int(str(item)) & 0xFF for item in value.items])))
    if value.element == "char":
        return _quoted("".join(map(str, value.items)))
    return write(list(value.items))


def _write_map(value: Map) -> str:
    pairs = [(_key(key), content) for key, content in value]
    if len({name for name, _ in pairs}) < len({encode(key) for key, _ in value}):
        raise NoFormError("a map with two keys of the same text")
    return write_object(pairs)


def _described(descriptors: tuple[object, ...], item: object) -> str:
    text = write(item)
    for descriptor in reversed(descriptors):
        text = _write_described(descriptor, text)
    return text


def _write_float(value: float) -> str:
    text = _number_text(value)
    return text if isfinite(value) else f'"{text}"'


def _write_described(descriptor: object, described: str) -> str:
    return f'{{"descriptor":{write(descriptor)},"described":{described}}}'


def _key(key: object) -> str:
    """Write a map's key as Java writes it where a name must be a string."""
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float):
        return _number_text(key)
    if isinstance(key, int) and not isinstance(key, Timestamp):
        return str(int(key))
    if isinstance(key, str | UUID):
        return str(key)
    raise NoFormError("a map with a key of this type")


def _number_text(value: float) -> str:
    """Write a float or double as Java does."""
    text = (float_text(value) if isinstance(value, Float) else double_text(value)).decode()
    if not isfinite(value):
        return text
    sign, digits, exponent = Decimal(text).normalize().as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 - it is finite
    figures = "".join(map(str, digits))
    power = len(figures) + exponent - 1
    minus = "-" if sign else ""
    if not value:
        return f"{minus}0.0"
    if power not in _PLAIN_EXPONENTS:
        return f"{minus}{figures[0]}.{figures[1:] or '0'}E{power}"
    if power < 0:
        return f"{minus}0.{'0' * (-power - 1)}{figures}"
    whole = figures[: power + 1].ljust(power + 1, "0")
    return f"{minus}{whole}.{figures[power + 1 :] or '0'}"


_ESCAPED: Final = re.compile(r'[\x00-\x1f"\\]')
_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or f"\\u{ord(match[0]):04X}"


def text_of(value: object) -> str:
    """Write what `json.loads` gave as the text of a string property: a string as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    **dict.fromkeys(
        (Byte, Short, Int, Long, UByte, UShort, UInt, ULong, Timestamp), lambda value: str(int(value))
    ),
    **dict.fromkeys((Float, float), _write_float),
    **dict.fromkeys((str, Symbol, Char, UUID), lambda value: _quoted(str(value))),
    bytes: _write_bytes,
    list: lambda value: f"[{','.join([write(element) for element in value])}]",
    Map: _write_map,
    Array: _write_array,
    Described: lambda value: _write_described(value.descriptor, write(value.value)),
}
