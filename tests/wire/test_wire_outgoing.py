"""Transfers from the bridge: credit, drain, windows, and a peer that takes them slowly or not at all."""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from proton import Delivery, Receiver
from support.wire import SETTINGS, Client, Outgoing, Pair, outgoing, receive

from bridge.amqp.links import OUTGOING_BYTES_MAX, OutgoingLink
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from proton import Session

    from bridge.amqp.contract import AnyLink

LARGE_BYTES: Final = 10_000_000
NARROW_WINDOW_BYTES: Final = 1 << 17


class Pump(Outgoing):
    """Sends from a stock what credit and room allow, and gives unused credit back, as the sink does."""

    def __init__(self, link: OutgoingLink, stock: deque[bytes], *, settled: bool = False) -> None:
        super().__init__()
        self.link = link
        self.stock = stock
        self.settled = settled
        self.numbers = itertools.count()
        self.waited_for_room = 0

    def batch_ended(self) -> None:
        super().batch_ended()
        link = self.link
        if self.accepted_deliveries:
            link.settle(self.accepted_deliveries)
            self.accepted_deliveries = []
        credit = link.credit()
        while self.stock and credit > 0:
            room = link.room_bytes()
            if room <= 0:
                self.waited_for_room += 1
                return
            credit -= 1
            tag, payload = b"%d" % next(self.numbers), self.stock.popleft()
            if self.settled:
                link.send_settled(tag, payload)
            else:
                link.send(tag, payload)
        link.sent()
        if credit > 0 and link.draining():
            link.drained()


def pumping(stock: deque[bytes], *, settled: bool = False) -> Callable[[AnyLink], None]:
    """Answer attaches of receivers: all send from one stock."""

    def answer(link: AnyLink) -> None:
        assert isinstance(link, OutgoingLink)
        link.open(Pump(link, stock, settled=settled))

    return answer


def pump_of(link: OutgoingLink) -> Pump:
    assert isinstance(link.handler, Pump)
    return link.handler


def narrow_session(pair: Pair) -> Session:
    """Open a session whose client takes two frames, and more only once it has read them."""
    pair.client.connection.open()
    session = pair.client.connection.session()
    session.incoming_capacity = NARROW_WINDOW_BYTES
    session.open()
    return session


def read_all(pair: Pair, receiver: Receiver) -> list[bytes]:
    """Read as long as something comes."""
    payloads: list[bytes] = []
    while new := receive(receiver):
        payloads += new
        pair.pump()
    return payloads


# ---------------------------------------------------------------------- sizes


@pytest.mark.parametrize("cut", [None, lambda left: min(left, 1_021)])
def test_ten_megabytes_leave_in_many_frames(cut: Callable[[int], int] | None) -> None:
    payload = b"".join(number.to_bytes(4, "big") for number in range(LARGE_BYTES // 4))
    with Pair(cut=cut, sniff=False) as pair:
        receiver, link = pair.attach_receiver(credit=10)
        link.send(b"1", payload)
        link.send(b"2", b"")
        link.send_settled(b"3", b"after")
        link.sent()
        pair.pump()
        assert receive(receiver) == [payload, b"", b"after"]
        pair.pump()
        assert len(outgoing(link).accepted_deliveries) == 2


def test_bytes_may_leave_one_by_one() -> None:
    with Pair(cut=lambda _left: 1) as pair:
        receiver, link = pair.attach_receiver(credit=10)
        link.send(b"1", b"x" * 70_000)
        pair.pump()
        assert receive(receiver) == [b"x" * 70_000]


def test_frames_are_no_larger_than_the_client_takes() -> None:
    client = Client()
    client.transport.max_frame_size = 512
    with Pair(client=client) as pair:
        receiver, link = pair.attach_receiver(credit=1)
        link.send(b"1", b"x" * 5_000)
        pair.pump()
        transfers = [frame for frame in pair.take_frames() if frame.name == "transfer"]
        assert len(transfers) == 11
        assert all(len(frame.payload) < 512 for frame in transfers)
        assert receive(receiver) == [b"x" * 5_000]


@pytest.mark.parametrize("settled", [True, False])
def test_more_transfers_than_a_session_counts_with_16_bits(*, settled: bool) -> None:
    expected = [b"%d" % number for number in range(70_000)]
    with Pair(answer=pumping(deque(expected), settled=settled), sniff=False) as pair:
        receiver, link = pair.attach_receiver(credit=2_000)
        got: list[bytes] = []
        while new := receive(receiver):
            got += new
            receiver.flow(len(new))
            pair.pump()
        assert got == expected
        assert not pump_of(link).stock


# ---------------------------------------------------------------------- credit and drain


def test_nothing_is_sent_without_credit() -> None:
    with Pair(answer=pumping(deque([b"1", b"2", b"3", b"4"]))) as pair:
        receiver, link = pair.attach_receiver()
        assert link.credit() == 0
        assert receive(receiver) == []
        receiver.flow(2)
        pair.pump()
        assert receive(receiver) == [b"1", b"2"]
        receiver.flow(1)
        pair.pump()
        assert receive(receiver) == [b"3"]


def test_a_drain_with_nothing_to_send_is_answered_at_once() -> None:
    with Pair(answer=pumping(deque())) as pair:
        receiver, link = pair.attach_receiver()
        receiver.drain(10)
        pair.pump()
        assert not receiver.draining()
        assert receiver.credit == 0
        assert link.credit() == 0
        flow = pair.take_frames()[-1]
        assert flow.text == "< flow"
        assert (flow.fields["link-credit"], flow.fields["delivery-count"]) == (0, 10)


def test_a_drain_sends_what_is_there_and_gives_the_rest_back() -> None:
    with Pair(answer=pumping(deque([b"1", b"2"]))) as pair:
        receiver, link = pair.attach_receiver()
        receiver.drain(10)
        pair.pump()
        assert receive(receiver) == [b"1", b"2"]
        assert not receiver.draining()
        # Credit works as before afterwards.
        pump_of(link).stock.append(b"3")
        receiver.flow(1)
        pair.pump()
        assert receive(receiver) == [b"3"]


def test_a_drain_is_answered_when_the_messages_before_it_have_left() -> None:
    stock = [b"%02d" % number + b"x" * 20_000 for number in range(30)]
    with Pair(answer=pumping(deque(stock))) as pair:
        receiver, _ = pair.attach_receiver(session=narrow_session(pair), credit=30)
        assert receiver.queued < 30
        receiver.drain(70)
        pair.pump()
        # The messages wait for the session's window; the drain waits behind them.
        assert receiver.draining()
        assert read_all(pair, receiver) == stock
        assert not receiver.draining()
        assert receiver.credit == 0


def test_credit_that_is_taken_back_is_not_used() -> None:
    with Pair(answer=pumping(deque())) as pair:
        receiver, link = pair.attach_receiver(credit=10)
        assert link.credit() == 10
        receiver.drain(0)
        pair.pump()
        pump_of(link).stock.append(b"late")
        pump_of(link).batch_ended()
        pair.pump()
        assert receive(receiver) == []


# ---------------------------------------------------------------------- back-pressure


def test_a_closed_window_holds_messages_back_and_room_comes_with_it() -> None:
    stock = [b"%03d" % number + b"x" * 20_000 for number in range(200)]
    with Pair(answer=pumping(deque(stock))) as pair:
        receiver, link = pair.attach_receiver(session=narrow_session(pair), credit=1_000)
        pump = pump_of(link)
        # The client takes 128 KiB, the bridge holds a MiB, and the rest stays where it was.
        assert pump.waited_for_room > 0
        taken = len(stock) - len(pump.stock)
        assert OUTGOING_BYTES_MAX <= taken * 20_003 <= OUTGOING_BYTES_MAX + 2 * NARROW_WINDOW_BYTES
        waited, batches = pump.waited_for_room, pump.batches
        pair.pump()
        assert link.room_bytes() == 0
        # As long as nothing leaves, nothing is asked again and again.
        assert pump.waited_for_room - waited <= 2
        assert pump.batches - batches <= 2
        assert read_all(pair, receiver) == stock
        assert link.room_bytes() == OUTGOING_BYTES_MAX


def test_a_congested_socket_gets_nothing_more_until_it_takes_more() -> None:
    stock = [b"%04d" % number + b"x" * 10_000 for number in range(300)]
    with Pair(answer=pumping(deque(stock))) as pair:
        receiver, link = pair.attach_receiver()
        pump = pump_of(link)
        receiver.flow(1_000)
        pair.to_bridge()
        written: list[bytes] = []

        def write(data: bytes) -> None:
            written.append(data)
            pair.engine.congested = True

        assert pair.engine.flush(write)
        assert len(written) == 1
        assert link.room_bytes() == 0
        left = len(pump.stock)
        assert left > 0
        assert pair.engine.flush(write)
        assert len(written) == 1
        # What the socket takes is followed by more, from proton first and then from the link.
        while pump.stock:
            pair.engine.congested = False
            assert pair.engine.flush(write)
        pair.engine.congested = False
        pair.engine.flush(written.append)
        pair.client.input(b"".join(written))
        assert receive(receiver) == stock


def test_a_link_that_found_the_socket_congested_is_called_when_it_is_free_again() -> None:
    with Pair() as pair:
        _, link = pair.attach_receiver(credit=1)
        pair.engine.congested = True
        assert link.room_bytes() == 0
        batches = outgoing(link).batches
        pair.engine.flush(lambda _data: pytest.fail("the socket is congested"))
        assert outgoing(link).batches == batches
        pair.engine.congested = False
        # There is not one byte to write, and the link learns of it all the same.
        pair.engine.flush(lambda _data: None)
        assert outgoing(link).batches == batches + 1


def test_blocked_links_that_end_are_forgotten() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=1)
        pair.engine.congested = True
        assert link.room_bytes() == 0
        receiver.close()
        pair.to_bridge()
        batches = outgoing(link).batches
        pair.engine.congested = False
        pair.pump()
        assert outgoing(link).batches == batches
        assert outgoing(link).closed == 1


def test_a_blocked_link_that_another_one_ends_is_not_called() -> None:
    with Pair() as pair:
        session = pair.open_session()
        _, first = pair.attach_receiver("first", session=session, credit=1)
        _, second = pair.attach_receiver("second", session=session, credit=1)

        class EndsTheOther(Outgoing):
            def batch_ended(self) -> None:
                second.end()

        first.handler = EndsTheOther()
        pair.engine.congested = True
        assert (first.room_bytes(), second.room_bytes()) == (0, 0)
        pair.engine.congested = False
        batches = outgoing(second).batches
        pair.pump()
        assert outgoing(second).closed == 1
        assert outgoing(second).batches == batches


# ---------------------------------------------------------------------- links that end with messages waiting


@pytest.mark.parametrize("waiting", [10, 100])
def test_a_link_that_ends_with_messages_waiting_leaves_room_for_the_next(waiting: int) -> None:
    stock = deque([b"x" * 20_000] * waiting)
    with Pair(answer=pumping(stock)) as pair:
        session = narrow_session(pair)
        receiver, _ = pair.attach_receiver("first", session=session, credit=waiting)
        receiver.close()
        pair.pump()
        session.incoming_capacity = 10 * NARROW_WINDOW_BYTES
        stock.clear()
        stock.extend([b"y" * 20_000] * 200)
        second, link = pair.attach_receiver("second", session=session, credit=200)
        assert read_all(pair, second) == [b"y" * 20_000] * 200
        assert 0 < link.room_bytes() <= OUTGOING_BYTES_MAX


def test_a_bridge_that_detaches_lets_the_messages_before_go_first() -> None:
    stock = [b"%02d" % number + b"x" * 20_000 for number in range(20)]
    with Pair(answer=pumping(deque(stock))) as pair:
        receiver, link = pair.attach_receiver(session=narrow_session(pair), credit=20)
        link.refuse(CONDITION)
        pair.pump()
        assert receiver.state & Receiver.REMOTE_ACTIVE
        assert read_all(pair, receiver) == stock
        assert receiver.state & Receiver.REMOTE_CLOSED


def test_a_bridge_that_closes_does_not_wait_for_a_closed_window() -> None:
    with Pair(answer=pumping(deque([b"x" * 20_000] * 20))) as pair:
        pair.attach_receiver(session=narrow_session(pair), credit=20)
        pair.engine.close(CONDITION)
        pair.pump()
        assert pair.over
        assert pair.client.connection.state & Receiver.REMOTE_CLOSED


@pytest.mark.parametrize("mode", [Receiver.RCV_FIRST, Receiver.RCV_SECOND])
def test_late_outcomes_on_a_link_that_the_bridge_ended_are_nobodys(mode: int) -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=5, rcv_settle_mode=mode)
        link.send(b"1", b"1")
        link.send(b"2", b"2")
        pair.pump()
        link.detach(CONDITION)
        pair.pump()
        pair.take_frames()
        while (delivery := receiver.current) is not None:
            receiver.recv(10)
            receiver.advance()
            delivery.update(Delivery.ACCEPTED)
            if mode == Receiver.RCV_FIRST:
                delivery.settle()
        pair.pump()
        assert outgoing(link).accepted_deliveries == []
        assert outgoing(link).outcomes == []
        receiver.close()
        pair.pump()
        # Nothing is settled as if the outcome had counted.
        assert "< disposition" not in pair.take_names()
        assert not pair.over


CONDITION: Final = conditions.Condition(conditions.LINK_DETACH_FORCED, "the bridge is shutting down")


def test_windows_are_kept_to_with_small_frames_as_well() -> None:
    settings = replace(SETTINGS, max_frame_size_bytes=512, session_window_bytes=512 * 4)
    stock = [b"x" * 10_000] * 50
    with Pair(answer=pumping(deque(stock)), settings=settings) as pair:
        receiver, _ = pair.attach_receiver(session=narrow_session(pair), credit=1_000)
        assert read_all(pair, receiver) == stock
