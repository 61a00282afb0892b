"""Transfers to the bridge: frames and pieces of any size, limits, transfers given up, and windows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from proton import Delivery
from support.frames import make_attach, make_begin, make_detach, make_opening, make_transfer
from support.wire import FRAME_BYTES, SETTINGS, Client, Incoming, Pair, incoming, transfer

from bridge.amqp import hot_path, native
from bridge.amqp.links import IncomingLink
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.amqp.contract import AnyLink
    from bridge.amqp.native import CData

LARGE_BYTES: Final = 10_000_000


def taking(max_bytes: int, credit: int = 100) -> Callable[[AnyLink], None]:
    """Answer attaches of senders: messages of at most so many bytes."""

    def answer(link: AnyLink) -> None:
        assert isinstance(link, IncomingLink)
        link.open(Incoming(), max_bytes)
        link.grant(credit)

    return answer


def pattern(size_bytes: int) -> bytes:
    """Make a payload in which no piece can be missing or out of place unnoticed."""
    return b"".join(number.to_bytes(4, "big") for number in range(size_bytes // 4 + 1))[:size_bytes]


def by_hand(
    answer: Callable[[AnyLink], None] | None = None, *, links: int = 1, window_bytes: int = 1 << 22
) -> Pair:
    """Join the bridge with frames made by hand: so many senders are attached, with their handles from 0."""
    settings = replace(SETTINGS, session_window_bytes=window_bytes)
    pair = Pair(answer=answer or taking(1 << 20), settings=settings)
    pair.inject(make_opening())
    for handle in range(1, links):
        pair.inject(make_attach(f"sender {handle}", handle))
    pair.to_client()
    return pair


def handler_of(pair: Pair, number: int = 0) -> Incoming:
    link = pair.events.links[number]
    assert isinstance(link, IncomingLink)
    return incoming(link)


def held_bytes(link: IncomingLink) -> int:
    return len(link.assembling or b"")


# ---------------------------------------------------------------------- pieces and frames


@pytest.mark.parametrize("cut", [None, lambda left: min(left, 65_536), lambda left: min(left, 1_021)])
def test_ten_megabytes_arrive_in_many_frames(cut: Callable[[int], int] | None) -> None:
    payload = pattern(LARGE_BYTES)
    with Pair(answer=taking(LARGE_BYTES), cut=cut, sniff=False) as pair:
        sender, link = pair.attach_sender()
        transfer(sender, payload, b"after", b"")
        pair.pump()
        assert incoming(link).payloads == [payload, b"after", b""]


def test_bytes_may_arrive_one_by_one() -> None:
    with Pair(cut=lambda _left: 1) as pair:
        sender, link = pair.attach_sender()
        transfer(sender, pattern(70_000), b"after")
        pair.pump()
        assert incoming(link).payloads == [pattern(70_000), b"after"]


def test_pieces_of_changing_sizes() -> None:
    sizes = itertools.cycle([1, 7, 512, 65_536, 3, 4_096, 40_000])
    with Pair(answer=taking(1 << 21), cut=lambda left: min(left, next(sizes))) as pair:
        sender, link = pair.attach_sender()
        payloads = [pattern(size) for size in (0, 1, 511, 65_520, 65_521, 131_072, 1_048_576, 1_048_577)]
        transfer(sender, *payloads)
        pair.pump()
        assert incoming(link).payloads == payloads


def test_a_client_with_the_smallest_frames() -> None:
    client = Client()
    client.transport.max_frame_size = 512
    with Pair(client=client) as pair:
        sender, link = pair.attach_sender()
        transfer(sender, pattern(5_000))
        pair.pump()
        assert incoming(link).payloads == [pattern(5_000)]


@pytest.mark.parametrize("first_alone", [False, True])
@pytest.mark.parametrize("settled", [False, True])
def test_messages_of_two_links_may_take_turns(*, settled: bool, first_alone: bool) -> None:
    with by_hand(links=2) as pair:
        first = make_transfer(0, b"a1", more=True, settled=settled)
        rest = (
            make_transfer(1, b"b1", handle=1, more=True)
            + make_transfer(0, b"a2", more=True, settled=settled)
            + make_transfer(1, b"b2", handle=1)
            + make_transfer(0, b"a3", settled=settled)
        )
        for piece in [first, rest] if first_alone else [first + rest]:
            pair.inject(piece)
        assert handler_of(pair, 0).payloads == [b"a1a2a3"]
        assert handler_of(pair, 0).settled_flags == [settled]
        assert handler_of(pair, 1).payloads == [b"b1b2"]
        # What arrived settled is not reported as settled once more, for none of its frames.
        assert handler_of(pair, 0).settled_later == []


def test_what_is_shown_between_frames_is_whole_messages_only() -> None:
    with by_hand() as pair:
        pair.inject(make_transfer(0, b"a" * 100, more=True))
        assert handler_of(pair).payloads == []
        pair.inject(make_transfer(0, b"b" * 100))
        assert handler_of(pair).payloads == [b"a" * 100 + b"b" * 100]


# ---------------------------------------------------------------------- transfers given up


def test_an_aborted_message_leaves_nothing_behind() -> None:
    with Pair(answer=taking(1 << 20, credit=3)) as pair:
        sender, link = pair.attach_sender()
        for tag in ("1", "2"):
            delivery = sender.delivery(tag)
            sender.stream(b"half of it")
            pair.pump()
            assert incoming(link).arriving_bytes == len(b"half of it")
            delivery.abort()
            pair.pump()
            assert incoming(link).arriving_bytes == 0
        transfer(sender, b"whole")
        pair.pump()
        handler = incoming(link)
        assert handler.payloads == [b"whole"]
        assert handler.aborted_count == 2
        assert handler.settled_later == []
        # Each of them used a credit, which is the handler's to give back.
        assert sender.credit == 0
        link.grant(2)
        pair.pump()
        assert sender.credit == 2


@pytest.mark.parametrize("links", [1, 2])
def test_a_message_of_several_frames_is_aborted_in_one_piece_of_input(links: int) -> None:
    with by_hand(links=links) as pair:
        between = make_transfer(1, b"b", handle=1) if links == 2 else b""
        pair.inject(
            make_transfer(0, b"a" * 1000, more=True)
            + between
            + make_transfer(0, b"a" * 1000, more=True)
            + make_transfer(0, aborted=True)
            + make_transfer(links, b"whole")
        )
        handler = handler_of(pair)
        assert handler.payloads == [b"whole"]
        assert handler.aborted_count == 1
        assert handler.settled_later == []


def test_a_message_of_one_frame_is_aborted() -> None:
    with by_hand() as pair:
        pair.inject(make_transfer(0, b"never", aborted=True))
        pair.inject(make_transfer(1, b"whole"))
        assert handler_of(pair).payloads == [b"whole"]
        assert handler_of(pair).aborted_count == 1


def test_an_aborted_message_gets_no_outcome() -> None:
    with by_hand() as pair:
        pair.take_frames()
        pair.inject(make_transfer(0, b"half", more=True) + make_transfer(0, aborted=True))
        pair.to_client()
        assert "< disposition" not in pair.take_names()


def test_what_has_arrived_of_a_message_is_counted_until_it_is_whole() -> None:
    with Pair(answer=taking(1 << 20, credit=3)) as pair:
        sender, link = pair.attach_sender()
        sender.delivery("1")
        for so_far in (30_000, 60_000, 90_000):
            sender.stream(b"x" * 30_000)
            pair.pump()
            assert incoming(link).arriving_bytes == so_far
        sender.advance()
        pair.pump()
        assert incoming(link).arriving_bytes == 0
        assert incoming(link).payloads == [b"x" * 90_000]


# ---------------------------------------------------------------------- the largest message


@pytest.mark.parametrize("cut", [None, lambda left: min(left, 5_000)])
def test_a_message_of_the_largest_size_is_taken(cut: Callable[[int], int] | None) -> None:
    with Pair(answer=taking(200_000), cut=cut) as pair:
        sender, link = pair.attach_sender()
        assert sender.remote_max_message_size == 200_000
        transfer(sender, pattern(200_000))
        pair.pump()
        assert [len(payload) for payload in incoming(link).payloads] == [200_000]


@pytest.mark.parametrize("size_bytes", [1_001, 5_000, 1_500_000])
def test_a_larger_message_ends_its_link_without_an_outcome(size_bytes: int) -> None:
    with Pair(answer=taking(1_000)) as pair:
        sender, link = pair.attach_sender()
        pair.take_frames()
        sent = transfer(sender, b"x" * 1_000, b"x" * size_bytes, b"small again")
        pair.pump()
        assert [len(payload) for payload in incoming(link).payloads] == [1_000]
        assert incoming(link).closed == 1
        assert sender.remote_condition is not None
        assert sender.remote_condition.name == conditions.LINK_MESSAGE_SIZE_EXCEEDED
        assert sender.remote_condition.description is not None
        assert "1000 bytes" in sender.remote_condition.description
        # A client must not take it for stored, before or after the detach.
        assert not any(delivery.settled for delivery in sent)
        sender.close()
        pair.pump()
        assert "< disposition" not in pair.take_names()
        assert not pair.over


def test_a_larger_message_is_stopped_while_it_is_partial_and_its_bytes_are_not_kept() -> None:
    with by_hand(taking(100_000), window_bytes=1 << 18) as pair:
        frame = b"x" * 60_000
        pair.inject(make_transfer(0, frame, more=True))
        link = pair.events.links[0]
        assert isinstance(link, IncomingLink)
        assert held_bytes(link) == 60_000
        pair.inject(make_transfer(0, frame, more=True))
        pair.to_client()
        assert link.ended
        assert held_bytes(link) == 0
        assert pair.take_frames()[-1].condition == conditions.LINK_MESSAGE_SIZE_EXCEEDED
        # The rest of it was on its way. Its bytes are dropped, and the session's window opens again:
        # not in the name of the link, whose handle is free.
        for _ in range(30):
            pair.inject(make_transfer(0, frame, more=True))
            pair.to_client()
        flows = [frame for frame in pair.take_frames() if frame.text == "< flow"]
        assert flows[-1].fields["incoming-window"] == 4
        assert all("handle" not in flow.fields for flow in flows)
        pair.inject(make_transfer(0, frame))
        assert not pair.over


def test_other_links_of_the_session_go_on_after_a_too_large_message() -> None:
    with Pair(answer=taking(1_000)) as pair:
        session = pair.open_session()
        large, _ = pair.attach_sender("large", session=session)
        small, link = pair.attach_sender("small", session=session)
        for turn in range(3):
            transfer(small, b"small %d" % turn)
            if turn == 0:
                transfer(large, b"x" * 3_000_000)
            pair.pump()
        assert incoming(link).payloads == [b"small 0", b"small 1", b"small 2"]
        assert not incoming(link).closed


# ---------------------------------------------------------------------- windows and credit


def test_more_transfers_than_a_session_counts_with_16_bits() -> None:
    turns, at_once = 70, 1_000
    with Pair(answer=taking(1 << 20, credit=2 * at_once), sniff=False) as pair:
        sender, link = pair.attach_sender()
        handler = incoming(link)
        for turn in range(turns):
            sent = transfer(sender, *(b"%d" % (turn * at_once + number) for number in range(at_once)))
            pair.pump()
            link.accept(handler.deliveries, settle=True)
            handler.deliveries.clear()
            link.grant(at_once)
            pair.pump()
            for delivery in sent:
                assert delivery.settled
                delivery.settle()
        assert handler.payloads == [b"%d" % number for number in range(turns * at_once)]
        assert sender.credit == 2 * at_once


def test_a_window_that_a_closing_link_used_up_opens_for_the_others() -> None:
    with Pair(answer=taking(1 << 20, credit=10_000), sniff=False) as pair:
        session = pair.open_session()
        lasting, link = pair.attach_sender("lasting", session=session)
        for turn in range(20):
            passing, _ = pair.attach_sender(f"passing {turn}", session=session)
            # More frames than half a window, and the detach right behind them.
            transfer(passing, *[b"x"] * 60)
            passing.close()
            transfer(lasting, *[b"y"] * 50)
            pair.pump()
        assert len(incoming(link).payloads) == 20 * 50
        assert lasting.queued == 0


@pytest.mark.parametrize("late", [0, 20])
@pytest.mark.parametrize("settled", [True, False])
def test_a_window_opens_after_a_link_that_the_bridge_ended(late: int, *, settled: bool) -> None:
    with by_hand(taking(1 << 20, credit=1_000), links=2) as pair:
        ids = itertools.count()
        first = pair.events.links[0]
        assert isinstance(first, IncomingLink)
        pair.inject(b"".join(make_transfer(next(ids), settled=settled) for _ in range(40)))
        first.oversized()
        pair.to_client()
        pair.inject(b"".join(make_transfer(next(ids), settled=settled) for _ in range(late)))
        pair.to_client()
        pair.inject(make_detach(0))
        pair.to_client()
        for _ in range(900):
            pair.inject(make_transfer(next(ids), b"y", handle=1))
            pair.to_client()
        assert len(handler_of(pair, 1).payloads) == 900
        assert not pair.over


def test_without_a_session_window_credit_alone_bounds_a_sender() -> None:
    settings = replace(SETTINGS, session_window_bytes=0)
    with Pair(answer=taking(1_000, credit=2_000), settings=settings) as pair:
        session = pair.open_session()
        large, _ = pair.attach_sender("large", session=session)
        small, link = pair.attach_sender("small", session=session)
        begin = next(frame for frame in pair.take_frames() if frame.text == "< begin")
        assert begin.fields["incoming-window"] == 2**31 - 1
        transfer(small, *[b"x"] * 1_000)
        transfer(large, b"x" * 3_000_000)
        transfer(small, *[b"x"] * 1_000)
        pair.pump()
        large.close()
        pair.pump()
        assert len(incoming(link).payloads) == 2_000
        # No flow says anything that the client did not know.
        assert "< flow" not in pair.take_names()
        assert small.credit == 0


def test_more_transfers_than_credit_end_the_link() -> None:
    with by_hand(taking(1000, credit=5), links=2) as pair:
        pair.inject(b"".join(make_transfer(number) for number in range(5)))
        assert not handler_of(pair).closed
        pair.inject(make_transfer(5))
        pair.to_client()
        assert handler_of(pair).closed == 1
        assert pair.take_frames()[-1].condition == conditions.LINK_TRANSFER_LIMIT_EXCEEDED
        pair.inject(make_transfer(6, b"other", handle=1))
        assert handler_of(pair, 1).payloads == [b"other"]
        # A client that goes on and on is not listened to any more.
        pair.inject(make_transfer(7))
        pair.to_client()
        assert pair.over
        assert pair.take_frames()[-1].condition == conditions.LINK_TRANSFER_LIMIT_EXCEEDED


def test_a_transfer_beyond_the_sessions_window_ends_the_connection() -> None:
    with by_hand() as pair:
        pair.inject(make_begin(1))
        pair.inject(make_transfer(0, channel=1))
        pair.to_client()
        assert pair.over


def test_a_large_frame_is_as_large_as_was_announced() -> None:
    with by_hand() as pair:
        overhead = len(make_transfer(0))
        pair.inject(make_transfer(0, b"x" * (FRAME_BYTES - overhead)))
        assert len(handler_of(pair).payloads) == 1
        pair.inject(make_transfer(1, b"x" * (FRAME_BYTES - overhead + 1)))
        pair.to_client()
        assert pair.over
        assert pair.take_frames()[-1].condition == "amqp:connection:framing-error"


def test_payloads_beyond_the_scratch_buffer() -> None:
    size_bytes = 3 * hot_path.SCRATCH_BYTES + 1
    client = Client()
    settings = replace(
        SETTINGS, max_frame_size_bytes=4 * hot_path.SCRATCH_BYTES, session_window_bytes=1 << 24
    )
    with Pair(answer=taking(1 << 24), client=client, settings=settings) as pair:
        sender, link = pair.attach_sender()
        [delivery] = transfer(sender, pattern(size_bytes))
        pair.pump()
        assert incoming(link).payloads == [pattern(size_bytes)]
        link.accept(incoming(link).deliveries, settle=True)
        pair.pump()
        assert delivery.remote_state == Delivery.ACCEPTED


def test_the_tag_of_a_message_that_came_settled_can_be_read_as_it_arrives() -> None:
    tags: list[bytes] = []

    class Reading(Incoming):
        def transferred(self, delivery: CData, payload: bytes, settled: bool, /) -> None:  # noqa: FBT001 - LinkHandler's form
            tags.append(native.delivery_tag(delivery))
            super().transferred(delivery, payload, settled)

    def answer(link: AnyLink) -> None:
        assert isinstance(link, IncomingLink)
        link.open(Reading(), 1 << 20)
        link.grant(10)

    with Pair(answer=answer) as pair:
        sender, _ = pair.attach_sender()
        for tag, size in (("small", 10), ("of several frames", 3 * FRAME_BYTES), ("next", 10)):
            delivery = sender.delivery(tag)
            sender.stream(b"x" * size)
            delivery.settle()
        pair.pump()
    assert tags == [b"small", b"of several frames", b"next"]
