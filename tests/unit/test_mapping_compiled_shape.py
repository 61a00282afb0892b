"""What is particular to shapes in C: see test_mapping_shapes.py for what both ways have in common."""

from __future__ import annotations

import gc
import random
import struct
from threading import Thread
from typing import TYPE_CHECKING, cast

import pytest
from support.compiled import compiled
from support.shapes import WIDTHS, encoded, learnt, maker, mapping, of_values, read_alone, typical

from bridge.codec import Float, Map, Symbol
from bridge.mapping.errors import MappingError
from bridge.mapping.to_text import READ, double_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.record import Record
    from bridge.mapping.shapes import Cut, Learnt

DOUBLE = 0x82
BODY = b"\x00Su\xa0\x04body"
EMPTY = b"\x00SpE\x00SsE"


class Subclass(bytes):
    """What no engine gives."""


@pytest.mark.parametrize("before", [b"", EMPTY])
@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000])
def test_a_body_alone_is_its_bytes_whatever_the_width_of_its_size(before: bytes, size: int) -> None:
    to_record = mapping("compiled")
    record: Record = b"x" * size, None, None, -1, 0
    for _ in range(3):
        assert to_record(before + b"\x00Su\xb0" + size.to_bytes(4, "big") + b"x" * size) == record
        if size < 256:
            assert to_record(before + b"\x00Su\xa0" + bytes((size,)) + b"x" * size) == record


@pytest.mark.parametrize("before", [b"", EMPTY])
@pytest.mark.parametrize("start", [BODY[:5], b"\x00Su\xb0\x00\x00\x00\x04"])
def test_a_body_of_another_size_than_it_says_is_refused(before: bytes, start: bytes) -> None:
    for to_record in (mapping("compiled"), mapping("python")):
        for rest in (b"", b"bod", b"body!"):
            with pytest.raises(MappingError, match="not valid AMQP"):
                to_record(before + start + rest)
        for length in range(3, len(start)):
            with pytest.raises(MappingError, match="not valid AMQP"):
                to_record(before + start[:length])


@pytest.mark.parametrize("kind", [Subclass, bytearray])
def test_other_classes_than_bytes_are_read_as_ever(kind: Callable[[bytes], bytes]) -> None:
    to_record = mapping("compiled")
    messages = [BODY, EMPTY + BODY]
    for message in [*messages, *(typical(number) for number in range(5)), *messages]:
        to_record(message)
        assert to_record(Subclass(message)) == read_alone(message)
    shape = learnt("compiled", typical(1))
    assert shape.record(kind(typical(1))) is None
    for nothing in (None, 5, "text"):
        assert cast("Callable[[object], object]", shape.record)(nothing) is None


@pytest.mark.parametrize("code", WIDTHS)
def test_values_of_every_width(code: int) -> None:
    width = WIDTHS[code]
    shape = learnt("compiled", of_values([(code, bytes(width))]))
    for octets in (
        bytes(width),
        b"\x7f" + b"\xff" * (width - 1),
        b"\x80" + bytes(width - 1),
        b"\xff" * width,
    ):
        message = of_values([(code, octets)])
        try:
            wanted = read_alone(message)
        except MappingError:
            assert shape.record(message) is None
        else:
            assert shape.record(message) == wanted


def doubles() -> list[float]:
    """Give decimals of all lengths, their neighbours, and doubles of all sizes."""
    draw = random.Random(1)  # noqa: S311 - the same numbers every time
    found = [0.0, 1e9 - 0.5, 1e9, 0.001, 0.0001, 1e15, 1e16, 1e22, 5e-324, 1.7976931348623157e308]
    found += [0.1, 1.1, 0.7, 2.675, 0.000001, 999999999.999999, 123456789.123456, 4503599627.370496]
    for _ in range(10_000):
        decimal = draw.randrange(10 ** draw.randrange(1, 17)) / 10 ** draw.randrange(9)
        found += [decimal, decimal * (1 + 2**-52), decimal * (1 - 2**-53)]
        found += struct.unpack(">d", draw.randbytes(8))
    return found


def test_doubles_are_written_as_python_writes_them() -> None:
    shape = learnt("compiled", of_values([(DOUBLE, bytes(8))]))
    for magnitude in (*doubles(), float("inf"), float("nan")):
        for value in (magnitude, -magnitude):
            record = shape.record(of_values([(DOUBLE, struct.pack(">d", value))]))
            assert record is not None
            assert record[2] is not None
            assert record[2][0][1] == double_text(value)


def test_a_header_whose_text_is_the_same_is_not_made_again() -> None:
    shape = learnt("compiled", typical(1))
    first, second, third = (shape.record(typical(number)) for number in (2, 2, 3))
    assert first is not None
    assert second is not None
    assert third is not None
    assert first == second
    assert first[2] is not None
    assert second[2] is not None
    assert first[2] is not second[2]
    assert all(one is other for one, other in zip(first[2], second[2], strict=True))
    assert first == read_alone(typical(2)), "what was given stays as it was"


def test_what_becomes_of_the_headers_that_were_given_matters_to_no_other() -> None:
    shape = learnt("compiled", typical(1))
    for _ in range(3):
        record = shape.record(typical(2))
        assert record == read_alone(typical(2))
        assert record is not None
        assert record[2] is not None
        record[2].clear()


def test_a_value_that_is_left_to_others_changes_nothing() -> None:
    shape = learnt("compiled", typical(1))
    assert shape.record(typical(1).replace(b"subject", b"subj\xffct")) is None
    assert shape.record(typical(9)) == read_alone(typical(9))
    assert shape.hits == 1


def cut_by(message: bytes, cuts: list[Cut], record: object = None, at: int | None = None) -> Learnt:
    make = cast("Callable[..., Learnt]", maker("compiled"))
    usual = (b"body", None, [("a", b"b")], -1, 0)
    return make(message, message.index(b"\x00Su") if at is None else at, cuts, record or usual, None)


MESSAGE = encoded((0x74, Map([("a", "b")])), (0x75, b"body"))
HEAD = MESSAGE.index(b"\x00Su")


@pytest.mark.parametrize(
    "cuts",
    [
        *([(-1, 1, None, 0)], [(3, 2, None, 0)], [(0, HEAD + 1, None, 0)], [(0, len(MESSAGE), None, 0)]),
        *([(2, 4, None, 0), (3, 5, None, 0)], [(0, 2**70, None, 0)], [(2**62, 2**63 - 1, None, 0)]),
        *([(0, 1, None, 1)], [(0, 1, None, -2)], [(0, 1, READ[0x83], 0)], [(0, 1)], [None]),
    ],
)
def test_cuts_that_are_not_within_the_head_are_refused(cuts: list[Cut]) -> None:
    with pytest.raises((ValueError, IndexError, OverflowError, TypeError)):
        cut_by(MESSAGE, cuts)


@pytest.mark.parametrize("at", [-1, 0, HEAD - 1, HEAD + 1, len(MESSAGE), 2**62])
def test_a_body_that_is_elsewhere_is_refused(at: int) -> None:
    with pytest.raises(ValueError, match="no message"):
        cut_by(MESSAGE, [], at=at)


def test_another_body_than_binary_is_refused() -> None:
    with pytest.raises(ValueError, match="no binary"):
        cut_by(MESSAGE.replace(b"Su\xa0", b"Su\xa1"), [])


@pytest.mark.parametrize(
    "headers", [[("a",)], [(b"a", b"b")], [("a", "b")], [("a", Subclass(b"b"))], ["ab"], 5]
)
def test_headers_that_are_none_are_refused(headers: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        cut_by(MESSAGE, [], record=(b"body", None, headers, -1, 0))


@pytest.mark.parametrize(
    "read", [None, (), (b"text",), (b"text", 1), (b"text", 1, 2), (None, 1), ("text", 1), (Subclass(), 1), 5]
)
def test_what_a_reader_gives_is_bytes_or_nothing(read: object) -> None:
    def reader(_octets: bytes, _at: int) -> tuple[bytes, int]:
        return cast("tuple[bytes, int]", read)

    shape = cut_by(MESSAGE, [(HEAD - 1, HEAD, reader, 0)])
    wanted = (b"body", None, [("a", b"text")], -1, 0) if read == (b"text", 1) else None
    assert shape.record(MESSAGE) == wanted


def test_readers_in_python_may_use_the_same_shape() -> None:
    messages = [encoded((0x74, Map([("a", text), ("b", Float(1))])), (0x75, b"body")) for text in "xyz"]
    records: list[object] = []
    others = messages[1:]

    def reader(octets: bytes, at: int) -> tuple[bytes | None, int]:
        if others:
            records.append(shape.record(others.pop()))
        return READ[0x72](octets, at)

    record = read_alone(messages[0])
    places = [messages[0].index(b"\xa1\x01x") + 2, messages[0].index(b"\x72\x3f") + 1]
    cuts: list[Cut] = [(places[0], places[0] + 1, None, 0), (places[1], places[1] + 4, reader, 1)]
    shape = maker("compiled")(messages[0], messages[0].index(b"\x00Su"), cuts, record, None)
    assert shape.record(messages[0]) == read_alone(messages[0])
    assert records == [read_alone(messages[1]), read_alone(messages[2])]


def test_threads_may_share_a_mapping() -> None:
    to_record = mapping("compiled")
    messages = [typical(number, key=("x-opt-bridge.key", f"k{number % 7}")) for number in range(200)]
    messages += [
        of_values([(0x72, bytes((64, number, 0, 0))), (0xA1, b"%03d" % number)]) for number in range(200)
    ]
    wanted = [read_alone(message) for message in messages]
    found: list[list[Record]] = []
    threads = [
        Thread(target=lambda: found.append([to_record(message) for message in messages])) for _ in range(4)
    ]
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
    assert found == 4 * [wanted]


def test_shapes_are_known_by_their_class() -> None:
    known: dict[bytes, object] = {typical(1)[:12]: "no shape"}
    to_record = cast("Callable[..., Callable[[bytes], Record]]", compiled().to_record)
    assert to_record(lambda: (known, read_alone))(typical(1)) == read_alone(typical(1))
    known[typical(1)[:12]] = learnt("compiled", typical(1))
    assert to_record(lambda: (known, None))(typical(1)) == read_alone(typical(1))
    with pytest.raises(TypeError):
        to_record(lambda: (5, read_alone))(typical(1))


def test_the_shape_of_the_message_before_is_tried_first() -> None:
    durable = [encoded((0x70, [True]), (0x75, b"x" * size)) for size in (5, 77)]
    known = {durable[0][:12]: learnt("compiled", durable[0])}
    read: list[bytes] = []

    def otherwise(message: bytes) -> Record:
        read.append(message)
        return read_alone(message)

    to_record = cast("Callable[..., Callable[[bytes], Record]]", compiled().to_record)(
        lambda: (known, otherwise)
    )
    for number in (1, 0, 1):  # their beginnings differ, as the sizes of their bodies are in them
        assert to_record(durable[number]) == read_alone(durable[number])
    assert read == [durable[1]]


def test_it_is_not_made_ready_for_more_than_bodies_before_there_is_more() -> None:
    asked: list[str] = []

    def more() -> tuple[dict[bytes, object], Callable[[bytes], Record]]:
        asked.append("more")
        return {}, read_alone

    to_record = cast("Callable[..., Callable[[bytes], Record]]", compiled().to_record)(more)
    to_record(BODY)
    assert not asked
    for _ in range(2):
        assert to_record(encoded((0x72, Map([(Symbol("x-opt-a"), "b")])), (0x75, b""))) is not None
    assert asked == ["more"]
