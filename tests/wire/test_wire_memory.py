"""What comes and goes leaves nothing behind: connections, links, sessions, deliveries."""

from __future__ import annotations

import ctypes
import gc
import itertools
import weakref
from typing import TYPE_CHECKING

import pytest
from support.frames import (
    make_attach,
    make_begin,
    make_detach,
    make_disposition,
    make_frame,
    make_opening,
    make_transfer,
)
from support.wire import Incoming, Pair, incoming

from bridge.amqp.assembly import FIRST_BYTES, SLACK
from bridge.amqp.links import IncomingLink
from bridge.model import conditions
from bridge.model.conditions import Condition

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.amqp.engine import Engine

LIBC = ctypes.CDLL(None)
CONDITION = Condition(conditions.CONNECTION_FORCED, "the bridge is shutting down")


class MallInfo(ctypes.Structure):
    """What glibc knows of its heap, in bytes (mallinfo(3))."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


pytestmark = pytest.mark.skipif(
    not hasattr(LIBC, "mallinfo2"), reason="the C library does not count its heap"
)
if hasattr(LIBC, "mallinfo2"):
    LIBC.mallinfo2.restype = MallInfo


def allocated_bytes() -> int:
    """Count what proton holds, and what of Python's is not in its own arenas."""
    gc.collect()
    info = LIBC.mallinfo2()
    return int(info.uordblks + info.hblkhd)


def assert_bounded(turn: Callable[[int], None], *, turns: int, bytes_each: int = 40) -> None:
    """Do it many times, and see that a turn leaves nothing: less than the least that it could."""
    for number in range(turns // 4):
        turn(number)
    before = allocated_bytes()
    for number in range(turns):
        turn(turns + number)
    assert allocated_bytes() - before < turns * bytes_each


def converse(pair: Pair) -> None:
    """Attach, send ten messages, of which the last three get no outcome."""
    pair.inject(make_opening())
    pair.to_client()
    pair.inject(b"".join(make_transfer(number, b"x" * 100) for number in range(10)))
    link = pair.events.links[0]
    assert isinstance(link, IncomingLink)
    link.accept(incoming(link).deliveries[:7], settle=True)
    pair.to_client()


@pytest.mark.parametrize("how", ["lost", "closed", "closed by the bridge", "broken"])
def test_connections(how: str) -> None:
    def turn(_number: int) -> None:
        with Pair(sniff=False) as pair:
            converse(pair)
            if how == "closed":
                pair.inject(make_frame("close"))
            elif how == "closed by the bridge":
                pair.events.links[0].engine.close(CONDITION)
            elif how == "broken":
                pair.inject(b"GET / HTTP/1.1\r\n\r\n")
            pair.to_client()

    assert_bounded(turn, turns=500)


def test_engines_are_collected() -> None:
    engines: list[weakref.ref[Engine]] = []
    for _ in range(3):
        with Pair(sniff=False) as pair:
            converse(pair)
            engines.append(weakref.ref(pair.engine))
        del pair
    gc.collect()
    assert [engine() for engine in engines] == [None] * 3


def test_links_of_a_lasting_connection() -> None:
    with Pair(sniff=False) as pair:
        pair.inject(make_opening())
        pair.to_client()
        ids = itertools.count()

        def turn(number: int) -> None:
            pair.inject(make_attach(f"link {number}", 1))
            pair.to_client()
            pair.inject(b"".join(make_transfer(next(ids), b"x" * 100, handle=1) for _ in range(5)))
            pair.inject(make_detach(1))
            pair.to_client()
            pair.events.links.clear()

        assert_bounded(turn, turns=500)


def test_sessions_of_a_lasting_connection() -> None:
    with Pair(sniff=False) as pair:
        pair.inject(make_opening())
        pair.to_client()

        def turn(number: int) -> None:
            pair.inject(make_begin(1))
            pair.inject(make_attach(f"link {number}", 0, channel=1))
            pair.to_client()
            pair.inject(make_transfer(0, b"x" * 100, channel=1))
            pair.inject(make_frame("end", channel=1))
            pair.to_client()
            pair.events.links.clear()

        assert_bounded(turn, turns=500)


def test_deliveries_of_a_lasting_link() -> None:
    with Pair(sniff=False) as pair:
        pair.inject(make_opening(rcv_settle_mode=1))
        pair.to_client()
        link = pair.events.links[0]
        assert isinstance(link, IncomingLink)
        ids = itertools.count()

        def turn(_number: int) -> None:
            # One of each kind: settled with its outcome, settled after the sender, pre-settled, aborted.
            handler = Incoming()
            link.handler = handler
            first, second, third, fourth = (next(ids) for _ in range(4))
            pair.inject(make_transfer(first, b"x" * 100) + make_transfer(second, b"x" * 100))
            pair.inject(make_transfer(third, b"x" * 100, settled=True))
            pair.inject(make_transfer(fourth, b"x", more=True) + make_transfer(fourth, aborted=True))
            link.accept(handler.deliveries[:1], settle=True)
            link.accept(handler.deliveries[1:2], settle=False)
            pair.to_client()
            pair.inject(make_disposition(second, second, settled=True))
            assert handler.settled_later == handler.deliveries[1:2]
            link.settle(handler.deliveries[1])
            link.grant(4)
            pair.to_client()

        assert_bounded(turn, turns=1_000)
        assert not link.ended


def test_a_large_message_for_a_receiver_that_does_not_read() -> None:
    with Pair(sniff=False) as pair:
        _, link = pair.attach_receiver(credit=1)
        payload = b"x" * (16 << 20)
        before = allocated_bytes()

        def write(_data: bytes) -> None:
            pair.engine.congested = True

        link.send(b"large", payload)
        pair.engine.flush(write)
        # A piece of it with proton, and its frames; not the message.
        assert allocated_bytes() - before < 4 << 20
        assert link.room_bytes() == 0


def test_messages_that_have_begun_hold_little_more_than_has_arrived_of_them() -> None:
    with Pair(sniff=False) as pair:
        pair.inject(make_opening())
        pair.to_client()
        before = allocated_bytes()
        for number in range(1, 33):
            # One of a megabyte leaves its buffer behind; then one begins on another link.
            large = 2 * number
            pair.inject(
                b"".join(make_transfer(large, b"x" * 60_000, more=more) for more in [True] * 16 + [False])
            )
            pair.inject(make_attach(f"slow-{number}", number))
            pair.inject(make_transfer(large + 1, b"x" * 100, handle=number, more=True))
            pair.to_client()
        link = pair.events.links[0]
        assert isinstance(link, IncomingLink)
        payloads = incoming(link).payloads
        assert len(payloads) == 32
        begun = [slow.assembling for slow in pair.engine.assembling()]
        assert [len(parts or b"") for parts in begun] == [100] * 32
        # The handler keeps the payloads, and the next large message finds a buffer.
        kept_bytes = sum(len(payload) for payload in payloads) + (4 << 20)
        assert allocated_bytes() - before < kept_bytes + 32 * (FIRST_BYTES + 65_536)


def test_a_single_message_that_has_begun_has_a_buffer_out_of_proportion() -> None:
    def begin(pair: Pair, number: int) -> IncomingLink:
        # One of a megabyte leaves its buffer behind; then one begins on another link.
        large = 2 * number
        frames = [make_transfer(large, b"x" * 60_000, more=more) for more in [True] * 16 + [False]]
        pair.inject(b"".join(frames) + make_attach(f"slow-{number}", number))
        pair.to_client()
        for _ in range(3):
            pair.inject(make_transfer(large + 1, b"x" * 50_000, handle=number, more=True))
        link = pair.events.links[-1]
        assert isinstance(link, IncomingLink)
        return link

    def capacity(link: IncomingLink) -> int:
        assert link.assembling is not None
        return link.assembling.capacity_bytes

    with Pair(sniff=False) as pair:
        pair.inject(make_opening())
        pair.to_client()
        links = [begin(pair, number) for number in range(1, 9)]
        out_of_proportion = [link for link in links if capacity(link) > SLACK * 150_000]
        assert out_of_proportion == links[:1]
        # Until its link ends: then another may have one.
        links[0].detach(CONDITION)
        assert capacity(begin(pair, 9)) > SLACK * 150_000
