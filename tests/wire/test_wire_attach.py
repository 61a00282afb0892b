"""Attaching: what the bridge reads of it, refusals, many links, and the same name again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from proton import UNDESCRIBED, Array, Data, Delivery, Endpoint, Link, Terminus, int32, symbol, ubyte, ulong
from support.frames import make_attach, make_begin, make_detach, make_opening, make_transfer
from support.wire import (
    MESSAGE_BYTES,
    SETTINGS,
    Client,
    Incoming,
    Outgoing,
    Pair,
    incoming,
    open_at_once,
    outgoing,
    receive,
    transfer,
)

from bridge.amqp.links import IncomingLink, OutgoingLink
from bridge.model import conditions
from bridge.model import dialect as dialects
from bridge.model.conditions import Condition
from bridge.model.links import AttachRequest, ReceiverSettleMode, SenderSettleMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.amqp.contract import AnyLink
    from bridge.model.dialect import Dialect

REASON = Condition(conditions.NOT_FOUND, "there is no topic orders", {"kafka-code": 3, "retriable": False})


def later(_link: AnyLink) -> None:
    """Answer an attach not yet."""


def symbols(*values: str) -> Array:
    return Array(cast("Any", UNDESCRIBED), Data.SYMBOL, *map(symbol, values))


def refused(link: AnyLink) -> None:
    link.refuse(REASON)


# ---------------------------------------------------------------------- the request


def test_a_sender_is_read_whole() -> None:
    with Pair() as pair:
        sender = pair.open_session().sender("a sender")
        sender.target.address = "orders"
        sender.snd_settle_mode = Link.SND_UNSETTLED
        sender.rcv_settle_mode = Link.RCV_SECOND
        sender.max_message_size = 12_345
        sender.source.outcomes.put_object(symbols("amqp:accepted:list", "amqp:released:list"))
        sender.open()
        pair.pump()
        assert pair.events.links[0].request == AttachRequest(
            container_id="the-client",
            link_name="a sender",
            peer_sends=True,
            address="orders",
            snd_settle_mode=SenderSettleMode.UNSETTLED,
            rcv_settle_mode=ReceiverSettleMode.SECOND,
            outcomes=frozenset({"amqp:accepted:list", "amqp:released:list"}),
            max_message_size_bytes=12_345,
        )
        assert sender.remote_snd_settle_mode == Link.SND_UNSETTLED
        assert sender.remote_rcv_settle_mode == Link.RCV_SECOND
        assert sender.remote_target.address == "orders"


def test_the_scalars_among_a_links_properties_are_read() -> None:
    with Pair() as pair:
        sender = pair.open_session().sender("a sender")
        sender.properties = {
            symbol("x-opt-bridge.mapping"): "raw",
            symbol("a-symbol"): symbol("all"),
            symbol("partition"): ulong(3),
            symbol("negative"): int32(-3),
            symbol("flag"): True,
            symbol("left out"): [1, 2],
            symbol("left out as well"): None,
            symbol("last"): ubyte(7),
        }
        sender.open()
        pair.pump()
        properties = pair.events.links[0].request.properties
        assert properties == {
            "x-opt-bridge.mapping": "raw",
            "a-symbol": "all",
            "partition": 3,
            "negative": -3,
            "flag": True,
            "last": 7,
        }
        assert properties["flag"] is True


def test_the_anonymous_terminus_is_offered_and_has_no_address() -> None:
    with Pair() as pair:
        sender = pair.open_session().sender("anonymous")
        sender.open()
        pair.pump()
        assert pair.events.links[0].request.address is None
        assert sender.remote_target.type == Terminus.TARGET
        assert sender.remote_target.address is None
        offered = pair.client.connection.remote_offered_capabilities
        assert list(cast("Any", offered)) == ["ANONYMOUS-RELAY"]


@pytest.mark.parametrize(
    ("dialect", "name"), [("amqp", "amqp:invalid-field"), ("strimzi", "io.strimzi:no-group-id")]
)
def test_a_condition_has_the_name_of_the_dialect_and_the_former_one_in_its_info(
    dialect: Dialect, name: str
) -> None:
    reason = Condition(conditions.INVALID_FIELD, "no group", {"a": 1}, dialects.NO_GROUP)
    with Pair(answer=lambda link: link.refuse(reason), settings=replace(SETTINGS, dialect=dialect)) as pair:
        receiver = pair.open_session().receiver("a receiver")
        receiver.open()
        pair.pump()
        condition = receiver.remote_condition
        assert condition is not None
        assert condition.name == name
        assert condition.info == {"io.strimzi:condition": "io.strimzi:no-group-id", "a": 1}


def test_a_condition_is_no_larger_than_the_peers_frames() -> None:
    reason = Condition(conditions.NOT_FOUND, "no topic " * 30, {"topic": "t" * 300, "kafka-code": 3})
    client = Client()
    client.transport.max_frame_size = 512
    with Pair(answer=lambda link: link.refuse(reason), client=client) as pair:
        receiver = pair.open_session().receiver("a receiver")
        receiver.open()
        pair.pump()
        condition = receiver.remote_condition
        assert condition is not None
        assert condition.name == conditions.NOT_FOUND
        assert pair.client.connection.state & Endpoint.REMOTE_ACTIVE, "the connection lives"


def test_a_receiver_is_read_whole() -> None:
    with Pair() as pair:
        receiver = pair.open_session().receiver("a receiver")
        receiver.source.address = "orders/group.id/g"
        receiver.target.address = "mine"
        receiver.snd_settle_mode = Link.SND_SETTLED
        receiver.open()
        pair.pump()
        assert pair.events.links[0].request == AttachRequest(
            container_id="the-client",
            link_name="a receiver",
            peer_sends=False,
            address="orders/group.id/g",
            snd_settle_mode=SenderSettleMode.SETTLED,
            rcv_settle_mode=ReceiverSettleMode.FIRST,
        )
        assert receiver.remote_snd_settle_mode == Link.SND_SETTLED
        assert receiver.remote_source.address == "orders/group.id/g"
        assert receiver.remote_target.address == "mine"


def test_a_filter_that_is_not_applied_is_not_echoed() -> None:
    with Pair() as pair:
        receiver = pair.open_session().receiver("a receiver")
        receiver.source.address = "orders/group.id/g"
        receiver.source.filter.put_dict({symbol("a:filter"): "subject = 'x'"})
        receiver.open()
        pair.pump()
        assert receiver.remote_source.address == "orders/group.id/g"
        receiver.remote_source.filter.rewind()
        assert receiver.remote_source.filter.next() is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (symbol("amqp:modified:list"), {"amqp:modified:list"}),
        (symbols("a", "b"), {"a", "b"}),
        (symbols(), set()),
        (Array(cast("Any", UNDESCRIBED), Data.INT, 1, 2), set()),
        ("a string", set()),
        (7, set()),
        (None, set()),
    ],
)
def test_outcomes_are_read_in_any_form(value: Any, expected: set[str]) -> None:  # noqa: ANN401 - an AMQP value
    with Pair() as pair:
        sender = pair.open_session().sender("sender")
        sender.source.outcomes.put_object(value)
        sender.open()
        pair.pump()
        assert pair.events.links[0].request.outcomes == expected


def test_a_terminus_without_an_address() -> None:
    with Pair() as pair:
        sender = pair.open_session().sender("relay")
        sender.open()
        pair.pump()
        assert pair.events.links[0].request.address is None


def test_no_terminus_of_an_opened_link_is_null() -> None:
    # A null one would be a refusal; the client's own has no address here.
    with Pair() as pair:
        session = pair.open_session()
        pair.attach_sender(session=session)
        pair.attach_receiver(session=session)
        attaches = [frame for frame in pair.take_frames() if frame.text == "< attach"]
        assert len(attaches) == 2
        assert all({"source", "target"} <= attach.fields.keys() for attach in attaches)


def test_a_dynamic_node_and_a_coordinator_are_recognised() -> None:
    with Pair(answer=refused) as pair:
        session = pair.open_session()
        receiver = session.receiver("dynamic")
        receiver.source.dynamic = True
        receiver.open()
        coordinator = session.sender("coordinator")
        coordinator.target.type = Terminus.COORDINATOR
        coordinator.open()
        pair.pump()
        first, second = (link.request for link in pair.events.links)
        assert (first.dynamic, first.coordinator) == (True, False)
        assert (second.dynamic, second.coordinator) == (False, True)
        assert coordinator.remote_condition is not None
        assert coordinator.remote_condition.name == REASON.name


def test_settle_modes_that_amqp_does_not_know_count_as_the_defaults() -> None:
    with Pair() as pair:
        pair.inject(make_opening(rcv_settle_mode=7))
        request = pair.events.links[0].request
        assert request.rcv_settle_mode is ReceiverSettleMode.FIRST
        assert request.snd_settle_mode is SenderSettleMode.MIXED


# ---------------------------------------------------------------------- refusals


def test_a_refused_sender_sees_a_null_target_and_then_the_reason() -> None:
    with Pair(answer=refused) as pair:
        sender, link = pair.attach_sender()
        assert sender.remote_target.type == Terminus.UNSPECIFIED
        assert sender.remote_condition is not None
        assert sender.remote_condition.name == REASON.name
        assert sender.remote_condition.description == REASON.description
        assert sender.remote_condition.info == {"kafka-code": 3, "retriable": False}
        assert sender.credit == 0
        attach, detach = pair.take_frames(but="flow")[-2:]
        assert (attach.text, detach.text) == ("< attach", "< detach")
        assert "source" in attach.fields
        assert "target" not in attach.fields
        assert detach.fields["closed"] is True
        assert link.ended


def test_a_refused_receiver_sees_a_null_source_and_then_the_reason() -> None:
    with Pair(answer=refused) as pair:
        receiver, link = pair.attach_receiver(credit=10)
        assert receiver.remote_source.type == Terminus.UNSPECIFIED
        assert receiver.remote_target.type == Terminus.TARGET
        assert receiver.remote_condition is not None
        assert receiver.remote_condition.name == REASON.name
        attach = next(frame for frame in pair.take_frames() if frame.text == "< attach")
        assert "source" not in attach.fields
        assert "target" in attach.fields
        assert link.ended


def test_a_refusal_may_come_later() -> None:
    with Pair(answer=later) as pair:
        sender, link = pair.attach_sender()
        pair.take_frames()
        link.detach(REASON)
        pair.pump()
        attach, detach = pair.take_frames(but="flow")
        assert (attach.text, detach.text) == ("< attach", "< detach")
        assert "target" not in attach.fields
        assert detach.condition == REASON.name
        sender.close()
        pair.pump()
        assert pair.engine.links == []


def test_transfers_before_the_answer_are_not_taken() -> None:
    with Pair(answer=later) as pair:
        pair.inject(make_opening())
        pair.to_client()
        pair.inject(make_transfer(0, b"too early"))
        pair.to_client()
        frames = pair.take_frames(but="flow")
        assert [frame.text for frame in frames][-2:] == ["< attach", "< detach"]
        assert frames[-1].condition == conditions.LINK_TRANSFER_LIMIT_EXCEEDED
        assert "target" not in frames[-2].fields


def test_the_rest_of_a_transfer_that_began_before_the_answer_is_no_message() -> None:
    with Pair(answer=later) as pair:
        pair.inject(make_opening())
        (link,) = pair.events.links
        pair.inject(make_transfer(0, b"the beginning, and", more=True))
        handler = Incoming()
        assert isinstance(link, IncomingLink)
        link.open(handler, MESSAGE_BYTES)
        link.grant(10)
        pair.to_client()
        pair.inject(make_transfer(0, b" the end"))
        pair.to_client()
        assert handler.payloads == []
        assert pair.take_frames(but="flow")[-1].condition == conditions.LINK_TRANSFER_LIMIT_EXCEEDED


# ---------------------------------------------------------------------- many links


def test_several_sessions_with_several_links_each() -> None:
    with Pair() as pair:
        sessions = [pair.open_session() for _ in range(3)]
        senders = [pair.attach_sender(f"s{n}", session=sessions[n % 3]) for n in range(9)]
        receivers = [pair.attach_receiver(f"r{n}", session=sessions[n % 3], credit=5) for n in range(9)]
        assert len(pair.engine.links) == 18
        sent = [transfer(sender, b"to bridge %d" % number)[0] for number, (sender, _) in enumerate(senders)]
        for number, (_, link) in enumerate(receivers):
            link.send(b"tag", b"from bridge %d" % number)
        pair.pump()
        for number, (_, to_bridge) in enumerate(senders):
            assert incoming(to_bridge).payloads == [b"to bridge %d" % number]
            to_bridge.accept(incoming(to_bridge).deliveries, settle=True)
        for number, (receiver, _) in enumerate(receivers):
            assert receive(receiver) == [b"from bridge %d" % number]
        pair.pump()
        assert [delivery.remote_state for delivery in sent] == [Delivery.ACCEPTED] * 9
        assert all(delivery.settled for delivery in sent)
        assert [len(outgoing(link).accepted_deliveries) for _, link in receivers] == [1] * 9


def test_a_sender_and_a_receiver_of_one_name_are_two_links() -> None:
    with Pair() as pair:
        sender, to_bridge = pair.attach_sender("same")
        receiver, from_bridge = pair.attach_receiver("same", session=sender.session, credit=1)
        transfer(sender, b"there")
        from_bridge.send(b"tag", b"back")
        pair.pump()
        assert incoming(to_bridge).payloads == [b"there"]
        assert receive(receiver) == [b"back"]


def test_as_many_sessions_as_were_announced_and_not_one_more() -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.inject(b"".join(make_begin(channel) for channel in range(1, 256)))
        pair.to_client()
        assert pair.take_names().count("< begin") == 256
        pair.inject(make_begin(256))
        pair.to_client()
        assert pair.over
        assert pair.take_frames()[-1].condition == conditions.CONNECTION_FRAMING_ERROR


# ---------------------------------------------------------------------- the same name again


@pytest.mark.parametrize("closed", [True, False])
def test_a_name_is_free_after_its_link_is_detached(*, closed: bool) -> None:
    with Pair() as pair:
        session = pair.open_session()
        for turn in range(3):
            sender, link = pair.attach_sender("again", session=session)
            transfer(sender, b"%d" % turn)
            pair.pump()
            assert incoming(link).payloads == [b"%d" % turn]
            sender.close() if closed else sender.detach()
            pair.pump()
            assert incoming(link).closed == 1
            sender.free()
        assert len(pair.events.links) == 3
        assert pair.engine.links == []


@pytest.mark.parametrize("answer", [open_at_once, refused])
@pytest.mark.parametrize("closed", [True, False])
def test_a_name_is_free_even_if_the_client_does_not_wait(
    answer: Callable[[AnyLink], None], *, closed: bool
) -> None:
    with Pair(answer=answer) as pair:
        sender, _ = pair.attach_sender("again")
        session = sender.session
        sender.close() if closed else sender.detach()
        bytes_of_detach = pair.client.output()
        again = session.sender("again")
        again.target.address = "orders"
        again.open()
        pair.inject(bytes_of_detach + pair.client.output())
        pair.pump()
        # A client that saw the second attach before the first detach would have closed the connection.
        assert "> close" not in pair.take_names()
        assert len(pair.events.links) == 2
        assert again.state & Link.REMOTE_ACTIVE or again.state & Link.REMOTE_CLOSED


def test_the_same_name_in_another_session_is_another_link() -> None:
    with Pair() as pair:
        sender, _ = pair.attach_sender("same")
        pair.attach_sender("same", session=pair.open_session())
        assert len(pair.engine.links) == 2
        transfer(sender, b"x")
        pair.pump()
        assert not pair.over


def test_a_live_name_attached_again_in_its_session_ends_the_connection() -> None:
    # Proton does this, before the bridge learns of it: see docs/decisions for what follows.
    with Pair() as pair:
        pair.inject(make_opening())
        handler = pair.events.links[0]
        assert isinstance(handler, IncomingLink)
        pair.to_client()
        pair.inject(make_attach("sender", 1))
        pair.to_client()
        assert pair.over
        close = pair.take_frames()[-1]
        assert (close.text, close.condition) == ("< close", conditions.INVALID_FIELD)
        assert pair.events.closed_with == [
            Condition(conditions.INVALID_FIELD, "link name already attached: sender")
        ]


def test_a_handle_is_free_after_its_link_is_detached() -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.to_client()
        pair.inject(make_detach(0) + make_attach("other", 0) + make_transfer(0, b"x"))
        pair.to_client()
        first, second = pair.events.links
        assert first.ended
        assert isinstance(second, IncomingLink)
        assert incoming(second).payloads == [b"x"]


def test_handlers_are_of_the_links_kind() -> None:
    with Pair() as pair:
        _, to_bridge = pair.attach_sender()
        _, from_bridge = pair.attach_receiver()
        assert isinstance(to_bridge.handler, Incoming)
        assert isinstance(from_bridge.handler, Outgoing)
        assert isinstance(from_bridge, OutgoingLink)
