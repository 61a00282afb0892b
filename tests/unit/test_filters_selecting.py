from __future__ import annotations

from support.filtering import message

from bridge.codec import UInt
from bridge.filters.selecting import selecting
from bridge.filters.selector import selector
from bridge.mapping.options import MappingOptions
from bridge.mapping.profiles import PROFILES

HEADERS: list[tuple[str, bytes | None]] = [("color", b"blue")]


class Attempts:
    """Encodes a message that tells of its attempts, and nothing for a tombstone."""

    damaged = 3
    plain = None

    def __call__(self, *record: object) -> bytes:
        return message(header={"delivery-count": UInt(int(str(record[7])))}) if record[5] else b""


def test_records_that_are_not_wanted_give_no_bytes() -> None:
    plain = PROFILES["native"].record_to_message("orders", "orders", MappingOptions())
    blue = selecting(plain, [selector("color = 'blue'")])
    record = (0, 5, 1, 1000, b"k", b"v")
    assert blue(*record, HEADERS, 0) == plain(*record, HEADERS, 0)
    assert blue(*record, [("color", b"red")], 0) == b""
    assert blue(*record, None, 0) == b""
    assert blue.filtered == 2
    assert blue.damaged == plain.damaged == 0


def test_all_predicates_have_to_want_a_record_and_none_wants_all() -> None:
    plain = PROFILES["native"].record_to_message("orders", "orders", MappingOptions())
    record = (0, 5, 1, 1000, b"k", b"v", HEADERS, 0)
    parts = [selector("color = 'blue'"), selector("amqp.annotation.x-opt-bridge.offset = 6")]
    assert selecting(plain, parts)(*record) == b""
    assert selecting(plain, parts[:1])(*record)
    assert selecting(plain, [])(*record) == plain(*record)


def test_the_message_is_looked_at_as_it_is_delivered() -> None:
    twice = selecting(Attempts(), [selector("JMSXDeliveryCount <= 2")])
    assert twice(0, 1, 1, 1000, None, b"v", None, 1)
    assert not twice(0, 1, 1, 1000, None, b"v", None, 2)
    assert twice.filtered == 1
    assert twice.damaged == 3


def test_what_the_mapping_skips_was_not_filtered() -> None:
    skipped = selecting(Attempts(), [selector("FALSE")])
    assert skipped(0, 1, 1, 1000, None, None, None, 0) == b""
    assert skipped.filtered == 0
