"""What a shape takes, made in either way, what it leaves to the ordinary reader, and when one is learnt."""

from __future__ import annotations

import pytest
from support.shapes import DATA, WAYS, encoded, learnt, maker, mapping, read_alone, typical

from bridge.codec import Long, Map, Symbol, encode
from bridge.mapping.errors import MappingError
from bridge.mapping.shapes import Shapes, learn

pytestmark = pytest.mark.parametrize("way", WAYS)


@pytest.mark.parametrize("size", [0, 5, 300])
def test_a_message_like_the_first_gives_the_same_as_reading_it(way: str, size: int) -> None:
    shape = learnt(way, typical(1, body=b"x" * (300 if size > 255 else 1)))
    for number in (2, 77):
        message = typical(number, body=b"y" * size)
        assert shape.record(message) == read_alone(message)


@pytest.mark.parametrize(
    "name", ["x-opt-bridge.key", "x-opt-kafka-key", "x-opt-partition-key", "event-streams-group-key"]
)
@pytest.mark.parametrize("key", ["k-7", b"b-7"])
def test_a_key_in_an_annotation_may_differ(way: str, name: str, key: str | bytes) -> None:
    shape = learnt(way, typical(1, key=(name, key)))
    other = typical(2, key=(name, type(key)(b"abc") if isinstance(key, bytes) else "abc"))
    record = shape.record(other)
    assert record == read_alone(other)
    assert record is not None
    assert record[1] == b"abc"


def test_a_key_that_is_not_ascii_is_left_to_the_reader(way: str) -> None:
    shape = learnt(way, typical(1, key=("x-opt-bridge.key", "k7")))
    assert shape.record(typical(1, key=("x-opt-bridge.key", "é"))) is None


def test_a_message_with_annotations_alone(way: str) -> None:
    keyed = [encoded((0x72, Map([(Symbol("x-opt-bridge.key"), key)])), DATA) for key in "ab"]
    assert learnt(way, keyed[0]).record(keyed[1]) == (b"body", b"b", None, -1, 0)


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"\x00Su\xa0\x04body",
        typical(1)[:-1],
        typical(1) + b"x",
        typical(1).replace(b"region", b"legion"),
        typical(1).replace(b"a/b", b"a/c"),
        typical(1).replace(b"\xa1\x02eu", b"\xa0\x02eu"),
        typical(1).replace(b"id-00001", b"id-001\xa1\x01"[:8])[:-3],
        typical(1).replace(b"urgentA", b"urgentB"),
        typical(1, body=b"x" * 300),
    ],
)
def test_a_message_that_differs_in_anything_else_has_another_shape(way: str, other: bytes) -> None:
    assert learnt(way, typical(1)).record(other) is None


def test_strings_are_checked(way: str) -> None:
    shape = learnt(way, typical(1))
    for text in (b"subj\xffct", b"\xed\xa0\x80ject"):
        try:
            assert shape.record(typical(1).replace(b"subject", text)) is None
        except UnicodeDecodeError:
            assert way == "python"  # it may refuse the message at once
    assert shape.record(typical(1).replace(b"subject", "sübjec".encode())) is not None


@pytest.mark.parametrize(
    "message",
    [
        encoded((0x74, Map([("a", "b")])), (0x77, "value")),
        encoded((0x74, Map([("a", "b")])), DATA, DATA),
        encoded((0x74, Map([("a", "b")])), DATA, (0x78, Map([(Symbol("a"), None)]))),
        encoded((0x72, Map([(Symbol("x-opt-bridge.offset"), Long(5))])), (0x74, Map([("a", "b")])), DATA),
        encoded((0x73, [*[None] * 10, "group"]), DATA),
        b"\x00\x80" + bytes(7) + b"\x74" + encode(Map([("a", "b")])) + b"\x00Su\xa0\x01x",
    ],
)
def test_messages_of_rarer_kinds_have_no_shape(way: str, message: bytes) -> None:
    assert learn(message, read_alone(message), maker(way)) is None


def test_a_shape_is_learnt_from_the_second_message_that_begins_alike(way: str) -> None:
    shapes = Shapes(maker(way))
    first, second, third = typical(1), typical(2), typical(3)
    shapes.missed(first, read_alone(first))
    assert shapes.record(first) is None
    shapes.missed(second, read_alone(second))
    assert shapes.record(third) == read_alone(third)


def test_a_shape_that_is_never_met_is_forgotten(way: str) -> None:
    shapes = Shapes(maker(way))
    for number in range(4):
        message = typical(number).replace(b"region", b"region"[:number] + b"x" * (6 - number))
        assert shapes.record(message) is None
        shapes.missed(message, read_alone(message))
    assert shapes.record(typical(2).replace(b"region", b"rxxxxx")) is None


def test_a_shape_that_is_worth_it_is_kept(way: str) -> None:
    shapes = Shapes(maker(way))
    messages = [typical(number) for number in range(20)]
    for message in messages[:2]:
        shapes.missed(message, read_alone(message))
    for message in messages:
        assert shapes.record(message) is not None
    stranger = typical(1).replace(b"region", b"legion")
    for _ in range(2):
        shapes.missed(stranger, read_alone(stranger))
    assert shapes.record(messages[5]) is not None


def test_what_is_read_does_not_depend_on_what_was_read_before(way: str) -> None:
    to_record = mapping(way)
    messages = [typical(number, body=b"x" * number) for number in range(40)]
    messages += [typical(number, key=("x-opt-bridge.key", f"k{number}")) for number in range(40)]
    messages += [message.replace(b"region", b"legion") for message in messages]
    for message in [*messages, *reversed(messages)]:
        assert to_record(message) == read_alone(message)


def test_a_bad_message_among_good_ones_is_refused(way: str) -> None:
    to_record = mapping(way)
    for number in range(10):
        to_record(typical(number))
    with pytest.raises(MappingError, match="not valid AMQP"):
        to_record(typical(1).replace(b"subject", b"subj\xffct"))
    with pytest.raises(MappingError, match="not valid AMQP"):
        to_record(typical(1)[:-1])


def test_only_so_many_beginnings_are_remembered(way: str) -> None:
    shapes = Shapes(maker(way))
    for number in range(1000):
        message = encoded((0x73, [f"{number:04}", "x"]), (0x74, Map([("a", "b")])), DATA)
        shapes.missed(message, read_alone(message))
    assert len(shapes._misses) <= 256  # noqa: SLF001 - memory is what matters here
