"""Settled, unsettled and second: what dispositions say in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from proton import Delivery, Link
from support.frames import make_disposition, make_opening, make_transfer
from support.wire import Incoming, Pair, incoming, outgoing, receive, transfer

from bridge.amqp.links import IncomingLink
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState, Outcome

if TYPE_CHECKING:
    from support.frames import Frame

REJECTED = Outcome(
    DeliveryState.REJECTED,
    Condition(
        conditions.PRECONDITION_FAILED, "no key", {"topic": "orders", "kafka-code": 87, "retriable": False}
    ),
)
UNDELIVERABLE = Outcome(DeliveryState.MODIFIED, delivery_failed=True, undeliverable_here=True)


def dispositions(pair: Pair) -> list[Frame]:
    return [frame for frame in pair.take_frames() if frame.name == "disposition"]


# ---------------------------------------------------------------------- to the bridge


def test_settled_messages_are_never_answered() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender(snd_settle_mode=Link.SND_SETTLED)
        assert sender.remote_snd_settle_mode == Link.SND_SETTLED
        transfer(sender, b"1", b"2", settled=True)
        pair.pump()
        assert incoming(link).settled_flags == [True, True]
        assert incoming(link).settled_later == []
        assert dispositions(pair) == []
        sender.close()
        pair.pump()
        assert dispositions(pair) == []


def test_neighbours_are_accepted_in_one_disposition() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender(snd_settle_mode=Link.SND_UNSETTLED)
        sent = transfer(sender, *[b"x"] * 10)
        pair.pump()
        handler = incoming(link)
        assert handler.settled_flags == [False] * 10
        link.accept(handler.deliveries[:4] + handler.deliveries[6:], settle=True)
        pair.pump()
        first, second = dispositions(pair)
        assert (first.fields["first"], first.fields["last"]) == (0, 3)
        assert (second.fields["first"], second.fields["last"]) == (6, 9)
        assert first.fields["settled"] is True
        assert first.state_code == DeliveryState.ACCEPTED
        assert [delivery.settled for delivery in sent] == [True] * 4 + [False] * 2 + [True] * 4


def test_mixed_messages_are_told_apart() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        transfer(sender, b"1")
        transfer(sender, b"2", settled=True)
        transfer(sender, b"3")
        pair.pump()
        assert incoming(link).settled_flags == [False, True, False]


@pytest.mark.parametrize("outcome", [ACCEPTED, RELEASED, MODIFIED_FAILED, UNDELIVERABLE, REJECTED])
def test_each_outcome_reaches_the_client(outcome: Outcome) -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        [delivery] = transfer(sender, b"x")
        pair.pump()
        link.answer(incoming(link).deliveries[0], outcome, settle=True)
        pair.pump()
        assert int(delivery.remote_state) == outcome.state
        assert delivery.settled
        assert delivery.remote.failed == outcome.delivery_failed
        assert delivery.remote.undeliverable == outcome.undeliverable_here
        if outcome.condition is not None:
            assert delivery.remote.condition is not None
            assert delivery.remote.condition.name == outcome.condition.name
            assert delivery.remote.condition.description == outcome.condition.description
            assert delivery.remote.condition.info == outcome.condition.info


def test_second_the_outcome_comes_first_and_the_settlement_after_the_senders() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender(rcv_settle_mode=Link.RCV_SECOND)
        assert sender.remote_rcv_settle_mode == Link.RCV_SECOND
        sent = transfer(sender, b"1", b"2", b"3")
        pair.pump()
        handler = incoming(link)
        link.accept(handler.deliveries[:2], settle=False)
        link.answer(handler.deliveries[2], REJECTED, settle=False)
        pair.pump()
        states = [delivery.remote_state for delivery in sent]
        assert states == [Delivery.ACCEPTED, Delivery.ACCEPTED, Delivery.REJECTED]
        assert not any(delivery.settled for delivery in sent)
        assert handler.settled_later == []
        for delivery in sent:
            delivery.settle()
        pair.pump()
        assert handler.settled_later == handler.deliveries
        pair.take_frames()
        for own in handler.deliveries:
            link.settle(own)
        pair.pump()
        # Both ends have settled: there is nothing left to say.
        assert pair.take_frames() == []


def test_a_sender_may_settle_before_it_has_an_outcome() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        [delivery] = transfer(sender, b"x")
        pair.pump()
        delivery.settle()
        pair.pump()
        handler = incoming(link)
        assert handler.settled_later == handler.deliveries
        pair.take_frames()
        link.accept(handler.deliveries, settle=True)
        pair.pump()
        assert pair.take_frames() == []


def test_a_message_whose_sender_settled_it_meanwhile_arrives_settled() -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.to_client()
        pair.inject(make_transfer(0, b"x") + make_disposition(0, 0, settled=True))
        link = pair.events.links[0]
        assert isinstance(link, IncomingLink)
        handler = incoming(link)
        assert handler.payloads == [b"x"]
        assert handler.settled_flags == [True]
        assert handler.settled_later == []


def test_a_settlement_is_told_even_if_the_delivery_has_the_place_of_a_settled_one() -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.to_client()
        link = pair.events.links[0]
        assert isinstance(link, IncomingLink)
        handler = incoming(link)
        for number in range(0, 20, 2):
            pair.inject(make_transfer(number, b"x", settled=True))
            pair.to_client()
            pair.inject(make_transfer(number + 1, b"y"))
            pair.to_client()
            pair.inject(make_disposition(number + 1, number + 1, settled=True))
            link.accept(handler.deliveries[-1:], settle=True)
            pair.to_client()
        # Proton uses the place of a settled delivery again for the next.
        assert len(set(handler.deliveries)) < len(handler.deliveries)
        assert handler.settled_later == handler.deliveries[1::2]


def test_a_settlement_is_told_even_if_all_that_came_in_one_piece_of_input() -> None:
    # Proton takes so much in parts, between which the place of what came settled is free.
    idle = bytes((0, 0, 0, 8, 2, 0, 0, 0)) * 20_000
    with Pair(sniff=False) as pair:
        pair.inject(make_opening(rcv_settle_mode=1))
        pair.to_client()
        (link,) = pair.events.links
        assert isinstance(link, IncomingLink)
        pair.inject(
            make_transfer(0, b"one that came settled", settled=True)
            + idle
            + make_transfer(1, b"the next one")
            + idle
            + make_disposition(1, 1, settled=True)
        )
        handler = incoming(link)
        assert handler.settled_flags == [True, False]
        assert handler.settled_later == handler.deliveries[1:]


def test_a_state_that_is_not_a_settlement_is_no_settlement() -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.to_client()
        pair.inject(make_transfer(0, b"x"))
        pair.inject(make_disposition(0, 0, settled=False, state=DeliveryState.RECEIVED))
        link = pair.events.links[0]
        assert isinstance(link, IncomingLink)
        assert incoming(link).settled_later == []


def test_dispositions_of_deliveries_that_nobody_knows_are_ignored() -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.to_client()
        pair.inject(make_transfer(0, b"x"))
        pair.inject(make_disposition(1, 2**31 - 1, settled=True))
        pair.inject(make_disposition(0, 2**31 - 1, settled=True))
        link = pair.events.links[0]
        assert isinstance(link, IncomingLink)
        assert len(incoming(link).settled_later) == 1
        assert not pair.over


@pytest.mark.parametrize("how", ["close", "detach", "end", "close connection"])
def test_messages_without_an_outcome_are_not_settled_when_their_link_ends(how: str) -> None:
    # A settlement without an outcome reads like success to many a client.
    with Pair() as pair:
        sender, link = pair.attach_sender()
        sent = transfer(sender, b"1", b"2", b"3")
        pair.pump()
        link.accept(incoming(link).deliveries[1:2], settle=True)
        pair.pump()
        pair.take_frames()
        if how == "close":
            sender.close()
        elif how == "detach":
            sender.detach()
        elif how == "end":
            sender.session.close()
        else:
            pair.client.connection.close()
        pair.pump()
        assert incoming(link).closed == 1
        assert dispositions(pair) == []
        assert [delivery.settled for delivery in sent] == [False, True, False]


def test_messages_without_an_outcome_are_not_settled_when_the_socket_is_slow() -> None:
    with Pair() as pair:
        sender, _ = pair.attach_sender()
        receiver, from_bridge = pair.attach_receiver(session=sender.session, credit=5)
        transfer(sender, b"1", b"2")
        pair.pump()
        pair.take_frames()
        pair.engine.congested = True
        for number in range(5):
            # More than proton makes ready for a socket: the detach has to wait behind it.
            from_bridge.send(b"%d" % number, b"x" * 100_000)
            pair.to_client()
        sender.close()
        pair.pump()
        pair.engine.congested = False
        pair.pump()
        assert len(receive(receiver)) == 5
        names = pair.take_names()
        assert names[-1] == "< detach"
        assert "< disposition" not in names


def test_messages_without_an_outcome_are_not_settled_when_the_bridge_ends_their_link() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        session = sender.session
        sent = transfer(sender, b"1", b"2")
        pair.pump()
        link.detach(Condition(conditions.LINK_DETACH_FORCED, "the bridge is shutting down"))
        pair.pump()
        sender.close()
        pair.pump()
        session.close()
        pair.pump()
        assert dispositions(pair) == []
        assert not any(delivery.settled for delivery in sent)


def test_messages_without_an_outcome_are_not_settled_when_their_link_is_long_gone() -> None:
    with Pair() as pair:
        session = pair.open_session()
        sent: list[Delivery] = []
        for turn in range(20):
            sender, _ = pair.attach_sender(f"sender {turn}", session=session)
            sent += transfer(sender, *[b"x"] * 50)
            sender.close()
            pair.pump()
        assert dispositions(pair) == []
        session.close()
        pair.pump()
        pair.client.connection.close()
        pair.pump()
        assert dispositions(pair) == []
        assert not any(delivery.settled for delivery in sent)


def test_what_a_receiver_did_not_answer_is_not_settled_when_its_link_ends() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=5)
        link.send(b"1", b"x")
        link.send(b"2", b"x")
        pair.pump()
        receiver.close()
        pair.pump()
        assert dispositions(pair) == []


# ---------------------------------------------------------------------- from the bridge


def test_settled_messages_need_no_answer() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=2, snd_settle_mode=Link.SND_SETTLED)
        assert receiver.remote_snd_settle_mode == Link.SND_SETTLED
        link.send_settled(b"1", b"one")
        link.send_settled(b"2", b"two")
        link.sent()
        pair.pump()
        assert receiver.current is not None
        assert receiver.current.settled
        assert receive(receiver) == [b"one", b"two"]
        pair.pump()
        assert outgoing(link).accepted_deliveries == []
        assert outgoing(link).outcomes == []
        assert dispositions(pair) == []


def test_the_tag_is_the_bridges() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=1)
        link.send(b"3:42", b"payload")
        pair.pump()
        assert receiver.current is not None
        assert receiver.current.tag == "3:42"
        assert not receiver.current.settled


def test_first_the_receivers_outcome_settles() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=3)
        own = [link.send(b"%d" % number, b"x") for number in range(3)]
        pair.pump()
        receive(receiver, outcome=Delivery.ACCEPTED)
        pair.pump()
        assert outgoing(link).accepted_deliveries == own
        pair.take_frames()
        link.settle(own)
        pair.pump()
        assert pair.take_frames() == []


def test_second_the_receivers_outcome_waits_for_the_bridge_to_settle() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=3, rcv_settle_mode=Link.RCV_SECOND)
        assert receiver.remote_rcv_settle_mode == Link.RCV_SECOND
        own = [link.send(b"%d" % number, b"x") for number in range(3)]
        pair.pump()
        theirs = []
        while (delivery := receiver.current) is not None:
            receiver.recv(10)
            receiver.advance()
            delivery.update(Delivery.ACCEPTED)
            theirs.append(delivery)
        pair.pump()
        assert outgoing(link).accepted_deliveries == own
        assert not any(delivery.settled for delivery in theirs)
        link.settle(own)
        pair.pump()
        assert all(delivery.settled for delivery in theirs)
        for delivery in theirs:
            delivery.settle()
        pair.pump()
        assert outgoing(link).accepted_deliveries == own
        assert outgoing(link).outcomes == []


def test_a_receiver_that_waits_for_the_settlement_is_told_that_its_outcome_does_not_hold() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=3, rcv_settle_mode=Link.RCV_SECOND)
        own = [link.send(b"%d" % number, b"x") for number in range(3)]
        pair.pump()
        theirs = []
        while (delivery := receiver.current) is not None:
            receiver.recv(10)
            receiver.advance()
            delivery.update(Delivery.ACCEPTED)
            theirs.append(delivery)
        theirs[2].settle()
        pair.pump()
        pair.take_frames()
        link.settle(own[:1])
        link.settle_as(own[1:], RELEASED)
        pair.pump()
        settled, released = dispositions(pair)
        assert (settled.fields["first"], settled.state_code) == (0, None)
        # Not the last, which its receiver has settled and forgotten.
        assert (released.fields["first"], released.fields.get("last", 1)) == (1, 1)
        assert (released.state_code, released.fields["settled"]) == (DeliveryState.RELEASED, True)
        assert theirs[1].settled
        assert theirs[1].remote_state == Delivery.RELEASED


@pytest.mark.parametrize("outcome", [RELEASED, MODIFIED_FAILED, UNDELIVERABLE, REJECTED])
def test_each_other_outcome_reaches_the_bridge(outcome: Outcome) -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=1)
        own = link.send(b"tag", b"x")
        pair.pump()
        delivery = receiver.current
        assert delivery is not None
        receiver.recv(10)
        receiver.advance()
        delivery.local.failed = outcome.delivery_failed
        delivery.local.undeliverable = outcome.undeliverable_here
        if outcome.condition is not None:
            from proton import Condition as ClientsCondition  # noqa: PLC0415 - two of one name

            delivery.local.condition = ClientsCondition(outcome.condition.name, outcome.condition.description)
        delivery.update(outcome.state)
        delivery.settle()
        pair.pump()
        [(told, got)] = outgoing(link).outcomes
        assert told == own
        expected = outcome
        if outcome.condition is not None:
            condition = Condition(outcome.condition.name, outcome.condition.description)
            expected = Outcome(DeliveryState.REJECTED, condition)
        assert got == expected


def test_a_settlement_without_an_outcome_is_told_as_none() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=1)
        own = link.send(b"tag", b"x")
        pair.pump()
        delivery = receiver.current
        assert delivery is not None
        receiver.recv(10)
        receiver.advance()
        delivery.settle()
        pair.pump()
        assert outgoing(link).outcomes == [(own, Outcome(DeliveryState.NONE))]


def test_how_far_a_receiver_got_is_no_outcome() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=1)
        link.send(b"tag", b"x")
        pair.pump()
        delivery = receiver.current
        assert delivery is not None
        delivery.update(Delivery.RECEIVED)
        pair.pump()
        assert "> disposition" in pair.take_names()
        assert outgoing(link).outcomes == []


def test_outcomes_may_come_in_any_order() -> None:
    with Pair() as pair:
        receiver, link = pair.attach_receiver(credit=5)
        own = [link.send(b"%d" % number, b"x") for number in range(5)]
        pair.pump()
        theirs = []
        while (delivery := receiver.current) is not None:
            receiver.recv(10)
            receiver.advance()
            theirs.append(delivery)
        for number in (3, 0, 4):
            theirs[number].update(Delivery.ACCEPTED)
            theirs[number].settle()
            pair.pump()
        assert outgoing(link).accepted_deliveries == [own[3], own[0], own[4]]


def test_handlers_hear_of_batches_once_each() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        handler = incoming(link)
        assert isinstance(handler, Incoming)
        before = handler.batches
        transfer(sender, *[b"x"] * 20)
        pair.to_bridge()
        assert handler.batches == before + 1
