"""The nine pairs of local and remote state, for connections, sessions and links.

Pairs are written as the bridge sees them: its own state, then the client's. The bridge opens nothing by
itself, so it is never ACTIVE where the client is UNINIT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from proton import Described, symbol, ulong
from support.frames import AMQP_HEADER, make_begin, make_frame, make_opening
from support.wire import Incoming, Pair, incoming, transfer

from bridge.model import conditions
from bridge.model.conditions import Condition
from cproton_ffi import lib

if TYPE_CHECKING:
    from proton import Connection, Link, Session

    from bridge.amqp.contract import AnyLink

REASON = Condition(conditions.RESOURCE_DELETED, "the topic is gone", {"topic": "orders"})


def later(_link: AnyLink) -> None:
    """Answer an attach not yet."""


def pair_of(state: int) -> str:
    """Give a state as two words, the bridge's own first."""
    own = {1: "UNINIT", 2: "ACTIVE", 4: "CLOSED"}[state & 7]
    peer = {8: "UNINIT", 16: "ACTIVE", 32: "CLOSED"}[state & 56]
    return f"{own} {peer}"


def link_pair(link: AnyLink) -> str:
    return pair_of(lib.pn_link_state(link.pointer))


def session_pair(link: AnyLink) -> str:
    return pair_of(lib.pn_session_state(lib.pn_link_session(link.pointer)))


def connection_pair(link: AnyLink) -> str:
    return pair_of(lib.pn_connection_state(lib.pn_session_connection(lib.pn_link_session(link.pointer))))


def seen_by_client(endpoint: Connection | Session | Link) -> str:
    """Give the client's state, turned round."""
    own, peer = pair_of(endpoint.state).split()
    return f"{peer} {own}"


# ---------------------------------------------------------------------- connection


def test_connection_uninit_uninit() -> None:
    with Pair() as pair:
        assert pair.engine.flush(lambda _data: pytest.fail("the bridge spoke first"))
        assert pair.events.opened_by == []
        assert pair.engine.links == []


def test_connection_uninit_active_is_answered_at_once() -> None:
    with Pair() as pair:
        pair.client.connection.open()
        pair.to_bridge()
        assert pair.events.opened_by == ["the-client"]
        assert pair.engine.peer_container_id == "the-client"
        pair.pump()
        assert seen_by_client(pair.client.connection) == "ACTIVE ACTIVE"
        assert pair.client.connection.remote_container == "the-bridge"
        assert pair.client.connection.remote_properties == {
            "product": "amqp-kafka-bridge",
            "version": "1.2.3",
        }
        assert not pair.over


def test_connection_uninit_closed_in_one_breath() -> None:
    with Pair() as pair:
        pair.inject(AMQP_HEADER + make_frame("open", fields={"container-id": "x"}) + make_frame("close"))
        pair.to_client()
        assert pair.take_names() == ["> open", "> close", "< open", "< close"]
        assert pair.events.closed_with == [None]
        assert pair.over


def test_connection_uninit_closed_without_an_open() -> None:
    with Pair() as pair:
        pair.inject(AMQP_HEADER + make_frame("close"))
        pair.to_client()
        assert pair.take_names() == ["> close", "< open", "< close"]
        assert pair.events.opened_by == []
        assert pair.over


def test_connection_active_closed_ends_links_then_answers() -> None:
    with Pair() as pair:
        _, link = pair.attach_sender()
        handler = incoming(link)
        pair.client.connection.close()
        pair.to_bridge()
        assert connection_pair(link) == "CLOSED CLOSED"
        assert handler.closed == 1
        assert pair.events.closed_with == [None]
        pair.pump()
        assert seen_by_client(pair.client.connection) == "CLOSED CLOSED"
        assert pair.over


def test_connection_closed_by_the_client_with_a_reason() -> None:
    with Pair() as pair:
        pair.open_session()
        pair.pump()
        pair.inject(
            make_frame(
                "close", fields={"error": Described(ulong(0x1D), [symbol("amqp:not-allowed"), "bored"])}
            )
        )
        assert pair.events.closed_with == [Condition("amqp:not-allowed", "bored")]


def test_connection_closed_uninit_waits_for_the_clients_open() -> None:
    with Pair() as pair:
        pair.engine.close(REASON)
        pair.pump()
        assert not pair.over
        pair.client.connection.open()
        pair.pump()
        names = pair.take_names()
        assert names.index("< open") < names.index("< close")
        assert pair.client.connection.remote_container == "the-bridge"
        assert pair.client.connection.remote_condition is not None
        assert pair.client.connection.remote_condition.name == REASON.name
        assert pair.events.opened_by == []
        assert pair.over


def test_connection_closed_active_tells_the_reason_and_ends_links() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        pair.engine.close(REASON)
        pair.engine.close(Condition(conditions.INTERNAL_ERROR, "a second close changes nothing"))
        assert connection_pair(link) == "CLOSED ACTIVE"
        assert incoming(link).closed == 1
        pair.to_client()
        condition = pair.client.connection.remote_condition
        assert condition is not None
        assert (condition.name, condition.description) == (REASON.name, REASON.description)
        assert condition.info == {"topic": "orders"}
        assert seen_by_client(pair.client.connection) == "CLOSED ACTIVE"
        # What the client did before it knew is not taken notice of.
        transfer(sender, b"too late")
        pair.client.connection.session().open()
        sender.session.sender("too late").open()
        pair.pump()
        assert incoming(link).payloads == []
        assert len(pair.events.links) == 1


def test_connection_closed_closed_by_both_at_once() -> None:
    with Pair() as pair:
        _, link = pair.attach_sender()
        pair.engine.close(REASON)
        pair.client.connection.close()
        pair.pump()
        assert seen_by_client(pair.client.connection) == "CLOSED CLOSED"
        assert incoming(link).closed == 1
        assert pair.over


def test_nothing_is_expected_of_a_client_after_its_close() -> None:
    with Pair() as pair:
        pair.open_session()
        pair.client.connection.close()
        pair.pump()
        pair.engine.receive(make_begin(5))
        pair.engine.end_of_input()
        assert pair.events.closed_with == [None]


# ---------------------------------------------------------------------- session


def test_session_uninit_active_is_answered_at_once_with_its_window() -> None:
    with Pair() as pair:
        session = pair.open_session()
        pair.pump()
        assert seen_by_client(session) == "ACTIVE ACTIVE"
        begin = next(frame for frame in pair.take_frames() if frame.text == "< begin")
        assert begin.fields["incoming-window"] == 64  # 4 MiB in frames of 64 KiB


def test_session_uninit_closed_in_one_breath() -> None:
    with Pair() as pair:
        session = pair.open_session()
        session.close()
        pair.pump()
        assert seen_by_client(session) == "CLOSED CLOSED"
        assert not pair.over


def test_session_active_closed_ends_its_links_alone() -> None:
    with Pair() as pair:
        first, link_of_first = pair.attach_sender("one")
        second, link_of_second = pair.attach_sender("two", session=pair.open_session())
        handler = incoming(link_of_first)
        first.session.close()
        pair.to_bridge()
        assert handler.closed == 1
        pair.pump()
        assert seen_by_client(first.session) == "CLOSED CLOSED"
        assert session_pair(link_of_second) == "ACTIVE ACTIVE"
        assert pair.engine.links == [link_of_second]
        transfer(second, b"still here")
        pair.pump()
        assert incoming(link_of_second).payloads == [b"still here"]


def test_session_closed_with_a_pending_attach() -> None:
    with Pair(answer=later) as pair:
        sender, link = pair.attach_sender()
        sender.session.close()
        pair.pump()
        assert seen_by_client(sender.session) == "CLOSED CLOSED"
        assert link.ended
        link.refuse(REASON)
        pair.pump()
        assert pair.take_names()[-2:] == ["> end", "< end"]


def test_session_closed_closed_while_the_bridge_detaches() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        link.detach(REASON)
        sender.session.close()
        pair.pump()
        assert seen_by_client(sender.session) == "CLOSED CLOSED"
        assert pair.engine.links == []


# ---------------------------------------------------------------------- link


def test_link_uninit_active_pends_until_it_is_answered() -> None:
    with Pair(answer=later) as pair:
        sender, link = pair.attach_sender()
        assert link_pair(link) == "UNINIT ACTIVE"
        assert seen_by_client(sender) == "UNINIT ACTIVE"
        assert "< attach" not in pair.take_names()
        link.open(Incoming(), 1000)
        pair.pump()
        assert link_pair(link) == "ACTIVE ACTIVE"
        assert seen_by_client(sender) == "ACTIVE ACTIVE"
        assert sender.remote_max_message_size == 1000


@pytest.mark.parametrize("closed", [True, False])
def test_link_uninit_closed_is_attached_and_detached(*, closed: bool) -> None:
    with Pair(answer=later) as pair:
        sender, link = pair.attach_sender()
        pair.take_frames()
        sender.close() if closed else sender.detach()
        pair.pump()
        frames = pair.take_frames()
        assert [frame.text for frame in frames if frame.name != "flow"] == [
            "> detach",
            "< attach",
            "< detach",
        ]
        assert frames[-1].fields.get("closed", False) == closed
        # An answer that was on its way comes too late, and what it holds is given back.
        handler = Incoming()
        link.open(handler, 1000)
        link.grant(10)
        link.refuse(REASON)
        pair.pump()
        assert handler.closed == 1
        assert pair.take_frames() == []


@pytest.mark.parametrize("closed", [True, False])
def test_link_active_closed_is_answered_in_kind(*, closed: bool) -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        handler = incoming(link)
        pair.take_frames()
        sender.close() if closed else sender.detach()
        pair.pump()
        answer = pair.take_frames()[-1]
        assert answer.text == "< detach"
        assert answer.fields.get("closed", False) == closed
        assert answer.condition is None
        assert handler.closed == 1
        assert pair.engine.links == []


def test_link_closed_uninit_is_refused_before_anything_else() -> None:
    with Pair(answer=lambda link: link.refuse(REASON)) as pair:
        sender, _ = pair.attach_sender()
        names = pair.take_names(but="flow")
        assert names[-2:] == ["< attach", "< detach"]
        assert seen_by_client(sender) == "CLOSED ACTIVE"


def test_link_closed_active_waits_for_the_clients_detach() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        handler = incoming(link)
        link.detach(REASON)
        link.detach(Condition(conditions.INTERNAL_ERROR, "a second detach changes nothing"))
        pair.pump()
        assert link_pair(link) == "CLOSED ACTIVE"
        assert seen_by_client(sender) == "CLOSED ACTIVE"
        assert sender.remote_condition is not None
        assert sender.remote_condition.name == REASON.name
        assert sender.remote_condition.info == {"topic": "orders"}
        assert handler.closed == 1
        assert pair.engine.links == []
        sender.close()
        pair.pump()
        assert seen_by_client(sender) == "CLOSED CLOSED"
        assert pair.take_names()[-1] == "> detach"
        assert handler.closed == 1


@pytest.mark.parametrize("closed", [True, False])
def test_link_closed_closed_by_both_at_once_keeps_the_reason(*, closed: bool) -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        pair.take_frames()
        link.detach(REASON)
        sender.close() if closed else sender.detach()
        pair.pump()
        detaches = [frame for frame in pair.take_frames() if frame.text == "< detach"]
        assert len(detaches) == 1
        assert detaches[0].condition == REASON.name
        assert detaches[0].fields["closed"] is True


def test_what_is_asked_of_an_ended_link_does_nothing() -> None:
    with Pair() as pair:
        sender, to_bridge = pair.attach_sender()
        receiver, from_bridge = pair.attach_receiver(session=sender.session, credit=5)
        transfer(sender, b"in flight")
        pair.pump()
        delivery = incoming(to_bridge).deliveries[0]
        own_delivery = from_bridge.send(b"tag", b"payload")
        sender.close()
        receiver.close()
        pair.pump()
        pair.take_frames()
        to_bridge.grant(1)
        to_bridge.accept([delivery], settle=True)
        to_bridge.settle(delivery)
        to_bridge.detach(REASON)
        from_bridge.settle([own_delivery])
        from_bridge.drained()
        from_bridge.detach(REASON)
        assert (from_bridge.credit(), from_bridge.draining(), from_bridge.room_bytes()) == (0, False, 0)
        pair.pump()
        assert pair.take_frames() == []


def test_open_by_hand_is_what_a_client_sends() -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.to_client()
        assert [frame.text for frame in pair.take_frames()][-2:] == ["< attach", "< flow"]
        assert pair.events.opened_by == ["by-hand"]
