"""The entries of the deduplication ledger: how they are named, and their bytes.

The ledger is a compacted Kafka topic. What one link stored is a ring of keys there: the entry of
its message number `sequence` has the slot `sequence mod ring`, so that an entry takes the place of the
one that it pushed out of the window, and compaction bounds the ledger without tombstones. A claim
says which instance of a link owns its ring from here on.

    key    version, scope (16), writer (16), ring (4; 0 in a claim), slot (4)
    entry  version, sequence (8), time in ms (8), fingerprint (16)
    claim  version, time in ms (8), token (16), a description for people (UTF-8)

Numbers are unsigned and big-endian. The names are hashes, since clients choose what they are made of,
in any length: 128 bits, so that two of a million million names agree with a probability of 10^-15.
Records of another version are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.model.deduplication import Deduplication

VERSION: Final = 1
NAME_BYTES: Final = 16
RING_MAX: Final = 2**32 - 1

_KEY: Final = Struct(">B16s16sII")
_PREFIX: Final = Struct(">B16s")
_ENTRY: Final = Struct(">BQQ16s")
_CLAIM: Final = Struct(">BQ16s")


@dataclass(frozen=True, slots=True)
class LinkName:
    """What a link is called, wherever it attaches: the client's container-id, the link, the topic."""

    container_id: str
    link_name: str
    topic: str

    @property
    def writer(self) -> bytes:
        """The name of the link's ring, and of its Kafka transactions."""
        return digest(part.encode() for part in (self.container_id, self.link_name, self.topic))

    def scope(self, options: Deduplication) -> bytes:
        """Name that within which an identity is looked for: the whole topic, or the link alone."""
        parts = [b"message-id", self.topic.encode()]
        if options.by == "delivery-tag":
            parts = [b"delivery-tag", self.writer]
        return digest(parts)

    def __str__(self) -> str:
        return f"topic {self.topic}, link {self.link_name!r} of {self.container_id!r}"


@dataclass(slots=True)
class Entry:
    """One message that was stored."""

    writer: bytes
    sequence: int
    time_ms: int
    fingerprint: bytes


@dataclass(slots=True)
class Claim:
    """The beginning of an ownership."""

    writer: bytes
    token: bytes
    time_ms: int
    description: str


def digest(parts: Iterable[bytes]) -> bytes:
    """Hash a list of parts; no two different lists are run together."""
    whole = blake2b(digest_size=NAME_BYTES)
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return whole.digest()


def fingerprint(identity: bytes) -> bytes:
    """Hash the identity of a message: it may be of any length, its entry is not."""
    return blake2b(identity, digest_size=NAME_BYTES).digest()


def key_prefix(scope: bytes) -> bytes:
    """Give how all keys of a scope begin."""
    return _PREFIX.pack(VERSION, scope)


def write_entry(scope: bytes, entry: Entry, ring: int) -> tuple[bytes, bytes]:
    """Encode an entry: key and value. `ring` is how many entries its writer keeps."""
    return (
        _KEY.pack(VERSION, scope, entry.writer, ring, entry.sequence % ring),
        _ENTRY.pack(VERSION, entry.sequence, entry.time_ms, entry.fingerprint),
    )


def write_claim(scope: bytes, claim: Claim) -> tuple[bytes, bytes]:
    """Encode a claim: key and value."""
    return (
        _KEY.pack(VERSION, scope, claim.writer, 0, 0),
        _CLAIM.pack(VERSION, claim.time_ms, claim.token) + claim.description.encode(errors="replace"),
    )


def read(key: bytes, value: bytes | None) -> Entry | Claim | None:
    """Decode what a record of the ledger says; None for one of another version, or of another make."""
    if not value or value[0] != VERSION or len(key) != _KEY.size or key[0] != VERSION:
        return None
    _, _, writer, ring, _ = _KEY.unpack(key)
    if ring:
        return Entry(writer, *_ENTRY.unpack(value)[1:]) if len(value) == _ENTRY.size else None
    if len(value) < _CLAIM.size:
        return None
    _, time_ms, token = _CLAIM.unpack_from(value)
    return Claim(writer, token, time_ms, value[_CLAIM.size :].decode(errors="replace"))
