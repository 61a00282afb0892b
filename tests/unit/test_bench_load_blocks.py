from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bench.load import frames, reading
from bench.load.blocks import Block
from bench.load.errors import LoadError
from bench.load.messages import template
from bridge.codec import Described, decode

if TYPE_CHECKING:
    from bench.load.blocks import Mode

MAX_FRAME_BYTES = 512


class Delivery(NamedTuple):
    """One message as a peer puts it together."""

    fields: list[Any]
    settled: set[bool]
    frames: int
    sections: list[Any]


def deliveries(data: bytes, max_frame_bytes: int = MAX_FRAME_BYTES) -> list[Delivery]:
    """Walk over frames as a peer does, by the codec alone."""
    found: list[Delivery] = []
    at, payload, first = 0, b"", None
    settled: set[bool] = set()
    count = 0
    while at < len(data):
        size, words, _, _ = frames.HEADER.unpack_from(data, at)
        assert size <= max_frame_bytes
        frame = data[at : at + size]
        performative, payload_at = decode(frame, 4 * words)
        assert isinstance(performative, Described)
        fields: Any = performative.value
        first = first or fields
        assert fields[0] == first[0]
        settled.add(fields[4])
        payload += frame[payload_at:]
        count += 1
        at += size
        if not fields[5]:
            found.append(Delivery(first, settled, count, sections(payload)))
            payload, first, settled, count = b"", None, set(), 0
    assert first is None
    return found


def sections(message: bytes) -> list[Any]:
    """Decode a message: what its sections hold."""
    found, at = [], 0
    while at < len(message):
        section, at = decode(message, at)
        assert isinstance(section, Described)
        found.append(section.value)
    return found


def filled(block: Block, count: int, *, handle: int = 0, first_id: int = 0, number: int = 0) -> bytes:
    block.fill(count, handle, first_id, number, first_of_link=0)
    return bytes(block.memory[: count * block.row_bytes])


def test_rows_are_transfers_with_numbered_bodies() -> None:
    block = Block(template("bare", 100), MAX_FRAME_BYTES, "unsettled")
    found = deliveries(filled(block, 5, handle=300, first_id=70_000, number=99_999_998))
    assert [int(each.fields[0]) for each in found] == [300] * 5
    assert [int(each.fields[1]) for each in found] == [70_000 + step for step in range(5)]
    assert len({each.fields[2] for each in found}) == 5
    bodies = [f"{99_999_998 + step:012}".encode() + b"x" * 88 for step in range(5)]
    assert [each.sections for each in found] == [[body] for body in bodies]


@pytest.mark.parametrize("size", [12, 400, 470, 471, 472, 950, 5000])
def test_a_message_is_cut_into_frames_that_the_peer_takes(size: int) -> None:
    block = Block(template("bare", size), MAX_FRAME_BYTES, "unsettled")
    found = deliveries(filled(block, 3))
    assert [each.sections[0][:12] for each in found] == [b"%012d" % number for number in range(3)]
    assert {len(each.sections[0]) for each in found} == {size}
    assert {each.frames for each in found} == {len(block.frame_ends)}
    assert block.frame_ends[-1] == block.row_bytes


@pytest.mark.parametrize(
    ("mode", "settled"), [("settled", [True] * 4), ("unsettled", [False] * 4), ("mixed", [True, False] * 2)]
)
@pytest.mark.parametrize("size", [100, 1000])
def test_all_frames_of_a_message_say_whether_it_is_settled(
    mode: Mode, settled: list[bool], size: int
) -> None:
    block = Block(template("bare", size), MAX_FRAME_BYTES, mode)
    assert [each.settled for each in deliveries(filled(block, 4))] == [{each} for each in settled]


def test_mixed_goes_on_where_the_link_has_stopped() -> None:
    block = Block(template("bare", 100), MAX_FRAME_BYTES, "mixed")
    block.fill(2, 0, 0, 0, first_of_link=7)
    found = deliveries(bytes(block.memory[: 2 * block.row_bytes]))
    assert [each.settled for each in found] == [{False}, {True}]


def test_a_block_is_filled_again_for_another_link() -> None:
    block = Block(template("bare", 1000), MAX_FRAME_BYTES, "unsettled")
    filled(block, 3, handle=1)
    found = deliveries(filled(block, 2, handle=2, first_id=3, number=3))
    assert [(int(each.fields[0]), int(each.fields[1])) for each in found] == [(2, 3), (2, 4)]
    assert [each.sections[0][:12] for each in found] == [b"000000000003", b"000000000004"]


def test_the_typical_message_changes_where_applications_messages_do() -> None:
    block = Block(template("typical", 100), MAX_FRAME_BYTES, "unsettled")
    found = deliveries(filled(block, 3, number=123_456_788))
    properties, application, body = found[1].sections
    assert properties[0] == "order-123456789"
    assert (properties[3], properties[6]) == ("orders.created", "application/json")
    values = dict(application)
    assert {name: type(value).__name__ for name, value in values.items()} == {
        "region": "str",
        "count": "Int",
        "price": "float",
        "urgent": "bool",
        "trace": "UUID",
    }
    assert values["count"] == 100_000 + 123_456_789
    assert values["price"] == 12.5 + 123_456_789
    assert body == b"000123456789" + b"x" * 88
    for name in ("count", "price", "trace"):
        assert len({dict(each.sections[1])[name] for each in found}) == 3


def test_what_changes_has_to_fit_the_first_frame() -> None:
    with pytest.raises(LoadError, match="too short"):
        Block(template("typical", 100), 128, "unsettled")


def test_frames_are_read_by_hand_as_the_codec_reads_them() -> None:
    block = Block(template("typical", 1000), MAX_FRAME_BYTES, "settled")
    data = filled(block, 1, handle=5, first_id=9)
    read = reading.transfer(data, frames.HEADER_BYTES)
    assert (read.handle, read.delivery_id, read.settled, read.more) == (5, 9, True, True)
    found = reading.body(data, read.payload_at, block.frame_ends[0])
    assert found is not None
    assert found.content_bytes == 1000
