"""Properties: how bytes are cut changes nothing, and no bytes make the engine raise."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hypothesis import example, given, settings
from hypothesis import strategies as st
from proton import Described, Link, uint, ulong
from support.frames import (
    AMQP_HEADER,
    NAMES,
    SASL_HEADER,
    in_chunks,
    make_attach,
    make_begin,
    make_detach,
    make_disposition,
    make_frame,
    make_transfer,
)
from support.wire import Client, Incoming, Outgoing, Pair, receive, transfer

from bridge.amqp.links import IncomingLink, OutgoingLink
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.outcomes import RELEASED

if TYPE_CHECKING:
    from support.wire import Cut

    from bridge.amqp.contract import AnyLink

REASON: Final = Condition(conditions.PRECONDITION_FAILED, "no key")


# ---------------------------------------------------------------------- a conversation, cut anyhow


@dataclass
class Story:
    """What both ends saw of a conversation."""

    at_bridge: list[object] = field(default_factory=list)
    at_client: list[object] = field(default_factory=list)


def tell(cut: Cut | None, *, sasl: str | None) -> Story:
    """Have a conversation of every kind of frame; gives what was seen."""
    story = Story()
    with Pair(cut=cut, client=Client(sasl=sasl), answer=lambda link: answer(link, story)) as pair:
        session = pair.open_session()
        sender, to_bridge = pair.attach_sender(session=session, rcv_settle_mode=Link.RCV_SECOND)
        refused, _ = pair.attach_sender("refused", session=session)
        receiver, from_bridge = pair.attach_receiver(session=session, credit=5)
        sent = transfer(sender, b"", b"small", b"x" * 70_000)
        sent += transfer(sender, b"settled", settled=True)
        given_up = sender.delivery("given up")
        sender.stream(b"y" * 30_000)
        pair.pump()
        given_up.abort()
        pair.pump()
        assert isinstance(to_bridge.handler, Teller)
        deliveries = to_bridge.handler.deliveries
        to_bridge.accept(deliveries[:2], settle=False)
        to_bridge.answer(deliveries[2], RELEASED, settle=True)
        sent[0].settle()
        for number in range(5):
            from_bridge.send(b"%d" % number, b"z" * 20_000 * number)
        pair.pump()
        story.at_client += receive(receiver)
        receiver.drain(3)
        pair.pump()
        story.at_client += [(delivery.remote_state, delivery.settled) for delivery in sent[:3]]
        from_bridge.detach(REASON)
        sender.detach()
        pair.pump()
        for link in (sender, receiver, refused):
            story.at_client.append((link.state, link.credit, str(link.remote_condition)))
        session.close()
        pair.client.connection.close()
        pair.pump()
        story.at_client.append((session.state, pair.client.connection.state, pair.over))
        story.at_bridge += [*pair.events.opened_by, *pair.events.closed_with]
    return story


class Teller(Incoming):
    """Writes down what happens on a link."""

    def __init__(self, story: Story) -> None:
        super().__init__()
        self.story = story

    def transferred(self, delivery: object, payload: bytes, settled: bool, /) -> None:  # noqa: FBT001 - LinkHandler's form
        super().transferred(delivery, payload, settled)
        self.story.at_bridge.append((payload, settled))

    def settled(self, delivery: object, /) -> None:
        self.story.at_bridge.append(("settled", self.deliveries.index(delivery)))

    def arriving(self, _change_bytes: int, /) -> None: ...

    def aborted(self) -> None:
        self.story.at_bridge.append("aborted")

    def close(self) -> None:
        self.story.at_bridge.append("closed")


def answer(link: AnyLink, story: Story) -> None:
    if link.request.link_name == "refused":
        link.refuse(REASON)
    elif isinstance(link, IncomingLink):
        link.open(Teller(story), 1 << 20)
        link.grant(10)
    else:
        link.open(Drains(link))


class Drains(Outgoing):
    """Gives unused credit back when it is asked to."""

    def __init__(self, link: OutgoingLink) -> None:
        super().__init__()
        self.link = link

    def batch_ended(self) -> None:
        if self.link.draining():
            self.link.drained()


WHOLE: Final = {sasl: tell(None, sasl=sasl) for sasl in (None, "ANONYMOUS")}


@given(
    sizes=st.lists(
        st.integers(1, 20_000) | st.sampled_from([1, 7, 8, 9, 4_096, 65_536]), min_size=1, max_size=8
    ),
    sasl=st.sampled_from([None, "ANONYMOUS"]),
)
@example(sizes=[1], sasl="ANONYMOUS")
@settings(max_examples=30, deadline=None)
def test_how_bytes_are_cut_changes_nothing(sizes: list[int], sasl: str | None) -> None:
    turn = itertools.cycle(sizes)
    assert tell(lambda left: min(left, next(turn)), sasl=sasl) == WHOLE[sasl]


def test_the_conversation_says_all_that_it_is_meant_to() -> None:
    story = WHOLE[None]
    assert story.at_bridge == [
        (b"", False),
        (b"small", False),
        (b"x" * 70_000, False),
        (b"settled", True),
        "aborted",
        ("settled", 0),
        "closed",
        "the-client",
        None,
    ]
    assert [len(payload) for payload in story.at_client[:5] if isinstance(payload, bytes)] == [
        20_000 * number for number in range(5)
    ]


# ---------------------------------------------------------------------- bytes that nobody should send


def feed(data: bytes, sizes: list[int]) -> None:
    """Give bytes to an engine whose links do what links do; nothing may come out but bytes."""

    def serve(link: AnyLink) -> None:
        if link.request.link_name == "refused":
            link.refuse(REASON)
        elif isinstance(link, IncomingLink):
            link.open(Answers(link), 2_500)
            link.grant(10)
        elif link.request.link_name != "pending":
            link.open(Sends(link))

    with Pair(answer=serve, sniff=False) as pair:
        for number, piece in enumerate(in_chunks(data, sizes)):
            pair.engine.receive(piece)
            if number % 3 != 1:
                pair.over = not pair.engine.flush(lambda _data: None)
            if number % 7 == 3:
                pair.engine.tick(number * 10_000 + 1)
        pair.engine.end_of_input()
        assert not pair.engine.flush(lambda _data: None)
        assert len(pair.events.closed_with) <= 1


class Answers(Incoming):
    """Accepts whatever arrives."""

    def __init__(self, link: IncomingLink) -> None:
        super().__init__()
        self.link = link

    def batch_ended(self) -> None:
        whole, self.deliveries = self.deliveries, []
        flags, self.settled_flags = self.settled_flags, []
        self.link.accept([own for own, settled in zip(whole, flags, strict=True) if not settled], settle=True)
        self.link.grant(len(whole))


class Sends(Drains):
    """Sends as long as there is credit, for a while."""

    left = 50

    def batch_ended(self) -> None:
        link = self.link
        link.settle(self.accepted_deliveries + [own for own, _ in self.outcomes])
        self.accepted_deliveries, self.outcomes = [], []
        while self.left and link.credit() > 0 and link.room_bytes() > 0:
            self.left -= 1
            link.send(b"%d" % self.left, b"payload")
        super().batch_ended()


bits = st.booleans()
few = st.integers(0, 4)
states = st.sampled_from([None, 0x23, 0x24, 0x25, 0x26, 0x27, 0x34, 0x99])


def make_receiver(handle: int, name: str) -> bytes:
    return make_frame(
        "attach",
        fields={
            "name": name,
            "handle": uint(handle),
            "role": True,
            "source": Described(ulong(0x28), ["orders"]),
            "target": Described(ulong(0x29), []),
        },
    )


def make_flow(handle: int, delivery_count: int, link_credit: int, *, drain: bool) -> bytes:
    return make_frame(
        "flow",
        fields={
            "next-incoming-id": uint(0),
            "incoming-window": uint(100),
            "next-outgoing-id": uint(0),
            "outgoing-window": uint(100),
            "handle": uint(handle),
            "delivery-count": uint(delivery_count),
            "link-credit": uint(link_credit),
            "drain": drain,
        },
    )


def make_transfer_of(delivery_id: int, size: int, handle: int, flags: tuple[bool, bool, bool]) -> bytes:
    more, settled, aborted = flags
    return make_transfer(delivery_id, b"x" * size, handle=handle, more=more, settled=settled, aborted=aborted)


frames = st.one_of(
    st.builds(
        make_transfer_of,
        few,
        st.sampled_from([0, 10, 2_000, 3_000]),
        st.integers(0, 1),
        st.tuples(bits, bits, bits),
    ),
    st.builds(make_disposition, few, few, settled=bits, state=states),
    st.builds(make_flow, few, few, st.integers(0, 100), drain=bits),
    st.builds(make_attach, st.sampled_from(["a", "b", "refused"]), few),
    st.builds(make_receiver, few, st.sampled_from(["a", "c", "pending"])),
    st.builds(make_detach, few, closed=bits),
    st.builds(make_begin, few),
    st.builds(
        lambda name, channel: make_frame(name, channel=channel), st.sampled_from(sorted(NAMES.values())), few
    ),
    st.binary(max_size=20),
)
openings: Final = (
    AMQP_HEADER
    + make_frame("open", fields={"container-id": "by-hand"})
    + make_begin()
    + make_attach("a", 0)
    + make_attach("b", 1)
    + make_receiver(2, "c")
    + make_flow(2, 0, 10, drain=False)
)


@given(data=st.binary(max_size=300), header=st.sampled_from([b"", AMQP_HEADER, SASL_HEADER]))
@settings(max_examples=200, deadline=None)
def test_random_bytes_raise_nothing(data: bytes, header: bytes) -> None:
    feed(header + data, [len(header) + len(data) or 1])


@given(parts=st.lists(frames, max_size=25), sizes=st.lists(st.integers(1, 5_000), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_frames_in_any_order_raise_nothing(parts: list[bytes], sizes: list[int]) -> None:
    # The opening comes whole, so that its answer has left before the rest.
    feed(openings + b"".join(parts), [len(openings), *sizes])


@given(
    parts=st.lists(frames, min_size=1, max_size=15),
    flips=st.lists(st.tuples(st.integers(8, 2_000), st.integers(0, 255)), min_size=1, max_size=5),
)
@settings(max_examples=200, deadline=None)
def test_damaged_frames_raise_nothing(parts: list[bytes], flips: list[tuple[int, int]]) -> None:
    data = bytearray(openings + b"".join(parts))
    for position, value in flips:
        data[min(position, len(data) - 1)] = value
    feed(bytes(data), [len(openings), 1_000])
