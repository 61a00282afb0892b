"""Large messages to receivers that take them slowly, and drains that come in the middle of one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import pytest
from proton import Delivery, Endpoint, Link
from support.wire import FRAME_BYTES, Outgoing, Pair

from bridge.amqp.links import OUTGOING_BYTES_MAX, OutgoingLink
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.outcomes import RELEASED, DeliveryState

if TYPE_CHECKING:
    from collections.abc import Callable

    from proton import Receiver, Session
    from support.frames import Frame

    from bridge.amqp.contract import AnyLink

LARGE_BYTES: Final = 16 << 20
WINDOW_FRAMES: Final = 10


class Sending(Outgoing):
    """Sends settled messages from a stock as credit and room allow, and gives unused credit back."""

    def __init__(self, link: OutgoingLink, stock: deque[bytes]) -> None:
        super().__init__()
        self.link = link
        self.stock = stock

    def batch_ended(self) -> None:
        super().batch_ended()
        link = self.link
        while self.stock and link.credit() > 0:
            if link.room_bytes() <= 0:
                return
            link.send_settled(b"%d" % len(self.stock), self.stock.popleft())
        link.sent()
        if link.credit() > 0 and link.draining():
            link.drained()


def sending(*payloads: bytes) -> Callable[[AnyLink], None]:
    stock = deque(payloads)

    def answer(link: AnyLink) -> None:
        assert isinstance(link, OutgoingLink)
        link.open(Sending(link, stock))

    return answer


def stock_of(link: OutgoingLink) -> deque[bytes]:
    assert isinstance(link.handler, Sending)
    return link.handler.stock


def narrow_session(pair: Pair, frames: int) -> Session:
    """Open a session whose client takes so many frames, and more only once it has read them."""
    pair.client.connection.open()
    session = pair.client.connection.session()
    session.incoming_capacity = frames * FRAME_BYTES
    session.open()
    return session


def read_some(receiver: Receiver) -> tuple[bytes, bool]:
    """Read what there is of the current message; tell whether it is its end."""
    delivery = receiver.current
    if delivery is None:
        return b"", False
    piece = bytes(receiver.recv(delivery.pending) or b"") if delivery.pending else b""
    if delivery.partial:
        return piece, False
    receiver.advance()
    delivery.settle()
    return piece, True


def read_whole(pair: Pair, receiver: Receiver) -> bytes:
    """Read one message, which comes in as many pieces as the session's window makes of it."""
    pieces = []
    whole = False
    while not whole:
        piece, whole = read_some(receiver)
        assert piece or whole, "nothing comes any more"
        pieces.append(piece)
        pair.pump()
    return b"".join(pieces)


def last_flow(pair: Pair) -> Frame:
    return [frame for frame in pair.take_frames() if frame.text == "< flow"][-1]


def payload(number: int, size_bytes: int) -> bytes:
    return (b"%d" % number) * size_bytes


# ---------------------------------------------------------------------- slow receivers


def test_sixteen_megabytes_leave_through_a_window_of_ten_frames() -> None:
    large = [payload(1, LARGE_BYTES), b"small", payload(2, LARGE_BYTES)]
    with Pair(answer=sending(*large), sniff=False) as pair:
        receiver, link = pair.attach_receiver(session=narrow_session(pair, WINDOW_FRAMES), credit=10)
        # One of them fills the room that there is; the others stay where they are.
        assert len(stock_of(link)) == 2
        assert receiver.session.incoming_bytes <= WINDOW_FRAMES * FRAME_BYTES
        assert [read_whole(pair, receiver) == expected for expected in large] == [True] * 3


def test_of_large_messages_one_is_held_for_a_slow_socket() -> None:
    large = [payload(number, LARGE_BYTES) for number in range(3)]
    with Pair(answer=sending(*large), sniff=False) as pair:
        receiver, link = pair.attach_receiver()
        receiver.flow(10)
        pair.to_bridge()
        stock = stock_of(link)
        pieces: list[int] = []
        held: list[int] = []

        def write(data: bytes) -> None:
            pieces.append(len(data))
            pair.engine.congested = True
            pair.client.input(data)

        read_bytes = 0
        while True:
            pair.engine.congested = False
            before = len(pieces)
            assert pair.engine.flush(write)
            if len(pieces) == before:
                break
            # Each time that the socket takes something, it is one piece.
            assert len(pieces) == before + 1
            while receiver.current is not None and (piece := read_some(receiver)[0]):
                read_bytes += len(piece)
            held.append((3 - len(stock)) * LARGE_BYTES - read_bytes)
        assert read_bytes == 3 * LARGE_BYTES
        assert max(pieces) <= 1 << 18
        # Never more than one of them, and what is left of the one before.
        assert max(held) <= LARGE_BYTES + (1 << 20)


def test_large_messages_of_two_links_share_a_narrow_session() -> None:
    with Pair() as pair:
        session = narrow_session(pair, 2)
        large = {name: payload(number, 2_000_000) for number, name in enumerate(("first", "second"))}
        receivers = []
        for name, message in large.items():
            receiver, link = pair.attach_receiver(name, session=session, credit=2)
            assert link.room_bytes() > 0
            link.send(b"large", message)
            assert (link.room_bytes(), link.credit()) == (0, 1)
            receivers.append(receiver)
        pair.pump()
        got = {receiver.name: b"" for receiver in receivers}
        while any(len(got[name]) < len(message) for name, message in large.items()):
            pieces = [(receiver.name, read_some(receiver)[0]) for receiver in receivers]
            assert any(piece for _, piece in pieces), "nothing comes any more"
            for name, piece in pieces:
                got[name] += piece
            pair.pump()
        assert got == large
        assert [link.room_bytes() for link in pair.events.links if isinstance(link, OutgoingLink)] == [
            OUTGOING_BYTES_MAX
        ] * 2


def test_messages_that_do_not_wait_for_room_come_whole_and_in_order() -> None:
    messages = [payload(1, 2_000_000), b"small", payload(2, 2_000_000), b""]
    with Pair() as pair:
        receiver, link = pair.attach_receiver(session=narrow_session(pair, 2), credit=10)
        for number, message in enumerate(messages):
            (link.send if number % 2 else link.send_settled)(b"%d" % number, message)
        link.sent()
        pair.pump()
        assert [read_whole(pair, receiver) for _ in messages] == messages
        assert link.credit() == 6


@pytest.mark.parametrize("settled", [True, False])
def test_a_bridge_that_detaches_in_the_middle_of_a_message_finishes_it_if_nobody_sends_it_again(
    *, settled: bool
) -> None:
    large = payload(1, 2_000_000)
    with Pair() as pair:
        session = narrow_session(pair, 2)
        receiver, link = pair.attach_receiver(session=session, credit=2)
        (link.send_settled if settled else link.send)(b"large", large)
        pair.pump()
        link.detach(Condition(conditions.LINK_DETACH_FORCED, "the bridge is shutting down"))
        pair.pump()
        got = b""
        while receiver.current is not None and (piece := read_some(receiver)[0]):
            got += piece
            pair.pump()
        assert got == large if settled else len(got) < len(large)
        assert receiver.state & Endpoint.REMOTE_CLOSED
        receiver.close()
        pair.pump()
        second, link = pair.attach_receiver("second", session=session, credit=1)
        assert link.room_bytes() > 0
        link.send(b"after", large)
        pair.pump()
        assert read_whole(pair, second) == large


def test_a_receiver_may_go_in_the_middle_of_a_message() -> None:
    large = payload(1, 2_000_000)
    with Pair() as pair:
        session = narrow_session(pair, 2)
        receiver, link = pair.attach_receiver(session=session, credit=2)
        link.send(b"large", large)
        pair.pump()
        receiver.close()
        pair.pump()
        # What has arrived of it takes up the window until its link is gone.
        receiver.free()
        second, link = pair.attach_receiver("second", session=session, credit=1)
        link.send(b"after", large)
        pair.pump()
        assert read_whole(pair, second) == large
        assert pair.engine.links == [link]


def test_an_outcome_that_does_not_hold_is_overruled_at_the_end_of_a_message() -> None:
    large = payload(1, 2_000_000)
    with Pair() as pair:
        receiver, link = pair.attach_receiver(
            session=narrow_session(pair, 2), credit=2, rcv_settle_mode=Link.RCV_SECOND
        )
        own = link.send(b"large", large)
        pair.pump()
        delivery = receiver.current
        assert delivery is not None
        delivery.update(Delivery.ACCEPTED)
        pair.pump()
        link.settle_as([own], RELEASED)
        assert not delivery.settled
        assert read_whole(pair, receiver) == large
        last = [frame for frame in pair.take_frames() if frame.name == "transfer"][-1]
        assert (last.state_code, last.fields["settled"]) == (DeliveryState.RELEASED, True)
        assert link.room_bytes() > 0


# ---------------------------------------------------------------------- drains


@pytest.mark.parametrize("drained_at", [0, 1, 5])
def test_a_drain_in_the_middle_of_a_message_is_answered_at_its_end(drained_at: int) -> None:
    large = payload(7, 1_000_000)
    with Pair(answer=sending(large)) as pair:
        receiver, link = pair.attach_receiver(session=narrow_session(pair, 2), credit=3)
        pieces = []
        for _ in range(drained_at):
            piece, whole = read_some(receiver)
            assert not whole
            pieces.append(piece)
            pair.pump()
        receiver.drain(4)
        pair.pump()
        assert receiver.draining()
        pieces.append(read_whole(pair, receiver))
        assert b"".join(pieces) == large
        assert not receiver.draining()
        assert (receiver.credit, link.credit()) == (0, 0)
        flow = last_flow(pair)
        assert (flow.fields["link-credit"], flow.fields["delivery-count"]) == (0, 7)
        # Credit counts from there.
        stock_of(link).append(b"after")
        receiver.flow(1)
        pair.pump()
        assert read_whole(pair, receiver) == b"after"


def test_a_drain_that_the_last_message_used_up_needs_no_answer() -> None:
    with Pair(answer=sending(payload(7, 1_000_000))) as pair:
        receiver, link = pair.attach_receiver(session=narrow_session(pair, 2), credit=1)
        receiver.drain(0)
        pair.pump()
        assert len(read_whole(pair, receiver)) == 1_000_000
        assert not receiver.draining()
        assert link.credit() == 0


def test_drains_one_after_the_other_count_on() -> None:
    with Pair(answer=sending(b"1", b"2")) as pair:
        receiver, link = pair.attach_receiver()
        for credit, count in ((5, 5), (4, 9), (1, 10)):
            receiver.drain(credit)
            pair.pump()
            flow = last_flow(pair)
            assert (flow.fields["link-credit"], flow.fields["delivery-count"]) == (0, count)
            assert flow.fields["drain"] is True
            assert link.credit() == 0
        assert not receiver.draining()


def test_a_drain_may_be_answered_later() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver()
        receiver.drain(10)
        pair.pump()
        assert link.draining()
        assert (link.credit(), receiver.draining()) == (10, True)
        link.send_settled(b"1", b"one")
        link.sent()
        pair.pump()
        assert read_whole(pair, receiver) == b"one"
        assert (link.draining(), link.credit()) == (True, 9)
        link.drained()
        pair.pump()
        assert not receiver.draining()
        flow = last_flow(pair)
        assert (flow.fields["link-credit"], flow.fields["delivery-count"]) == (0, 10)


def test_a_drain_that_the_receiver_took_back_gives_nothing_back() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver()
        receiver.drain(10)
        pair.pump()
        # Credit that comes without the flag means it.
        receiver.flow(1)
        pair.pump()
        assert not link.draining()
        pair.take_frames()
        link.drained()
        pair.pump()
        assert pair.take_frames() == []
        assert link.credit() == 11


def test_nothing_is_drained_that_nobody_asked_for() -> None:
    with Pair() as pair:
        _, link = pair.attach_receiver(credit=10)
        pair.take_frames()
        link.drained()
        pair.pump()
        assert pair.take_frames() == []
        assert link.credit() == 10
