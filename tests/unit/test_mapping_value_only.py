from __future__ import annotations

import pytest

from bridge.codec import Described, Int, Long, Map, Symbol, ULong, encode
from bridge.mapping import value_only
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, Message, Sequences, Value
from bridge.mapping.options import MappingOptions


def sent(*sections: tuple[int, object]) -> bytes:
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


def annotated(**values: object) -> tuple[int, object]:
    return 0x72, Map((Symbol(name.replace("__", ".").replace("_", "-")), v) for name, v in values.items())


PASSAGE = {"x_opt_bridge__offset": Long(17), "x_opt_bridge__key": "k", "x_opt_bridge__partition": Int(3)}
HEADERS = [["a", b"\xff"], ["a", None]]


def convert(message: bytes, options: MappingOptions | None = None) -> tuple[object, ...]:
    seen: list[Message] = []

    def value_of(message: Message) -> bytes:
        seen.append(message)
        return b"value"

    record = value_only.message_to_record(options or MappingOptions(), value_of)(message)
    return (*record, seen[0] if seen else None)


def test_neither_partition_key_nor_group_id_is_a_key() -> None:
    message = sent(annotated(x_opt_partition_key="p"), (0x73, [None] * 10 + ["g"]), (0x75, b""))
    assert convert(message)[:5] == (b"value", None, None, -1, 0)


def test_annotations_give_key_and_partition() -> None:
    message = sent(annotated(x_opt_bridge__key="k", x_opt_bridge__partition=Int(2)), (0x75, b""))
    assert convert(message)[:5] == (b"value", b"k", None, 2, 0)


def test_what_a_bridge_filled_in_is_not_seen() -> None:
    message = sent(
        annotated(**PASSAGE, x_opt_partition_key="k", x_opt_own=True),
        (0x73, [None, None, "address", "subject"]),
        (0x75, b""),
    )
    *record, seen = convert(message)
    assert record == [b"value", b"k", None, 3, 0]
    assert isinstance(seen, Message)
    assert seen.message_annotations == Map([(Symbol("x-opt-own"), True)])
    assert seen.properties == {"subject": "subject"}


def test_listed_headers_are_stored_again() -> None:
    message = sent(annotated(**PASSAGE, x_opt_kafka_headers=HEADERS), (0x75, b""))
    assert convert(message)[2] == [("a", b"\xff"), ("a", None)]


@pytest.mark.parametrize("options", [MappingOptions(headers_max=1), MappingOptions(header_bytes_max=2)])
def test_too_many_listed_headers_are_refused(options: MappingOptions) -> None:
    message = sent(annotated(**PASSAGE, x_opt_kafka_headers=HEADERS), (0x75, b""))
    with pytest.raises(MappingError) as caught:
        convert(message, options)
    assert caught.value.condition == "amqp:resource-limit-exceeded"


def test_a_null_body_that_says_so_is_a_tombstone() -> None:
    tombstone = sent(annotated(x_opt_kafka_tombstone=True), (0x77, None))
    assert convert(tombstone) == (None, None, None, -1, 0, None)
    with pytest.raises(MappingError) as caught:
        convert(tombstone, MappingOptions(tombstones=False))
    assert caught.value.condition == "amqp:not-allowed"


@pytest.mark.parametrize(
    "message",
    [
        sent((0x77, None)),
        sent(annotated(x_opt_kafka_tombstone=False), (0x77, None)),
        sent(annotated(x_opt_kafka_tombstone=True), (0x75, b"")),
    ],
)
def test_any_other_is_asked_for_its_value(message: bytes) -> None:
    assert convert(message)[0] == b"value"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (None, "a message without a body"),
        (Data((b"",)), "a body of data sections"),
        (Sequences(([],)), "a body of amqp-sequence sections"),
        (Value.of(Int(5)), "a body of the type int"),
        (Value.of(Described(Symbol("d"), 1.5)), "a body of the type described"),
    ],
)
def test_kinds_of_bodies_have_names(body: Data | Sequences | Value | None, name: str) -> None:
    assert value_only.kind(Message(body=body)) == name
    refusal = value_only.unsupported("profile", name)
    assert refusal.condition == "amqp:not-implemented"
    assert refusal.description == f"the mapping profile has no form for {name}"
