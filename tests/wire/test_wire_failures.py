"""Defects in the bridge itself: an exception in a handler ends one link, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from proton import Delivery
from support.frames import make_opening
from support.wire import Incoming, Outgoing, Pair, incoming, open_at_once, receive, transfer

from bridge.amqp.links import IncomingLink, OutgoingLink
from bridge.model import conditions
from bridge.model.conditions import Condition

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.amqp.contract import AnyLink


class BrokenError(Exception):
    """What a defect raises."""


def fails(*_arguments: object) -> None:
    raise BrokenError


def broken(name: str) -> Callable[[AnyLink], None]:
    """Answer attaches of links named `broken` with a handler of which one method fails."""

    def answer(link: AnyLink) -> None:
        open_at_once(link)
        if link.request.link_name == "broken":
            setattr(link.handler, name, fails)

    return answer


def assert_only_the_broken_link_ended(pair: Pair, link: AnyLink, *, failures: int = 1) -> None:
    assert [failed for failed, _ in pair.events.failures] == [link] * failures
    assert all(isinstance(error, BrokenError) for _, error in pair.events.failures)
    pair.events.failures.clear()
    assert link.ended
    detach = next(frame for frame in pair.take_frames() if frame.text == "< detach")
    assert detach.condition == conditions.INTERNAL_ERROR
    sender, healthy = pair.attach_sender("healthy", session=pair.open_session())
    [delivery] = transfer(sender, b"works")
    pair.pump()
    assert incoming(healthy).payloads == [b"works"]
    healthy.accept(incoming(healthy).deliveries, settle=True)
    pair.pump()
    assert delivery.remote_state == Delivery.ACCEPTED


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("size_bytes", [10, 200_000])
def test_a_failure_with_a_message(size_bytes: int, *, settled: bool) -> None:
    with Pair(answer=broken("transferred")) as pair:
        sender, link = pair.attach_sender("broken")
        sent = transfer(sender, b"x" * size_bytes, b"another", settled=settled)
        pair.pump()
        if not settled:
            assert not any(delivery.settled for delivery in sent)
        assert incoming(link).closed == 1
        assert_only_the_broken_link_ended(pair, link)


def test_a_failure_with_an_aborted_message() -> None:
    with Pair(answer=broken("aborted")) as pair:
        sender, link = pair.attach_sender("broken")
        delivery = sender.delivery("tag")
        sender.stream(b"half")
        pair.pump()
        delivery.abort()
        pair.pump()
        assert_only_the_broken_link_ended(pair, link)


def test_a_failure_with_a_settlement() -> None:
    with Pair(answer=broken("settled")) as pair:
        sender, link = pair.attach_sender("broken")
        [delivery] = transfer(sender, b"x")
        pair.pump()
        delivery.settle()
        pair.pump()
        assert_only_the_broken_link_ended(pair, link)


def test_a_failure_at_the_end_of_a_batch() -> None:
    with Pair(answer=broken("batch_ended")) as pair:
        sender, link = pair.attach_sender("broken")
        transfer(sender, b"x")
        pair.pump()
        assert_only_the_broken_link_ended(pair, link)


@pytest.mark.parametrize("name", ["accepted", "disposed"])
def test_a_failure_with_an_outcome(name: str) -> None:
    with Pair(answer=broken(name)) as pair:
        receiver, link = pair.attach_receiver("broken", credit=1)
        link.send(b"tag", b"x")
        pair.pump()
        receive(receiver, outcome=Delivery.ACCEPTED if name == "accepted" else Delivery.RELEASED)
        pair.pump()
        assert_only_the_broken_link_ended(pair, link)


def test_a_failure_with_credit() -> None:
    with Pair(answer=broken("batch_ended")) as pair:
        _, link = pair.attach_receiver("broken", credit=1)
        pair.pump()
        assert_only_the_broken_link_ended(pair, link)


def test_a_failure_when_room_is_found_again() -> None:
    with Pair() as pair:
        _, link = pair.attach_receiver("broken", credit=1)
        pair.engine.congested = True
        assert link.room_bytes() == 0
        link.handler.batch_ended = fails  # type: ignore[method-assign]  # a broken handler
        pair.engine.congested = False
        pair.pump()
        assert_only_the_broken_link_ended(pair, link)


def test_a_failure_with_an_attach_refuses_it() -> None:
    def answer(link: AnyLink) -> None:
        if link.request.link_name == "broken":
            raise BrokenError
        open_at_once(link)

    with Pair(answer=answer) as pair:
        sender, link = pair.attach_sender("broken")
        assert sender.remote_target.address is None
        assert_only_the_broken_link_ended(pair, link)


@pytest.mark.parametrize("how", ["close", "detach", "end", "close connection", "bridge detaches", "lost"])
def test_a_failure_with_the_end_does_not_keep_the_peer_waiting(how: str) -> None:
    with Pair(answer=broken("close")) as pair:
        sender, link = pair.attach_sender("broken")
        pair.take_frames()
        expected = "< detach"
        if how == "close":
            sender.close()
        elif how == "detach":
            sender.detach()
        elif how == "end":
            sender.session.close()
            expected = "< end"
        elif how == "close connection":
            pair.client.connection.close()
            expected = "< close"
        elif how == "bridge detaches":
            link.detach(Condition(conditions.RESOURCE_DELETED, "the topic is gone"))
        else:
            pair.lose()
            expected = ""
        if expected:
            pair.pump()
            assert pair.take_names()[-1] == expected
        assert link.ended
        assert [failed for failed, _ in pair.events.failures] == [link]
        pair.events.failures.clear()


def test_a_failure_with_the_end_of_a_link_that_sent_too_much_drops_the_bytes_all_the_same() -> None:
    def answer(link: AnyLink) -> None:
        assert isinstance(link, IncomingLink)
        handler = Incoming()
        if link.request.link_name == "broken":
            handler.close = fails  # type: ignore[method-assign]  # a broken handler
        link.open(handler, 1_000)
        link.grant(10)

    with Pair(answer=answer) as pair:
        session = pair.open_session()
        for turn in range(10):
            sender, _ = pair.attach_sender("broken", session=session)
            # Ten of these are more than the session's window.
            transfer(sender, b"x" * 500_000)
            pair.pump()
            sender.close()
            pair.pump()
            sender.free()
            assert len(pair.events.failures) == turn + 1
        pair.events.failures.clear()
        sender, link = pair.attach_sender("healthy", session=session)
        transfer(sender, b"works")
        pair.pump()
        assert incoming(link).payloads == [b"works"]


def test_one_failing_handler_does_not_keep_others_from_hearing_of_the_end() -> None:
    with Pair(answer=broken("close")) as pair:
        session = pair.open_session()
        _, first = pair.attach_sender("broken", session=session)
        _, second = pair.attach_sender("healthy", session=session)
        pair.engine.close(Condition(conditions.CONNECTION_FORCED, "the bridge is shutting down"))
        assert first.ended
        assert incoming(second).closed == 1
        pair.pump()
        assert pair.over
        assert [failed for failed, _ in pair.events.failures] == [first]
        pair.events.failures.clear()


def test_a_failure_of_the_owner_is_raised_to_it_once() -> None:
    with Pair() as pair:
        setattr(pair.events, "opened", fails)  # noqa: B010 - a broken owner
        with pytest.raises(BrokenError):
            pair.inject(make_opening())
        # What came behind it is still handled, and it is not met again.
        pair.engine.tick(1)
        assert len(pair.events.links) == 1


def test_what_fails_is_told_with_the_links_name() -> None:
    with Pair(answer=broken("transferred")) as pair:
        sender, link = pair.attach_sender("broken")
        transfer(sender, b"x")
        pair.pump()
        assert sender.remote_condition is not None
        assert sender.remote_condition.description is not None
        assert "'broken'" in sender.remote_condition.description
        assert_only_the_broken_link_ended(pair, link)


def test_handlers_are_told_of_the_end_when_the_socket_is_lost() -> None:
    with Pair() as pair:
        _, to_bridge = pair.attach_sender()
        _, from_bridge = pair.attach_receiver()
        pair.lose()
        assert incoming(to_bridge).closed == 1
        assert isinstance(from_bridge.handler, Outgoing)
        assert from_bridge.handler.closed == 1
        # Answers that were on their way find nobody.
        to_bridge.grant(1)
        to_bridge.detach(Condition(conditions.INTERNAL_ERROR, "late"))
        assert isinstance(from_bridge, OutgoingLink)
        assert from_bridge.credit() == 0
        assert pair.engine.links == []


def test_an_attach_that_is_answered_after_the_socket_was_lost() -> None:
    with Pair(answer=lambda _link: None) as pair:
        pair.inject(make_opening())
        [link] = pair.events.links
        assert isinstance(link, IncomingLink)
        pair.lose()
        handler = Incoming()
        link.open(handler, 1_000)
        link.grant(1)
        link.refuse(Condition(conditions.NOT_FOUND, "late"))
        assert handler.closed == 1
