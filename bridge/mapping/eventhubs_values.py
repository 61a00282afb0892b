"""How Azure Event Hubs shows the values of an AMQP message to a Kafka client, and back.

In a record with the header `AMQPheaders` every header holds one value in AMQP's own encoding, its
constructor first, except for seven properties that are text. Microsoft documents both in the
repository azure-event-hubs-for-kafka (tutorials/interop): the seven names, the header, and the
encodings that its `AmqpDeserializer` reads. A value keeps the encoding that it came with, but for a
boolean of two bytes (0x56), which that deserializer does not know.
"""

from __future__ import annotations

from typing import Final

from bridge.codec import DecodeError, decode
from bridge.mapping.encoding import NULL
from bridge.mapping.from_text import WRITE, Writer, binary, string, symbol
from bridge.mapping.to_text import CODES, READ

MARKER: Final = b"\x41"
"""The value of `AMQPheaders` where the bridge adds it: true.

Its presence is all that counts. A sender may set the application-property itself, as Microsoft
advises; it uses the integer 0, so that the two can be told apart.
"""

_BOOLEAN: Final = 0x56
_TRUE: Final = b"\x41"
_FALSE: Final = b"\x42"


def value(buffer: bytes, at: int) -> tuple[bytes, int]:
    """Cut out the value whose constructor is at `at`, and give the place behind it.

    May raise `to_text.MALFORMED`.
    """
    code = buffer[at]
    text, stop = READ[code](buffer, at + 1)
    if code == _BOOLEAN:
        return (_TRUE if text == b"true" else _FALSE), stop
    return buffer[at:stop], stop


def encoded(header: bytes | None) -> bytes | None:
    """Take a header's value for an encoded one, if `value` would have written it."""
    if not header or header[0] == _BOOLEAN:
        return None
    try:
        return header if decode(header)[1] == len(header) else None
    except DecodeError:
        return None


def present(header: bytes | None) -> bytes | None:
    """Take a property's value, as `encoded` does; one that is null would be no property (core 3.2.4)."""
    return None if header == NULL else encoded(header)


def otherwise(header: bytes | None) -> bytes:
    """Encode what `encoded` does not take: a long boolean in its short form, all else as it reads."""
    if header == b"\x56\x01":
        return _TRUE
    if header == b"\x56\x00":
        return _FALSE
    return NULL if header is None else string(header) or _octets(header)


def marker(header: bytes | None) -> bytes | None:
    """Take the application-property `AMQPheaders` that is like the bridge's own."""
    return header if header == MARKER else None


def hint(header: bytes | None) -> bytes | None:
    """Read a string, as the header `amqp.body` has it; None for anything else."""
    if not header or CODES[header[0]] != "string" or encoded(header) is None:
        return None
    text = READ[header[0]](header, 1)[0]
    return text if string(text) == header else None


def _octets(header: bytes) -> bytes:
    octets = binary(header)
    assert octets is not None  # noqa: S101 - it is no null
    return octets


def _text(first: Writer) -> Writer:
    """Make a writer for text: in the type that the property has, else as string or binary."""

    def write(header: bytes | None) -> bytes | None:
        return None if header is None else first(header) or string(header) or _octets(header)

    return write


TEXTS: Final[dict[str, Writer]] = {
    "message-id": _text(string),
    "user-id": binary,
    "to": _text(string),
    "reply-to": _text(string),
    "content-type": _text(symbol),
    "content-encoding": _text(symbol),
    "creation-time": WRITE["timestamp"],
}
"""The properties that Event Hubs shows as text, and what makes AMQP values of them again."""
