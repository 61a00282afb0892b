"""That usual records have a layout, made in either way; what it leaves to others; and the bounds of sizes.

That it gives what the ordinary way gives is a property: see properties/test_mapping_layout_rules.py.
"""

from __future__ import annotations

from typing import Final

import pytest
from support.layouts import TIME_MS, WAYS, Headers, made, made_by, ordinary

from bridge.mapping.from_text import WRITE
from bridge.mapping.layout import HEADERS_MAX
from bridge.mapping.options import MappingOptions
from bridge.mapping.to_message import USES_BEFORE_LAYOUT, record_to_message

pytestmark = pytest.mark.parametrize("way", WAYS)

TYPICAL: Final[Headers] = [
    ("message-id", b"order-1"),
    ("content-type", b"application/json"),
    ("region", b"eu"),
    ("count", b"100000"),
    ("amqp-types", b"v1;count=int"),
]


def encoded(way: str, headers: Headers, *, value: bytes = b"body", key: bytes | None = None) -> bytes | None:
    """Encode a record by the layout of the typical ones."""
    encode = made(way, TYPICAL)
    assert encode is not None
    return encode(3, 17, TIME_MS, key, value, headers)


def changed(**texts: bytes | None) -> Headers:
    return [(name, texts.get(name.replace("-", "_"), text)) for name, text in TYPICAL]


@pytest.mark.parametrize("size", [0, 1, 200, 255, 256, 70_000])
@pytest.mark.parametrize("key", [None, b"k", b"\xff", b"k" * 300])
def test_usual_records_are_encoded_as_ever(way: str, size: int, key: bytes | None) -> None:
    assert encoded(way, TYPICAL, value=b"x" * size, key=key) == ordinary(TYPICAL, value=b"x" * size, key=key)


@pytest.mark.parametrize("length", [0, 1, 228, 229, 230, 231, 255])
def test_sections_of_all_sizes(way: str, length: int) -> None:
    headers = changed(region=b"r" * length, message_id=b"i" * length)
    assert encoded(way, headers) == ordinary(headers)


@pytest.mark.parametrize(
    "headers",
    [
        changed(region=None),
        changed(region=b"\xff"),
        changed(count=b"05"),
        changed(count=None),
        changed(amqp_types=b"v1;count=long"),
        [(name + "2", text) for name, text in TYPICAL],
    ],
)
def test_what_is_not_usual_is_left_to_others(way: str, headers: Headers) -> None:
    assert encoded(way, headers) is None


@pytest.mark.parametrize("region", ["é".encode(), b"r" * 256, b"r" * 70_000])
def test_texts_that_only_one_way_leaves_to_others(way: str, region: bytes) -> None:
    headers = changed(region=region)
    assert encoded(way, headers) == (ordinary(headers) if way == "compiled" else None)


UUID: Final = "123e4567-e89b-12d3-a456-426614174000"
NEARLY: Final = {
    "boolean": ["true", "false", "True", "tru", "true ", ""],
    "byte": ["127", "128", "-128", "-129", "-1", "0", "-0"],
    "ubyte": ["0", "00", "255", "256", "-1", "+1"],
    "short": ["32767", "32768", "-32768", "-32769", "5", "05"],
    "ushort": ["0", "65535", "65536", "-1"],
    "int": ["127", "128", "-128", "-129", "2147483647", "2147483648", "-2147483648", "-2147483649", "-"],
    "uint": ["0", "1", "255", "256", "4294967295", "4294967296", "-1", "-0"],
    "long": ["-128", "-129", f"{2**63 - 1}", f"{2**63}", f"-{2**63}", f"-{2**63 + 1}", "1_0", " 1", "1\0"],
    "ulong": ["0", "255", "256", f"{2**64 - 1}", f"{2**64}", f"{2**64 + 4}", f"{10**20}", "1" * 21],
    "timestamp": ["0", "-1", f"{2**63 - 1}", f"{2**63}", "1700000000123", "1700000000123.0"],
    "double": [
        *("0.0", "-0.0", "0.00", "00.0", "-0", "0", ".5", "5.", "1.50", "1.5", "-12346.5", "--1.5", "-", "."),
        *("0.0001", "0.00012", "0.00001", "1e-05", "0.00009999", "9.999e-05", "1.0", "01.0", "1.0 ", "1_0.0"),
        *("99999999999999.9", "999999999999999.9", "123456789012345.0", "1e+16", "1e16", "1E+16", "1e22"),
        *("1e+22", "0.1", "0.30000000000000004", "0.3000000000000000", "1266144105303.8099"),
        *("1266144105303.80992", "9007199254740993.0", "9007199254740992.0", "5e-324", "4e-324", "1e400"),
        *("1.7976931348623157e+308", "-2.2250738585072014e-308", "NaN", "nan", "-NaN", "Infinity", "inf"),
        *("-Infinity", "-inf", "+Infinity", "1.5\0", "0x1p3", "", "1.5.5", "-1", "-1.0", "1" * 400),
    ],
    "uuid": [
        UUID,
        UUID.upper(),
        UUID[:-1],
        *(UUID[:place] + "-" + UUID[place + 1 :] for place in (0, 1, 9, 35)),
        *(UUID[:place] + "0" + UUID[place + 1 :] for place in (8, 13, 18, 23)),
        *(UUID[:place] + "g" + UUID[place + 1 :] for place in range(36)),
    ],
    "symbol": ["", "a", "é"],
    "binary": ["", "é", "x" * 255, "x" * 256],
    "decimal32": ["22500001", "2250000A", "2250000"],
    "null": ["", "null"],
}
"""Texts that are what the bridge writes, and texts that nearly are."""


@pytest.mark.parametrize("type_name", NEARLY)
def test_texts_are_exactly_what_the_bridge_writes(way: str, type_name: str) -> None:
    types = ("amqp-types", b"v1;v=" + type_name.encode())
    encode = made(way, [("v", b""), types])
    assert encode is not None
    for text in (None, *NEARLY[type_name]):
        headers: Headers = [("v", None if text is None else text.encode()), types]
        fits = WRITE[type_name](headers[0][1]) is not None
        assert encode(3, 17, TIME_MS, None, b"body", headers) == (ordinary(headers) if fits else None), text


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
def test_records_with_more_to_them_have_no_layout(way: str, more: tuple[str, bytes]) -> None:
    assert made(way, [("region", b"eu"), more]) is None


def test_records_with_many_headers_have_no_layout(way: str) -> None:
    names = [chr(0x4E00 + number) for number in range(4096)]
    assert made(way, [(name, b"x") for name in names[:HEADERS_MAX]]) is not None
    assert made(way, [(name, b"x") for name in names[: HEADERS_MAX + 1]]) is None

    with made_by(way):
        encode = record_to_message("orders", "", MappingOptions())
        headers: Headers = [(name, b"x") for name in names]
        messages = {encode(0, 0, 1, 0, None, b"body", headers, 0) for _ in range(USES_BEFORE_LAYOUT + 1)}
    assert len(messages) == 1, "Python's compiler gives up at some thousand"
