"""What is particular to layouts in C: see test_mapping_layout.py for what both ways have in common."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, cast

import pytest
from support.layouts import TIME_MS, Headers, head, made, maker, ordinary

from bridge.mapping.from_text import WRITE
from bridge.mapping.layout import HEADERS_MAX, Beginnings
from bridge.mapping.options import MappingOptions
from bridge.mapping.passage import Passage
from bridge.mapping.plans import compile_plan

if TYPE_CHECKING:
    from collections.abc import Callable

HEADERS: Final[Headers] = [("amqp.priority", b"7"), ("region", b"eu"), ("amqp-types", b"v1;region=symbol")]


class Subclass(bytes):
    """What Kafka's client never gives."""


def encoded(headers: object, **others: object) -> bytes | None:
    """Encode something by the layout of `HEADERS`."""
    encode = cast("Callable[..., bytes | None]", made("compiled", HEADERS))
    usual = {"partition": 3, "offset": 17, "time": TIME_MS, "key": None, "value": b"body"}
    return encode(*(usual | others).values(), headers)


def test_records_are_encoded() -> None:
    assert encoded(HEADERS) == encoded(tuple(HEADERS)) == ordinary(HEADERS)


@pytest.mark.parametrize(
    "headers",
    [
        *(None, 5, "headers", b"headers", {}, iter(HEADERS), dict(HEADERS), [], [None] * 3, HEADERS[:2]),
        [*HEADERS, ("more", b"1")],
        [list(header) for header in HEADERS],
        [(*header, None) for header in HEADERS],
        [(name.encode(), text) for name, text in HEADERS],
        [(None, text) for _, text in HEADERS],
        [(name, (text or b"").decode()) for name, text in HEADERS],
        [(name, bytearray(text or b"")) for name, text in HEADERS],
        [(name, Subclass(text or b"")) for name, text in HEADERS],
        [(name, 5) for name, _ in HEADERS],
        [(name, None) for name, _ in HEADERS],
    ],
)
def test_whatever_headers_are_it_fails_for_none(headers: object) -> None:
    assert encoded(headers) is None


@pytest.mark.parametrize("number", [None, "1", 1.0, 2**63, -(2**63) - 1, 2**200])
@pytest.mark.parametrize("which", ["partition", "offset", "time"])
def test_numbers_that_no_record_has_are_left_to_others(which: str, number: object) -> None:
    assert encoded(HEADERS, **{which: number}) is None


@pytest.mark.parametrize("octets", ["text", 5, bytearray(b"x"), Subclass(b"x"), memoryview(b"x")])
def test_keys_and_values_of_other_classes_are_left_to_others(octets: object) -> None:
    assert encoded(HEADERS, key=octets) is None
    assert encoded(HEADERS, value=octets) is None
    assert encoded(HEADERS, value=None) is None


@pytest.mark.parametrize("offset", [0, 9, 10, 10**18, 2**63 - 1, -1, -(10**17)])
def test_offsets_of_all_lengths(offset: int) -> None:
    assert encoded(HEADERS, offset=offset) == ordinary(HEADERS, offset=offset)


def test_offsets_longer_than_any_are_left_to_others() -> None:
    assert encoded(HEADERS, offset=-(10**18)) is None


@pytest.mark.parametrize("partition", [2**31, -(2**31) - 1])
def test_partitions_are_numbers_of_32_bits(partition: int) -> None:
    assert encoded(HEADERS, partition=partition) is None


@pytest.mark.parametrize("length", [1_500, 2_048, 5_000, 300_000])
def test_what_does_not_fit_on_the_stack(length: int) -> None:
    headers: Headers = [("region", b"r" * length), ("more", b"m" * length)]
    encode = made("compiled", headers)
    assert encode is not None
    for key in (None, b"k" * length):
        for _ in range(3):
            assert encode(3, 17, TIME_MS, key, b"body", headers) == ordinary(headers, key=key)


def test_each_record_begins_as_its_own_headers_say() -> None:
    encode = made("compiled", HEADERS)
    assert encode is not None
    for number in (7, 8, 7, 9, 9, *range(5, 40), 7):
        headers = [("amqp.priority", b"%d" % number), *HEADERS[1:]]
        assert encode(3, 17, TIME_MS, None, b"body", headers) == ordinary(headers)
    assert encode(3, 17, TIME_MS, None, b"body", [("amqp.priority", b"4"), *HEADERS[1:]]) is None


def test_writers_in_python_may_do_away_with_the_headers() -> None:
    texts = [b"%d" % number * 40 for number in range(20)]
    names = tuple(f"h{number}" for number in range(20))

    def write(text: bytes | None) -> bytes | None:
        given.clear()
        return b"\xa0\x28" + (text or b"")

    plan = compile_plan(names, None, "", MappingOptions(), timed=True)
    plan.application = [(place, before, write) for place, before, _ in plan.application]
    encode = maker("compiled")(names, plan, None, Beginnings(plan, Passage("orders"), head))
    for _ in range(2):  # the first one begins in a new way
        given = [(name, bytes(bytearray(text))) for name, text in zip(names, texts, strict=True)]
        message = encode(3, 17, TIME_MS, None, b"body", given)
        assert message is not None
        assert not given
        assert all(text in message for text in texts)


@pytest.mark.parametrize("written", [None, "text", 5, bytearray(b"x")])
def test_what_a_writer_gives_is_encoded_or_nothing(written: bytes | None) -> None:
    plan = compile_plan(("a",), None, "", MappingOptions(), timed=True)
    plan.application = [(place, before, lambda _: written) for place, before, _ in plan.application]
    encode = maker("compiled")(("a",), plan, None, Beginnings(plan, Passage("orders"), head))
    assert encode(3, 17, TIME_MS, None, b"body", [("a", b"1")]) is None


def test_decimals_are_read_as_python_reads_them() -> None:
    types = ("amqp-types", b"v1;v=double")
    encode = made("compiled", [("v", b"1.0"), types])
    assert encode is not None
    draw = random.Random(1)  # noqa: S311 - the same numbers every time
    taken = 0
    for _ in range(20_000):
        digits = str(draw.randrange(10 ** draw.randrange(1, 19)))
        point = draw.randrange(len(digits) + 1)
        text = (draw.choice(["", "-"]) + (digits[:point] or "0") + "." + (digits[point:] or "0")).encode()
        wanted = WRITE["double"](text)
        message = encode(3, 17, TIME_MS, None, b"body", [("v", text), types])
        assert (message is None) == (wanted is None), text
        assert message is None or wanted is None or wanted in message, text
        taken += message is not None
    assert 10_000 < taken < 20_000


@pytest.mark.parametrize("names", [(), ("a", "b"), ("a",) * (HEADERS_MAX + 1), (b"a", "b", "c")])
def test_a_plan_of_other_names_is_refused(names: tuple[str, ...]) -> None:
    plan = compile_plan(("a", "b", "c"), None, "", MappingOptions(), timed=True)
    with pytest.raises((IndexError, ValueError)):
        maker("compiled")(names, plan, None, Beginnings(plan, Passage("orders"), head))
