"""That the usual records have a layout, what it leaves to others, and the bounds of sizes.

That it gives what the ordinary way gives is a property: see properties/test_mapping_layout_rules.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from bridge.mapping.layout import HEADERS_MAX, Heads, layout
from bridge.mapping.options import MappingOptions
from bridge.mapping.passage import Passage
from bridge.mapping.plans import compile_plan, decisive_header
from bridge.mapping.to_message import USES_BEFORE_LAYOUT, record_to_message

if TYPE_CHECKING:
    from bridge.mapping.delivery_header import StoredHeader
    from bridge.mapping.layout import Layout
    from bridge.mapping.plans import Plan

Headers = list[tuple[str, bytes | None]]

TYPICAL: Final[Headers] = [
    ("message-id", b"order-1"),
    ("content-type", b"application/json"),
    ("region", b"eu"),
    ("count", b"100000"),
    ("amqp-types", b"v1;count=int"),
]


def head(plan: Plan, _texts: tuple[bytes | None, ...]) -> StoredHeader:
    assert plan.head is not None, "these records store no field of the section header"
    return plan.head


def made(headers: Headers, options: MappingOptions | None = None) -> Layout | None:
    names, texts = zip(*headers, strict=True)
    place = decisive_header(names)
    decisive = None if place is None else texts[place]
    plan = compile_plan(names, decisive, "", options or MappingOptions(), timed=True)
    return layout(names, plan, None if place is None else (place, decisive), Passage("orders"), head)


def encoded(headers: Headers, *, value: bytes = b"body", key: bytes | None = None) -> bytes | None:
    """Encode a record by the layout of the typical ones."""
    encode = made(TYPICAL)
    assert encode is not None
    return encode(3, 17, 1_700_000_000_123, key, value, headers)


def ordinary(headers: Headers, *, value: bytes = b"body", key: bytes | None = None) -> bytes:
    return record_to_message("orders", "", MappingOptions())(
        3, 17, 1, 1_700_000_000_123, key, value, headers, 0
    )


def changed(**texts: bytes | None) -> Headers:
    return [(name, texts.get(name.replace("-", "_"), text)) for name, text in TYPICAL]


@pytest.mark.parametrize("size", [0, 1, 200, 255, 256, 70_000])
@pytest.mark.parametrize("key", [None, b"k", b"\xff", b"k" * 300])
def test_usual_records_are_encoded_as_ever(size: int, key: bytes | None) -> None:
    assert encoded(TYPICAL, value=b"x" * size, key=key) == ordinary(TYPICAL, value=b"x" * size, key=key)


@pytest.mark.parametrize("length", [0, 1, 228, 229, 230, 231, 255])
def test_sections_of_all_sizes(length: int) -> None:
    headers = changed(region=b"r" * length, message_id=b"i" * length)
    assert encoded(headers) == ordinary(headers)


@pytest.mark.parametrize(
    "headers",
    [
        changed(region=None),
        changed(region="é".encode()),
        changed(region=b"r" * 256),
        changed(count=b"05"),
        changed(count=None),
        changed(amqp_types=b"v1;count=long"),
        [(name + "2", text) for name, text in TYPICAL],
    ],
)
def test_what_is_not_usual_is_left_to_others(headers: Headers) -> None:
    assert encoded(headers) is None


@pytest.mark.parametrize(
    "more",
    [
        ("amqp.body", b"value;string"),
        ("amqp.footer.a", b"\xa1\x01a"),
        ("amqp.delivery-annotation.a", b"\xa1\x01a"),
        ("amqp.dead-letter.annotations", b"\xc1\x01\x00"),
        ("region", b"a second time"),
    ],
)
def test_records_with_more_to_them_have_no_layout(more: tuple[str, bytes]) -> None:
    assert made([("region", b"eu"), more]) is None


def test_no_name_and_no_value_gets_into_the_source() -> None:
    hostile: Headers = [('"); raise SystemExit(1) #', b"'); raise SystemExit(1) #"), ("{x}\n", b"\n")]
    encode = made(hostile)
    assert encode is not None
    assert encode(3, 17, 1_700_000_000_123, None, b"body", hostile) == ordinary(hostile)


def test_the_head_of_a_section_by_its_size() -> None:
    heads = Heads((b"\x00St", 0xC1), 4)
    assert heads[0] == b""
    assert heads[254] == b"\x00St\xc1\xff\x04"
    assert heads[255] == b"\x00St\xd1\x00\x00\x01\x03\x00\x00\x00\x04"
    assert Heads((b"\x00St", 0xC1), 256)[3] == b"\x00St\xd1\x00\x00\x00\x07\x00\x00\x01\x00"


def test_records_with_many_headers_have_no_layout() -> None:
    names = [chr(0x4E00 + number) for number in range(4096)]
    assert made([(name, b"x") for name in names[:HEADERS_MAX]]) is not None
    assert made([(name, b"x") for name in names[: HEADERS_MAX + 1]]) is None

    encode = record_to_message("orders", "", MappingOptions())
    headers: Headers = [(name, b"x") for name in names]
    messages = {encode(0, 0, 1, 0, None, b"body", headers, 0) for _ in range(USES_BEFORE_LAYOUT + 1)}
    assert len(messages) == 1, "Python's compiler gives up at some thousand"
