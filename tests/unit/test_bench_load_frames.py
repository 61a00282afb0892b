from __future__ import annotations

from typing import Any

import pytest

from bench.load import frames
from bridge.codec import Described, Symbol, UByte, UInt, ULong, decode


def read(frame: bytes) -> tuple[int, list[Any]]:
    """Decode a frame that holds a performative and nothing else: its code and its fields."""
    size, words, _, channel = frames.HEADER.unpack_from(frame)
    assert (size, words, channel) == (len(frame), 2, 0)
    performative, end = decode(frame, frames.HEADER_BYTES)
    assert end == size
    assert isinstance(performative, Described)
    assert isinstance(performative.value, list)
    assert isinstance(performative.descriptor, ULong)
    return performative.descriptor, performative.value


def test_sasl_frames_are_marked_as_such() -> None:
    code, fields = read(frames.SASL_ANONYMOUS)
    assert code == frames.SASL_INIT
    assert fields[0] == Symbol("ANONYMOUS")
    assert frames.SASL_ANONYMOUS[5] == 1


def test_open_tells_the_container_and_the_largest_frame() -> None:
    code, fields = read(frames.open_connection("load-7"))
    assert code == frames.OPEN
    assert (fields[0], fields[2]) == ("load-7", UInt(frames.MAX_FRAME_BYTES))


@pytest.mark.parametrize(("mode", "number"), [("unsettled", 0), ("settled", 1), ("mixed", 2)])
def test_a_sending_link_has_its_address_as_target(mode: str, number: int) -> None:
    code, fields = read(frames.attach("one", 3, "orders", mode, receiver=False))
    assert code == frames.ATTACH
    assert fields[:5] == ["one", UInt(3), False, UByte(number), UByte(0)]
    assert fields[6].value == ["orders"]
    assert fields[9] == UInt(0)


def test_a_receiving_link_has_its_address_as_source() -> None:
    _, fields = read(frames.attach("one", 3, "orders/group.id/a", "settled", receiver=True))
    assert fields[2] is True
    assert fields[5].value == ["orders/group.id/a"]
    assert len(fields) < 10 or fields[9] is None


def test_a_flow_of_a_link_has_its_credit_and_one_of_the_session_has_none() -> None:
    _, session = read(frames.flow(None, 4))
    assert session == [None, UInt(frames.WINDOW_FRAMES), UInt(4), UInt(frames.OUTGOING_WINDOW_FRAMES)]
    _, link = read(frames.flow(2**32 + 5, 2**32 + 6, 7, 2**32 + 8, 1000))
    assert (link[0], link[2]) == (UInt(5), UInt(6))
    assert link[4:] == [UInt(7), UInt(8), UInt(1000)]


@pytest.mark.parametrize(("receiver", "state"), [(True, 0x24), (False, 0x26)])
def test_settling_names_a_range_and_its_outcome(receiver: bool, state: int) -> None:  # noqa: FBT001
    code, fields = read(frames.settle(300, 2**31, receiver=receiver, state=state))
    assert code == frames.DISPOSITION
    assert fields[:4] == [receiver, UInt(300), UInt(2**31), True]
    assert int(fields[4].descriptor) == state
