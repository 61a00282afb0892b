"""Annotations that a receiver wants merged into a message: those of its outcome modified (core 3.4.5).

They are kept as it sent them, as an encoded map, and merged into the encoded message when that is sent
again. A message that has them under the same keys gets the receiver's; all sections but the
message-annotations stay as they are, byte for byte. What describes the passage (`names.is_hop`: where the
record is) or gives its key no receiver can change. Nothing here fails: a map or message that cannot be
read changes nothing.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from bridge.codec import ULong, decode, encode
from bridge.mapping import names
from bridge.mapping.annotations import KEY_RANKS
from bridge.mapping.encoding import as_map, name
from bridge.mapping.sections import annotation_name, map_frame
from bridge.mapping.to_record import section_code
from bridge.mapping.to_text import MALFORMED

ANNOTATIONS_BYTES_MAX: Final = 16 * 1024
"""How large the annotations of one record may become, over all of its attempts."""
PAIRS_MAX: Final = 64
"""How many annotations a receiver may set; a map with more of them counts as one that cannot be read."""

_Entries: TypeAlias = dict[str | int, bytes]
"""By their keys, the encoded pairs."""

_DESCRIPTOR: Final = b"\x00Sr"
_BEFORE: Final = frozenset(b"pq")
"""The sections that stand before message-annotations: header and delivery-annotations."""
_ANNOTATIONS: Final = ord("r")
_MAP_BYTES: Final = 9


def annotate(payload: bytes, annotations: bytes) -> bytes:
    """Merge an encoded map into the message-annotations of an encoded message.

    Gives the payload itself where there is nothing to merge, or the map or the message cannot be read.
    A key that is a string counts as the symbol that it should have been.
    """
    try:
        given = _receivers(annotations)
        return _merged(payload, given) if given else payload
    except MALFORMED:
        return payload


def merge(first: bytes, second: bytes) -> bytes:
    """Merge two encoded maps; in the second one, which is later, a key replaces that of the first.

    Gives an encoded map of what receivers may set, or b"" if nothing is left. It is no larger than
    `ANNOTATIONS_BYTES_MAX`, nor has it more than `PAIRS_MAX` pairs: for that pairs of the first are dropped,
    then pairs of the second. A map that cannot be read counts as empty.
    """
    earlier, later = _readable(first), _readable(second)
    merged = earlier | later
    size = sum(map(len, merged.values())) + _MAP_BYTES
    for key in [*(key for key in earlier if key not in later), *later]:
        if size <= ANNOTATIONS_BYTES_MAX and len(merged) <= PAIRS_MAX:
            break
        size -= len(merged.pop(key))
    return _encoded(merged) if merged else b""


def _merged(payload: bytes, given: _Entries) -> bytes:
    """Merge pairs into a message. May raise `to_text.MALFORMED`."""
    at = 0
    while at < len(payload):
        code, content = section_code(payload, at)
        if code == _ANNOTATIONS:
            entries, stop = _entries(payload, content)
            return payload[:at] + _DESCRIPTOR + _encoded(entries | given) + payload[stop:]
        if code not in _BEFORE:
            break
        at = decode(payload, content)[1]
    return payload[:at] + _DESCRIPTOR + _encoded(given) + payload[at:]


def _readable(annotations: bytes) -> _Entries:
    try:
        return _receivers(annotations)
    except MALFORMED:
        return {}


def _receivers(annotations: bytes) -> _Entries:
    """Read a receiver's map, without what it cannot change. May raise `to_text.MALFORMED`."""
    if not annotations:
        return {}
    entries, stop = _entries(annotations, 0)
    if stop != len(annotations) or len(entries) > PAIRS_MAX:
        return {}
    return {key: pair for key, pair in entries.items() if isinstance(key, int) or _is_free(key)}


def _is_free(key: str) -> bool:
    """Tell whether a receiver may set this annotation; no Kafka header can have a name that holds a NUL."""
    return not names.is_hop(key) and key not in KEY_RANKS and "\0" not in key


def _entries(buffer: bytes, at: int) -> tuple[_Entries, int]:
    """Read the map at `at`: its pairs, with keys in their shortest form, and the place behind it."""
    stop = decode(buffer, at)[1]
    at, _, _ = map_frame(buffer, at)
    entries: _Entries = {}
    while at < stop:
        key, middle = annotation_name(buffer, at)
        at = decode(buffer, middle)[1]
        encoded_key = encode(ULong(key)) if isinstance(key, int) else name(key)
        entries[key] = encoded_key + buffer[middle:at]
    return entries, stop


def _encoded(entries: _Entries) -> bytes:
    return as_map(b"".join(entries.values()), 2 * len(entries))
