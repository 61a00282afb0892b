from __future__ import annotations

from itertools import product

import pytest

from bench.load import reading
from bench.load.errors import LoadError
from bridge.codec import Described, Map, Symbol, UByte, UInt, ULong, encode

ACCEPTED = Described(ULong(0x24), [])
REJECTED = Described(
    ULong(0x25), [Described(ULong(0x1D), [Symbol("amqp:not-allowed"), "an order needs a key"])]
)
BEFORE = b"before"


def placed(code: int, fields: list[object], payload: bytes = b"") -> bytes:
    """Encode a performative somewhere in a buffer: at `len(BEFORE)`."""
    return BEFORE + encode(Described(ULong(code), fields)) + payload


@pytest.mark.parametrize(("first", "last"), [*product([0, 5, 255, 256, 2**32 - 1], [None, 0, 9, 2**32 - 1])])
@pytest.mark.parametrize(("state", "code"), [(ACCEPTED, 0x24), (REJECTED, 0x25), (None, 0)])
def test_dispositions_are_read_in_every_form(
    first: int, last: int | None, state: Described | None, code: int
) -> None:
    last_field = None if last is None else UInt(last)
    buffer = placed(0x15, [True, UInt(first), last_field, True, state, True])
    read = reading.disposition(buffer, len(BEFORE))
    assert read[:4] == (first, first if last is None else last, True, code)
    assert int.from_bytes(buffer[slice(*read.first_at)], "big") == read.first
    assert int.from_bytes(buffer[slice(*read.last_at)], "big") == read.last


def test_a_disposition_may_leave_out_what_comes_last() -> None:
    read = reading.disposition(placed(0x15, [True, UInt(7)]), len(BEFORE))
    assert read[:4] == (7, 7, False, 0)


@pytest.mark.parametrize(
    ("handle", "delivery_id", "tag"), [*product([0, 9, 300], [0, 200, 70_000], [b"", b"1:2:3", b"t" * 32])]
)
def test_transfers_are_read_in_every_form(handle: int, delivery_id: int, tag: bytes) -> None:
    fields: list[object] = [UInt(handle), UInt(delivery_id), tag, UInt(0), True, True]
    buffer = placed(0x14, fields, b"payload")
    read = reading.transfer(buffer, len(BEFORE))
    assert read[:5] == (handle, delivery_id, True, True, False)
    assert buffer[read.payload_at :] == b"payload"
    assert buffer[slice(*read.tag_at)] == tag
    assert int.from_bytes(buffer[slice(*read.id_at)], "big") == delivery_id


def test_a_further_transfer_of_a_message_needs_no_more_than_its_handle() -> None:
    buffer = placed(0x14, [UInt(3)], b"payload")
    read = reading.transfer(buffer, len(BEFORE))
    assert read[:5] == (3, None, False, False, False)
    assert buffer[read.payload_at :] == b"payload"


def test_an_aborted_transfer_is_known_as_such() -> None:
    fields: list[object] = [UInt(3), None, None, None, None, False, UByte(0), ACCEPTED, False, True]
    assert reading.transfer(placed(0x14, fields), len(BEFORE)).aborted


@pytest.mark.parametrize("body_bytes", [1, 255, 256, 70_000])
def test_the_body_is_found_behind_all_other_sections(body_bytes: int) -> None:
    header = encode(Described(ULong(0x70), [True]))
    annotations = encode(Described(ULong(0x72), Map([(Symbol("x-opt-offset"), "1" * 300)])))
    message = header + annotations + encode(Described(ULong(0x75), b"x" * body_bytes))
    found = reading.body(BEFORE + message, len(BEFORE), len(BEFORE + message))
    assert found is not None
    assert found.section_at == len(BEFORE + header + annotations)
    assert found.content_bytes == body_bytes
    assert (BEFORE + message)[found.content_at :] == b"x" * body_bytes


def test_a_message_may_have_no_body() -> None:
    message = encode(Described(ULong(0x70), [True]))
    assert reading.body(message, 0, len(message)) is None


def test_errors_are_told_as_the_peer_told_them() -> None:
    assert reading.error_text(REJECTED.value[0]) == "amqp:not-allowed: an order needs a key"  # type: ignore[index] # a list
    assert reading.error_text(None) == "no error given"


@pytest.mark.parametrize("body", [b"\x00\x53", b"\x40", encode(Described(ULong(0x10), "text"))])
def test_what_is_no_performative_is_told(body: bytes) -> None:
    with pytest.raises(LoadError, match="the peer sent a frame"):
        reading.performative(body, 0)
