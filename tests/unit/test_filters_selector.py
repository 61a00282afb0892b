from __future__ import annotations

import pytest
from support.filtering import view

from bridge.codec import Byte, Decimal64, Float, Int, Long, Symbol, Timestamp, UByte, ULong
from bridge.filters.errors import FilterError
from bridge.filters.grammar import LONGEST
from bridge.filters.selector import DEEPEST, selector, sql_filter

SEEN = view(
    {
        "country": "UK",
        "city": Symbol("London"),
        "weight": Int(5),
        "price": 10.5,
        "ratio": Float(0.5),
        "exact": Decimal64((396 << 53 | 42).to_bytes(8, "big")),
        "big": ULong(2**64 - 1),
        "below": Byte(-7),
        "active": True,
        "premium": False,
        "at": Timestamp(1_700_000_000_000),
        "order-status": "open",
        "nothing": None,
        "raw": b"Bob",
        "code": "_x%",
    },
    header={"priority": UByte(7)},
    annotations={"x-opt-sequence-number": Long(42)},
    properties={"message-id": "id-1", "subject": "orders.created"},
)


@pytest.mark.parametrize(
    "text",
    [
        "country = 'UK'",
        "'UK' = country AND 5 = weight",
        "country <> 'US' and country != 'FR'",
        "NOT country = 'FR'",
        "active",
        "active = TRUE AND premium = FALSE",
        "NOT premium",
        "weight > 4 AND 4 < weight AND weight >= 5 AND 5 >= weight AND weight <= 5.0",
        "weight BETWEEN 5 AND 5 AND weight NOT BETWEEN 6 AND 10",
        "weight IN (1, 5) AND weight IN (5.0) AND weight NOT IN ('5', -5)",
        "country IN ('US', 'UK') AND city NOT IN ('Paris')",
        "'London' IN (country, city)",
        "city LIKE 'Lon%' AND city LIKE '%don' AND city LIKE 'L_nd_n' AND city NOT LIKE 'P%'",
        r"code LIKE '\_x\%' ESCAPE '\'",
        "absent IS NULL AND nothing IS NULL AND city IS NOT NULL",
        "weight + 5 * 2 = 15 AND (weight + 5) * 2 = 20 AND weight - 2 - 1 = 2",
        "weight / 2 = 2 AND weight / 2.0 = 2.5 AND weight % 3 = 2 AND below / 2 = -3",
        "-weight = -5 AND +weight = 5 AND 6 - -weight = 11 AND - -weight = 5",
        "big = 18446744073709551615 AND big > 0xFF",
        "ratio = .5 AND exact = 0.42 AND at > 1.6E12 AND below = -7",
        "city > 'Berlin'",
        "raw = 'Bob'",
        '"order-status" = \'open\' AND [order-status] = "order-status"',
        "JMSPriority = 7 AND JMSMessageID = 'ID:AMQP_NO_PREFIX:id-1' AND JMSType LIKE 'orders.%'",
        "amqp.annotation.x-opt-sequence-number > 41",
        "weight OR active",
        "(active = TRUE) = TRUE",
        "absent = 1 OR active",
        "NOT (absent = 1 AND premium)",
        "weight = '5' OR NOT weight = '5'",
        "",
        " \n",
    ],
)
def test_wanted(text: str) -> None:
    assert selector(text)(SEEN)


@pytest.mark.parametrize(
    "text",
    [
        "country = 'US'",
        "country = 'uk'",
        "Country = 'UK'",
        "absent = 1 AND active",
        "absent = 1",
        "absent <> 1",
        "NOT absent = 1",
        "NOT absent",
        "absent LIKE 'a'",
        "absent NOT LIKE 'a'",
        "absent NOT IN ('a')",
        "absent BETWEEN 1 AND 2",
        "absent NOT BETWEEN 1 AND 2",
        "absent + 4 = 5",
        "weight = '5'",
        "weight <> '5'",
        "country > 1",
        "active > premium",
        "active = 1",
        "weight",
        "weight / 0 = 0",
        "city + 1 = 1",
        "nothing = nothing",
    ],
)
def test_not_wanted(text: str) -> None:
    assert not selector(text)(SEEN)


@pytest.mark.parametrize(
    "text",
    [
        'p.message_id = "id-1" AND properties.subject LIKE "orders.%"',
        "h.priority = 7 AND header.priority > 6",
        "a.country = 'UK' AND application_properties.city = 'London'",
        "weight / 2 = 2.5",
        "raw = 0x426F62 AND raw = 'Bob'",
        "[order-status] = 'open'",
        "m.absent IS NULL",
        "0xFF = 0xFF AND 0xFF <> 0xFE",
    ],
)
def test_sql_filters(text: str) -> None:
    assert sql_filter(text)(SEEN)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5", "line 1, column 1: expected a condition, found a number"),
        ("NOT 'a'", "line 1, column 5: expected a condition, found a text"),
        ("a AND 5", "line 1, column 7: expected a condition, found a number"),
        ("a + 'b' = 1", "line 1, column 5: expected a number, found a text"),
        ("-'b' = 1", "line 1, column 2: expected a number, found a text"),
        ("5 LIKE 'a'", "line 1, column 1: expected a text, found a number"),
        ("a LIKE b", "line 1, column 8: expected a text in single quotes"),
        ("a LIKE 'b' ESCAPE 5", "line 1, column 19: expected a text in single quotes"),
        ("a LIKE 'b' ESCAPE 'cd'", "line 1, column 19: ESCAPE takes one character"),
        ("a LIKE 'b!' ESCAPE '!'", "the pattern ends with the escape character"),
        ("a < TRUE", "line 1, column 5: conditions compare with = and <> only"),
        ("a = 1e999", "line 1, column 5: the number is too large for a double"),
        ("a = 18446744073709551616", "line 1, column 5: the number does not fit 64 bits"),
        ("a = " + "9" * 4000, "the number does not fit 64 bits"),
        ("a = 1 AND amqp.nonsense = 2", "line 1, column 11: 'amqp.nonsense'"),
        ("UTC() > 1", "line 1, column 4: expected a comparison"),
    ],
)
def test_what_can_never_be_right_is_refused(text: str, told: str) -> None:
    with pytest.raises(FilterError) as caught:
        selector(text)
    assert told in caught.value.description


@pytest.mark.parametrize("text", ["a = 0xABC", "a = 0xABL", "0xFF"])
def test_binaries_have_whole_bytes(text: str) -> None:
    with pytest.raises(FilterError, match="column"):
        sql_filter(text)


def test_nesting_is_bounded_and_chains_are_not() -> None:
    assert selector("NOT " * (DEEPEST - 2) + "premium = TRUE")(SEEN) is (DEEPEST % 2 == 1)
    with pytest.raises(FilterError, match="at most 50 operations"):
        selector("NOT " * (DEEPEST + 1) + "premium")
    with pytest.raises(FilterError, match="at most 50 operations"):
        selector("- " * (DEEPEST + 1) + "weight = 1")
    links = LONGEST // 10
    assert selector("premium" + " OR absent" * (links - 2) + " OR active")(SEEN)
    assert selector("weight" + "+weight" * 500 + " = 2505")(SEEN)
