"""AMQP values as tagged JSON, for readers that have no AMQP decoder.

Types that JSON has stand for themselves: null, boolean, string, double (a number with a point or an
exponent), long (one without), list, and a map whose keys are different strings. Every other type is
an object with one member, whose name is `$` and the type: `{"$int": 5}`, `{"$symbol": "a"}`,
`{"$binary": "<base64>"}`, `{"$map": [[key, value], ...]}`, `{"$described": [descriptor, value]}`,
`{"$array": [element type, [descriptor, ...], [item, ...]]}`. A map's own key that begins with `$`
gets one `$` more. Scalars that have no JSON form are written as the text that a header would have.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Any, Final

from bridge.codec import (
    Array,
    Described,
    Long,
    Map,
    Repeated,
    decode,
    encode,
)
from bridge.mapping.from_text import WRITE
from bridge.mapping.to_text import CODES, READ

_NUMBERS: Final = frozenset(("ubyte", "ushort", "uint", "ulong", "byte", "short", "int"))


class _NoJsonError(ValueError):
    """The value has no JSON form of reasonable size, or the JSON is none that `write` makes."""


def write(value: object) -> bytes | None:
    """Write a value as compact UTF-8 JSON.

    None for the few values that cannot be: arrays whose elements take no bytes, which may be
    thousands of millions.
    """
    try:
        return _dump(_tag(value))
    except _NoJsonError:
        return None


def read(text: bytes | None) -> bytes | None:
    """Read what `write` wrote: the value in AMQP's encoding. None for anything else."""
    if text is None:
        return None
    try:
        value = _untag(json.loads(text))
        if isinstance(value, list | Map | Array | Described) and write(value) == text:
            return encode(value)
    except (ValueError, TypeError, RecursionError):  # the codec's and JSON's own are ValueErrors
        return None
    return None


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _tag(value: object) -> object:
    if value is None or isinstance(value, bool) or type(value) is str:
        return value
    if isinstance(value, list):
        return [_tag(element) for element in value]
    if isinstance(value, Map):
        return _tag_map(value)
    if isinstance(value, Described):
        return {"$described": [_tag(value.descriptor), _tag(value.value)]}
    if isinstance(value, Array):
        if isinstance(value.items, Repeated):
            raise _NoJsonError
        descriptors = [_tag(descriptor) for descriptor in value.descriptors]
        return {"$array": [value.element, descriptors, [_tag(item) for item in value.items]]}
    return _tag_scalar(value)


def _tag_map(value: Map) -> object:
    if all(type(key) is str for key, _ in value) and len({key for key, _ in value}) == len(value):
        return {
            ("$" + str(key) if str(key).startswith("$") else str(key)): _tag(content)
            for key, content in value
        }
    return {"$map": [[_tag(key), _tag(content)] for key, content in value]}


def _tag_scalar(value: object) -> object:
    encoded = encode(value)
    code = CODES[encoded[0]]
    if code == "binary":
        return {"$binary": b64encode(bytes(value)).decode()}  # type: ignore[call-overload]
    text = READ[encoded[0]](encoded, 1)[0] or b""
    if code == "long":
        return int(text)
    if code == "double" and text[-1:].isdigit():
        return float(text)
    return {f"${code}": int(text) if code in _NUMBERS else text.decode()}


def _untag(value: Any) -> object:  # noqa: ANN401 - whatever JSON has
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return Long(value)
    if isinstance(value, float):
        return value
    if isinstance(value, list):
        return [_untag(element) for element in value]
    name = next(iter(value), "")
    if len(value) == 1 and name.startswith("$") and not name.startswith("$$"):
        return _untag_type(name[1:], value[name])
    return Map((key[1:] if key.startswith("$$") else key, _untag(content)) for key, content in value.items())


def _untag_type(code: str, content: Any) -> object:  # noqa: ANN401 - whatever JSON has
    if code == "map" and isinstance(content, list):
        return Map((_untag(key), _untag(value)) for key, value in content)
    if code == "described" and isinstance(content, list):
        descriptor, value = content
        return Described(_untag(descriptor), _untag(value))
    if code == "array" and isinstance(content, list):
        element, descriptors, items = content
        return Array(
            str(element),
            tuple(_untag(item) for item in items),
            tuple(_untag(descriptor) for descriptor in descriptors),
        )
    if code == "binary" and isinstance(content, str):
        try:
            return b64decode(content, validate=True)
        except Base64Error as error:
            raise _NoJsonError from error
    writer = WRITE.get(code)
    encoded = None if writer is None else writer(str(content).encode())
    if encoded is None:
        raise _NoJsonError
    return decode(encoded)[0]
