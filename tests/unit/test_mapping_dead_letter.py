from __future__ import annotations

from bridge.codec import Map, Symbol, encode
from bridge.mapping.dead_letter import DESCRIPTION_BYTES_MAX, Origin, dead_letter_headers
from bridge.model.conditions import Condition

STORED = [("a", b"\xff"), ("a", None), ("amqp-types", b"v1;a=int")]
ORIGIN = Origin("orders", 3, 17, 1_700_000_000_123, "billing")
MAP = encode(Map([(Symbol("x-opt-why"), "tired")]))


def test_all_that_is_told_stands_behind_the_records_own_headers() -> None:
    headers = dead_letter_headers(
        STORED,
        ORIGIN,
        reason="rejected",
        attempts=2,
        condition=Condition("amqp:not-allowed", "no größe"),
        annotations=MAP,
    )
    assert headers == [
        *STORED,
        ("amqp.dlt.reason", b"rejected"),
        ("amqp.dlt.condition", b"amqp:not-allowed"),
        ("amqp.dlt.description", "no größe".encode()),
        ("amqp.dlt.topic", b"orders"),
        ("amqp.dlt.partition", b"3"),
        ("amqp.dlt.offset", b"17"),
        ("amqp.dlt.timestamp", b"1700000000123"),
        ("amqp.dlt.attempts", b"2"),
        ("amqp.dlt.group", b"billing"),
        ("amqp.dlt.annotations", MAP),
    ]


def test_what_is_not_known_has_no_header() -> None:
    headers = dead_letter_headers(None, Origin("orders", 0, 0), reason="max-attempts", attempts=5)
    assert [name for name, _ in headers] == [
        f"amqp.dlt.{part}" for part in ("reason", "topic", "partition", "offset", "attempts")
    ]
    silent = dead_letter_headers(
        None, Origin("orders", 0, 0), reason="rejected", attempts=1, condition=Condition("c", "")
    )
    assert dict(silent)["amqp.dlt.condition"] == b"c"
    assert "amqp.dlt.description" not in dict(silent)


def test_a_dead_letter_that_is_refused_again_is_told_of_anew() -> None:
    first = dead_letter_headers(STORED, ORIGIN, reason="rejected", attempts=2, annotations=MAP)
    other = encode(Map([(Symbol("x-opt-where"), "here")]))
    second = dead_letter_headers(
        first, Origin("orders.dlt", 0, 1), reason="undeliverable-here", attempts=1, annotations=other
    )
    assert second == [
        *STORED,
        ("amqp.dlt.reason", b"undeliverable-here"),
        ("amqp.dlt.topic", b"orders.dlt"),
        ("amqp.dlt.partition", b"0"),
        ("amqp.dlt.offset", b"1"),
        ("amqp.dlt.attempts", b"1"),
        (
            "amqp.dlt.annotations",
            encode(Map([(Symbol("x-opt-why"), "tired"), (Symbol("x-opt-where"), "here")])),
        ),
    ]


def test_what_a_receiver_says_is_not_kept_at_any_length() -> None:
    condition = Condition("c" * 5000, "ä" * 5000)
    headers = dict(dead_letter_headers(None, ORIGIN, reason="rejected", attempts=1, condition=condition))
    assert headers["amqp.dlt.condition"] == b"c" * DESCRIPTION_BYTES_MAX
    assert headers["amqp.dlt.description"] == "ä".encode() * (DESCRIPTION_BYTES_MAX // 2)


def test_a_damaged_map_is_not_stored() -> None:
    headers = dead_letter_headers(None, ORIGIN, reason="rejected", attempts=1, annotations=b"\xc1\x09")
    assert "amqp.dlt.annotations" not in dict(headers)
