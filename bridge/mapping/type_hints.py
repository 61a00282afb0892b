"""The header `amqp-types`: which values were not strings in AMQP.

`v1;name=type;name=type`, ASCII, in the order of the headers that it speaks of. Names are
percent-encoded (RFC 3986: all but unreserved characters), so that any name can stand there. The
value of a header that is not listed is a string, or has the one type that its place in the message
allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_VERSION: Final = b"v1"

AMQP: Final = "amqp"
"""The bytes are AMQP's own encoding of a list, map, array or described value."""

ANNOTATION: Final = "annotation"
"""A string that was a message-annotation, under a name that otherwise means an
application-property."""

CODES: Final = frozenset(
    (
        *("null", "boolean", "ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long"),
        *("float", "double", "decimal32", "decimal64", "decimal128", "char", "timestamp", "uuid"),
        *("binary", "string", "symbol", AMQP, ANNOTATION),
    )
)
"""Every code. `string` is written only where another type would go without saying."""


def entry(header: str, code: str) -> bytes:
    """Write one `name=type`."""
    return f"{quote(header, safe='')}={code}".encode()


def write(entries: Iterable[bytes]) -> bytes:
    """Write the header's value from its entries, in their order."""
    return b";".join((_VERSION, *entries))


def read(value: bytes | None) -> Mapping[str, str] | None:
    """Read the header's value: names to codes, in order; None when it cannot be read.

    That is when it is damaged or of another version. Codes are not judged here. What `read` gives,
    `write` turns into the same bytes again unless a name is listed twice or encoded in another
    manner.
    """
    if value is None or not value.isascii():
        return None
    version, *entries = value.split(b";")
    if version != _VERSION:
        return None
    codes = {}
    for part in entries:
        name, separator, code = part.decode("ascii").partition("=")
        if not separator:
            return None
        try:
            codes[unquote(name, errors="strict")] = code
        except UnicodeDecodeError:
            return None
    return codes
