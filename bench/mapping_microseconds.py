"""Microseconds that the mapping takes for a message, both ways, for some typical messages.

usage: python bench/mapping_microseconds.py [seconds for each case] [profile, else native]

The best of many short rounds is shown: on a machine that does other work the mean says more about
that work. Nothing here is compared with a limit; `bench/` as a whole does that.
"""

from __future__ import annotations

import sys
from timeit import repeat
from typing import TYPE_CHECKING
from uuid import UUID

from rich.console import Console
from rich.table import Table

from bridge.codec import Described, Int, Map, Symbol, Timestamp, UByte, ULong, encode
from bridge.mapping.errors import MappingError
from bridge.mapping.options import MappingOptions
from bridge.mapping.profiles import DEFAULT, PROFILES, MessageToRecord

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 400
PROBE = 3
KEYS = 4096
SECONDS = 1.3
PROFILE_PLACE = 2

BODY = b"x" * 100
DATA = (0x75, BODY)
TIME_MS = 1_700_000_000_123


def message(*sections: tuple[int, object]) -> bytes:
    """Encode a message from the codes of its sections and what they hold."""
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


def typical(number: int, *, length: int = 0) -> bytes:
    """Encode the message of the benchmarks: four properties, five application-properties, data.

    `length` makes its texts longer, so that messages of different lengths have different shapes.
    """
    properties = [None] * 10
    fields: list[object] = [*properties]
    fields[0], fields[3] = f"order-{number:09}", "orders.created" + "." * (length // 16)
    fields[6], fields[9] = Symbol("application/json"), Timestamp(TIME_MS + number)
    application = Map(
        [
            ("region", "eu-west-1" + "." * (length % 16)),
            ("count", Int(100_000 + number)),
            ("price", 12.5 + number),
            ("urgent", True),
            ("trace", UUID(int=number << 90)),
        ]
    )
    return message((0x70, [True]), (0x73, fields), (0x74, application), DATA)


def to_kafka() -> dict[str, list[bytes]]:
    """Give some messages of each kind, as they come one after another."""
    numbers = range(64)
    # More keys than the mapping remembers sections of annotations.
    keyed = [Map([(Symbol("x-opt-bridge.key"), f"device-{number:04}")]) for number in range(KEYS)]
    jms = Map([(Symbol("x-opt-jms-msg-type"), UByte(5)), (Symbol("x-opt-jms-dest"), UByte(0))])
    return {
        "one data section": [message(DATA)],
        "header, properties empty, data": [message((0x70, []), (0x73, []), DATA)],
        "durable, data": [message((0x70, [True]), DATA)],
        "amqp-value string": [message((0x77, "x" * 100))],
        "key annotation, data": [message((0x72, section), DATA) for section in keyed],
        "annotations of a JMS client": [message((0x70, [True]), (0x72, jms), DATA)],
        "typical": [typical(number) for number in numbers],
        "typical, no two of a length": [typical(number, length=number) for number in range(256)],
    }


Record = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]


def from_kafka(to_record: MessageToRecord) -> dict[str, list[Record]]:
    """Give some records of each kind; the typical ones are written by the profile itself."""
    foreign = [("source", b"billing"), ("attempt", b"1")]
    return {
        "value": [(BODY, None, None)],
        "key, value": [(BODY, b"device-17", None)],
        "two foreign headers": [(BODY, None, [*foreign])],
        "key, two foreign headers": [(BODY, b"device-17", [*foreign])],
        "a duplicate header": [(BODY, None, [*foreign, *foreign])],
        "tombstone": [(None, b"device-17", None)],
        "typical": [to_record(typical(number))[:3] for number in range(64)],
    }


def accepts(to_record: MessageToRecord, message: bytes) -> bool:
    """Tell whether the profile takes such a message at all."""
    try:
        to_record(message)
    except MappingError:
        return False
    return True


def microseconds(work: Callable[[], object], calls: int, seconds: float) -> float:
    """Measure the best microseconds for one of the `calls` that `work` makes."""
    probe = min(repeat(work, number=PROBE, repeat=2)) / PROBE
    number = max(1, int(seconds / ROUNDS / probe))
    return min(repeat(work, number=number, repeat=ROUNDS)) / number / calls * 1e6


def main(seconds: float, name_of_profile: str) -> None:
    """Measure all cases and print them as a table."""
    profile = PROFILES[name_of_profile]
    table = Table("direction", "message", "µs", title=f"profile {profile.name}")
    to_record = profile.message_to_record(MappingOptions())
    for name, messages in to_kafka().items():
        if not accepts(to_record, messages[0]):
            table.add_row("to Kafka", name, "refused")
            continue

        def convert(messages: list[bytes] = messages) -> None:
            for encoded in messages:
                to_record(encoded)

        table.add_row("to Kafka", name, f"{microseconds(convert, len(messages), seconds):.2f}")
    to_message = profile.record_to_message("orders", "orders/group.id/billing", MappingOptions())
    for name, records in from_kafka(to_record).items():

        def deliver(records: list[Record] = records) -> None:
            for value, key, headers in records:
                to_message(3, 123_456_789, 1, TIME_MS, key, value, headers, 0)

        table.add_row("from Kafka", name, f"{microseconds(deliver, len(records), seconds):.2f}")
    Console().print(table)


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS,
        sys.argv[2] if len(sys.argv) > PROFILE_PLACE else DEFAULT,
    )
