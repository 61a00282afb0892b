"""Where Java's clients put a record with a key, computed here, and as they computed it themselves."""

from __future__ import annotations

from typing import Final

_MULTIPLIER: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_32_BITS: Final = 0xFFFFFFFF

JAVAS: Final[dict[bytes, tuple[int, int]]] = {
    b"": (275646681, 2),
    b"a": (-1563381124, 5),
    b"ab": (316155434, 0),
    b"abc": (479470107, 4),
    b"abcd": (-1323649548, 5),
    b"21": (-973932308, 3),
    b"foobar": (-790332482, 0),
    b"a-little-bit-long-string": (-985981536, 1),
    b"a-little-bit-longer-string": (-1486304829, 0),
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": (-58897971, 3),
    "für-4711".encode(): (-1891828113, 2),
    "注文".encode(): (-491775137, 2),
    "📦".encode(): (-1132972428, 2),
    b"\x00": (375494588, 0),
    b"\xff\xff\xff\xff": (644171429, 6),
    b"\x80\x00\xfe": (1477263534, 5),
}
"""Keys with their hash, and their partition of seven.

Printed by a Java program that called, for each key, `org.apache.kafka.common.utils.Utils.murmur2(key)` and
`org.apache.kafka.clients.producer.internals.BuiltInPartitioner.partitionForKey(key, 7)` of
kafka-clients-4.4.0.jar. The hashes of six of them are also in Kafka's own `UtilsTest`.
"""


def murmur2(key: bytes) -> int:
    """Hash a key as `Utils.murmur2` does; the result is an `int` of Java's."""
    number = (_SEED ^ len(key)) & _32_BITS
    whole = len(key) - len(key) % 4
    for position in range(0, whole, 4):
        word = int.from_bytes(key[position : position + 4], "little") * _MULTIPLIER & _32_BITS
        word = (word ^ word >> 24) * _MULTIPLIER & _32_BITS
        number = number * _MULTIPLIER & _32_BITS ^ word
    if whole < len(key):
        number = (number ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _32_BITS
    number = (number ^ number >> 13) * _MULTIPLIER & _32_BITS
    number ^= number >> 15
    return number - (1 << 32) if number >> 31 else number


def partition(key: bytes, partitions: int) -> int:
    """Choose a key's partition as Java's clients do."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
