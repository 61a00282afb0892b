"""What receivers say of deliveries: outcomes with all that belongs to them, in every order and form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from proton import Condition as ClientsCondition
from proton import Delivery, Described, Link, int32, symbol, ulong
from support.frames import make_disposition, make_frame
from support.wire import Outgoing, Pair, outgoing

from bridge import codec
from bridge.amqp.links import OutgoingLink
from bridge.model.conditions import Condition
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.amqp.contract import AnyLink
    from bridge.amqp.native import CData

RECEIVED, REJECTED, MODIFIED = 0x23, 0x25, 0x27
NONE = Outcome(DeliveryState.NONE)


class Machine(Outgoing):
    """Settles at the end of a batch what was answered in it; the first answer counts. The sink does so."""

    def __init__(self, link: OutgoingLink) -> None:
        super().__init__()
        self.link = link
        self.unsettled: dict[CData, int] = {}
        self.told: list[tuple[int, Outcome]] = []
        self.repeated = 0
        self._settling: list[CData] = []

    def send(self, count: int) -> None:
        """Send so many messages; they are known by their delivery-ids."""
        for _ in range(count):
            number = len(self.unsettled)
            self.unsettled[self.link.send(b"%d" % number, b"x")] = number
        self.link.sent()

    def accepted(self, delivery: CData, /) -> None:
        self.disposed(delivery, ACCEPTED)

    def disposed(self, delivery: CData, outcome: Outcome, /) -> None:
        number = self.unsettled.pop(delivery, None)
        if number is None:
            self.repeated += 1
        else:
            self.told.append((number, outcome))
            self._settling.append(delivery)

    def batch_ended(self) -> None:
        settling, self._settling = self._settling, []
        self.link.settle(settling)


def with_machine(link: AnyLink) -> None:
    assert isinstance(link, OutgoingLink)
    link.open(Machine(link))


@pytest.fixture(params=[Link.RCV_FIRST, Link.RCV_SECOND], ids=["first", "second"])
def wire(request: pytest.FixtureRequest) -> Iterator[tuple[Pair, Machine]]:
    """Give a receiver's link on which five messages were sent, in both of its settle modes."""
    with Pair(answer=with_machine) as pair:
        _, link = pair.attach_receiver(credit=100, rcv_settle_mode=request.param)
        assert isinstance(link.handler, Machine)
        link.handler.send(5)
        pair.to_client()
        pair.take_frames()
        yield pair, link.handler


def disposition(first: int, last: int | None = None, **said: Any) -> bytes:  # noqa: ANN401 - make_disposition's
    """Make a receiver's disposition; it says that the deliveries are settled, unless told otherwise."""
    return make_disposition(first, last, receiver=True, **{"settled": True, **said})


def settled_by_the_bridge(pair: Pair) -> list[int]:
    """Give the delivery-ids that the bridge told its peer to be settled, in their order."""
    pair.to_client()
    frames = [frame for frame in pair.take_frames() if frame.text == "< disposition"]
    assert all(frame.fields["settled"] for frame in frames)
    ranges = [(frame.fields["first"], frame.fields.get("last", frame.fields["first"])) for frame in frames]
    return sorted(number for first, last in ranges for number in range(first, last + 1))


# ---------------------------------------------------------------------- in every order


def test_a_range_is_told_of_each_delivery_in_it(wire: tuple[Pair, Machine]) -> None:
    pair, machine = wire
    pair.inject(disposition(1, 3, state=DeliveryState.ACCEPTED))
    assert sorted(machine.told) == [(1, ACCEPTED), (2, ACCEPTED), (3, ACCEPTED)]


@pytest.mark.parametrize(("first", "last"), [(0, 10_000), (0, 2**31 - 1), (4_294_967_290, 4)])
def test_a_range_may_reach_beyond_what_was_sent(wire: tuple[Pair, Machine], first: int, last: int) -> None:
    pair, machine = wire
    pair.inject(disposition(first, last, state=DeliveryState.RELEASED))
    assert sorted(number for number, _ in machine.told) == [0, 1, 2, 3, 4]
    assert {outcome for _, outcome in machine.told} == {RELEASED}
    assert not pair.over


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("at_once", [True, False])
def test_ranges_may_overlap(wire: tuple[Pair, Machine], *, settled: bool, at_once: bool) -> None:
    pair, machine = wire
    ranges = [(0, 2), (2, 4), (1, 3), (0, 4)]
    frames = [
        disposition(first, last, state=DeliveryState.ACCEPTED, settled=settled) for first, last in ranges
    ]
    for data in [b"".join(frames)] if at_once else frames:
        pair.inject(data)
    assert sorted(machine.told) == [(number, ACCEPTED) for number in range(5)]
    # What the peer has settled needs no answer; each of the others has exactly one.
    assert settled_by_the_bridge(pair) == ([] if settled else [0, 1, 2, 3, 4])


def test_the_first_of_two_different_outcomes_counts(wire: tuple[Pair, Machine]) -> None:
    pair, machine = wire
    pair.inject(disposition(0, state=DeliveryState.ACCEPTED, settled=False))
    assert settled_by_the_bridge(pair) == [0]
    pair.inject(disposition(0, state=DeliveryState.RELEASED))
    assert machine.told == [(0, ACCEPTED)]
    assert machine.repeated == 0, "nobody hears of a delivery that is settled"


def test_a_second_outcome_may_cross_the_settlement(wire: tuple[Pair, Machine]) -> None:
    pair, machine = wire
    pair.inject(disposition(0, state=DeliveryState.ACCEPTED, settled=False))
    pair.inject(disposition(0, state=DeliveryState.RELEASED))
    assert machine.told == [(0, ACCEPTED)]
    assert settled_by_the_bridge(pair) == [], "the peer has settled it"


def test_of_two_outcomes_that_come_together_one_counts(wire: tuple[Pair, Machine]) -> None:
    pair, machine = wire
    first = disposition(0, state=DeliveryState.ACCEPTED, settled=False)
    pair.inject(first + disposition(0, state=DeliveryState.RELEASED))
    # Both are there before the first is looked at: it is the later one then, and it is told once.
    assert machine.told == [(0, RELEASED)]
    assert machine.repeated <= 1


def test_a_link_that_is_not_settled_yet_hears_of_each_change_of_mind() -> None:
    with Pair() as pair:
        _, link = pair.attach_receiver(credit=1, rcv_settle_mode=Link.RCV_SECOND)
        delivery = link.send(b"tag", b"x")
        pair.to_client()
        pair.inject(disposition(0, state=DeliveryState.ACCEPTED, settled=False))
        pair.inject(disposition(0, state=DeliveryState.RELEASED, settled=False))
        handler = outgoing(link)
        assert (handler.accepted_deliveries, handler.outcomes) == ([delivery], [(delivery, RELEASED)])
        link.settle([delivery])
        assert settled_by_the_bridge(pair) == [0]
        pair.inject(disposition(0, state=DeliveryState.ACCEPTED))
        assert len(handler.accepted_deliveries) == 1


def test_how_far_a_receiver_got_is_no_outcome_until_it_settles(wire: tuple[Pair, Machine]) -> None:
    pair, machine = wire
    got: dict[str, Any] = {"state": RECEIVED, "state_fields": [int32(0), ulong(1)]}
    pair.inject(disposition(0, 4, settled=False, **got))
    assert machine.told == []
    pair.inject(disposition(0, state=DeliveryState.ACCEPTED))
    pair.inject(disposition(1, **got))
    assert machine.told == [(0, ACCEPTED), (1, NONE)]


def test_a_settlement_without_an_outcome_is_told_as_none(wire: tuple[Pair, Machine]) -> None:
    pair, machine = wire
    pair.inject(disposition(0, 1) + disposition(2, 2, settled=False))
    # The last of them says nothing at all.
    assert sorted(number for number, _ in machine.told) == [0, 1]
    assert {outcome for _, outcome in machine.told} == {NONE}


def test_an_outcome_and_its_settlement_may_come_one_after_the_other(wire: tuple[Pair, Machine]) -> None:
    pair, machine = wire
    pair.inject(disposition(0, 4, state=DeliveryState.ACCEPTED, settled=False))
    assert settled_by_the_bridge(pair) == [0, 1, 2, 3, 4]
    pair.inject(disposition(0, 4))
    assert sorted(machine.told) == [(number, ACCEPTED) for number in range(5)]
    assert settled_by_the_bridge(pair) == []


def test_outcomes_after_the_detach_are_nobodys(wire: tuple[Pair, Machine]) -> None:
    pair, machine = wire
    detach = make_frame("detach", fields={"handle": 0, "closed": True})
    pair.inject(
        disposition(0, state=DeliveryState.ACCEPTED) + detach + disposition(1, state=DeliveryState.ACCEPTED)
    )
    assert machine.told == [(0, ACCEPTED)]
    assert machine.closed == 1
    assert settled_by_the_bridge(pair) == []
    assert not pair.over


def test_a_delivery_is_answered_while_its_later_frames_wait() -> None:
    with Pair(answer=with_machine) as pair:
        pair.client.connection.open()
        session = pair.client.connection.session()
        session.incoming_capacity = 1 << 17
        session.open()
        receiver, link = pair.attach_receiver(session=session, credit=2)
        machine = link.handler
        assert isinstance(machine, Machine)
        machine.unsettled[link.send(b"large", b"x" * 1_000_000)] = 0
        pair.pump()
        assert receiver.current is not None
        assert receiver.current.partial
        pair.inject(disposition(0, state=REJECTED))
        assert [(number, outcome.state) for number, outcome in machine.told] == [(0, REJECTED)]
        # The rest of it leaves, and what comes after.
        while (delivery := receiver.current) is not None and delivery.partial:
            receiver.recv(delivery.pending)
            pair.pump()
        receiver.recv(1 << 20)
        receiver.advance()
        machine.send(1)
        pair.pump()
        assert receiver.current is not None
        assert receiver.recv(10) == b"x"


# ---------------------------------------------------------------------- what belongs to them


def answered(pair: Pair, state: int, fields: list[Any], *, swap: tuple[bytes, bytes] = (b"", b"")) -> Outcome:
    """Answer a message with this state, some of its bytes swapped, and give what the bridge was told."""
    link = pair.events.links[0]
    assert isinstance(link, OutgoingLink)
    link.send(b"tag", b"x")
    pair.to_client()
    data = disposition(0, state=state, state_fields=fields)
    assert swap[0] in data
    pair.engine.receive(data.replace(*swap) if swap[0] else data)
    [(_, outcome)] = outgoing(link).outcomes
    return outcome


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Give a receiver's link that waits for a message."""
    with Pair() as made:
        made.attach_receiver(credit=1)
        yield made


def test_annotations_of_a_modified_message_are_told_encoded(pair: Pair) -> None:
    annotations = {
        symbol("x-opt-reason"): "busy",
        symbol("x-opt-count"): int32(3),
        symbol("deep"): {"a": [1]},
    }
    outcome = answered(pair, MODIFIED, [True, False, annotations])
    assert (outcome.delivery_failed, outcome.undeliverable_here) == (True, False)
    decoded, end = codec.decode(outcome.annotations)
    assert end == len(outcome.annotations)
    assert isinstance(decoded, codec.Map)
    assert [(type(key), key) for key, _ in decoded] == [
        (codec.Symbol, name) for name in ("x-opt-reason", "x-opt-count", "deep")
    ]
    assert [value for _, value in decoded] == ["busy", 3, codec.Map([("a", [1])])]
    assert isinstance(decoded[1][1], codec.Int)


@pytest.mark.parametrize("annotations", [None, {}, int32(7), "text", [1, 2]], ids=repr)
def test_what_are_no_annotations_are_none(pair: Pair, annotations: Any) -> None:  # noqa: ANN401 - an AMQP value
    assert answered(pair, MODIFIED, [True, False, annotations]) == MODIFIED_FAILED


def test_damaged_annotations_are_none(pair: Pair) -> None:
    annotations = {symbol("key"): "zz"}
    not_utf_8 = (b"\xa1\x02zz", b"\xa1\x02\xff\xfe")
    assert answered(pair, MODIFIED, [True, False, annotations], swap=not_utf_8) == MODIFIED_FAILED


def test_deep_annotations_are_none(pair: Pair) -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    assert answered(pair, MODIFIED, [True, False, {symbol("key"): deep}]) == MODIFIED_FAILED


def test_a_rejection_is_told_with_what_its_error_says(pair: Pair) -> None:
    info: Any = {
        symbol("code"): int32(7),
        symbol("why"): "no key",
        symbol("left out"): [1],
        symbol("retry"): True,
    }
    error = Described(ulong(0x1D), [symbol("app:bad"), "a bad message", info])
    assert answered(pair, REJECTED, [error]) == Outcome(
        DeliveryState.REJECTED,
        Condition("app:bad", "a bad message", {"code": 7, "why": "no key", "retry": True}),
    )


def test_a_rejection_needs_no_error(pair: Pair) -> None:
    assert answered(pair, REJECTED, []) == Outcome(DeliveryState.REJECTED)


def test_a_clients_own_way_to_say_so_is_understood() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=2)
        for number in range(2):
            link.send(b"%d" % number, b"x")
        pair.pump()
        for state in (Delivery.REJECTED, Delivery.MODIFIED):
            delivery = receiver.current
            assert delivery is not None
            receiver.recv(10)
            receiver.advance()
            if state == Delivery.REJECTED:
                delivery.local.condition = ClientsCondition("app:bad", "no", {symbol("code"): int32(7)})
            else:
                delivery.local.failed = True
                delivery.local.annotations = {symbol("x-opt-a"): "b"}
            delivery.update(state)
            delivery.settle()
        pair.pump()
        rejected, modified = [outcome for _, outcome in outgoing(link).outcomes]
        assert rejected.condition == Condition("app:bad", "no", {"code": 7})
        assert codec.decode(modified.annotations)[0] == codec.Map([("x-opt-a", "b")])
