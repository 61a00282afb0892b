"""Receivers' attaches: what is read of them, and what the answer says of the source."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from proton import UNDESCRIBED, Array, Data, Described, Link, Terminus, int32, symbol, ulong
from support.frames import AMQP_HEADER, Sniffer, make_begin, make_frame, make_receivers_attach
from support.wire import SETTINGS, Outgoing, Pair, outgoing

from bridge import codec
from bridge.amqp.links import IncomingLink, OutgoingLink
from bridge.model import conditions
from bridge.model.conditions import Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proton import Receiver
    from support.frames import Frame

    from bridge.amqp.contract import AnyLink

ADDRESS, DURABLE, EXPIRY, TIMEOUT, DYNAMIC, NODE, MODE, FILTER, DEFAULT, OUTCOMES, CAPABILITIES = range(11)
"""The places of a source's fields (core 3.5.3)."""

ALL_OUTCOMES = ["amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list"]
SELECTOR = Described(ulong(0x0000_468C_0000_0004), "color = 'red'")


def granting(applied: frozenset[str] = frozenset(), **grants: Any) -> Callable[[AnyLink], None]:  # noqa: ANN401 - open's
    """Answer attaches of receivers with these grants."""

    def answer(link: AnyLink) -> None:
        assert isinstance(link, OutgoingLink)
        link.open(Outgoing(), applied, **grants)

    return answer


def refusing_malformed(link: AnyLink) -> None:
    """Answer as endpoints do: refuse what is malformed."""
    assert isinstance(link, OutgoingLink)
    if link.request.malformed:
        link.refuse(Condition(conditions.INVALID_FIELD, link.request.malformed))
    else:
        link.open(Outgoing())


def attach(pair: Pair, prepare: Callable[[Receiver], object], name: str = "receiver") -> Receiver:
    """Attach a receiver that was prepared."""
    receiver = pair.open_session().receiver(name)
    receiver.source.address = "orders/group.id/g"
    prepare(receiver)
    receiver.open()
    pair.pump()
    return receiver


def answers(pair: Pair, name: str = "attach") -> list[Frame]:
    return [frame for frame in pair.take_frames() if frame.text == f"< {name}"]


def source_of(pair: Pair) -> list[Any]:
    """Give all eleven fields of the source in the bridge's one attach."""
    [answer] = answers(pair)
    fields = list(answer.fields["source"].value)
    return fields + [None] * (11 - len(fields))


def asking_for_filters(filters: Mapping[symbol, object]) -> Callable[[Receiver], object]:
    return lambda receiver: receiver.source.filter.put_dict(cast("Any", filters))


def asking_for_a_durable_subscription(receiver: Receiver) -> None:
    """Ask as Qpid JMS does for `createDurableSubscriber`."""
    receiver.source.durability = Terminus.DELIVERIES
    receiver.source.expiry_policy = Terminus.EXPIRE_NEVER
    receiver.source.distribution_mode = Terminus.DIST_MODE_COPY
    receiver.source.outcomes.put_object(symbols(*ALL_OUTCOMES))
    receiver.source.capabilities.put_object(symbols("topic", "shared", "global"))
    receiver.snd_settle_mode = Link.SND_UNSETTLED


def symbols(*values: str) -> Array:
    return Array(cast("Any", UNDESCRIBED), Data.SYMBOL, *map(symbol, values))


# ---------------------------------------------------------------------- what is asked for


def test_filters_are_read_with_their_types() -> None:
    filters = {
        symbol("jms-selector"): SELECTOR,
        symbol("io.strimzi:offset-filter:long"): 7,
        symbol("io.strimzi:partition-filter:int"): int32(3),
        symbol("by-name"): Described(symbol("apache.org:selector-filter:string"), "a = 1"),
        symbol("nested"): Described(ulong(0x173), {"subject": "x", "n": [1, int32(2)]}),
        symbol("none"): None,
    }
    with Pair() as pair:
        attach(pair, asking_for_filters(filters))
        request = pair.events.links[0].request
        assert request.malformed == ""
        # A null filter "acts as if there were no such key" (core 3.5.8).
        assert list(request.filters) == [str(name) for name in filters if name != "none"]
        assert all(type(name) is str for name in request.filters)
        assert request.filters["jms-selector"] == codec.Described(
            codec.ULong(0x0000_468C_0000_0004), "color = 'red'"
        )
        offset, partition = (
            request.filters["io.strimzi:offset-filter:long"],
            request.filters["io.strimzi:partition-filter:int"],
        )
        assert (type(offset), offset, type(partition), partition) == (codec.Long, 7, codec.Int, 3)
        by_name = request.filters["by-name"]
        assert isinstance(by_name, codec.Described)
        assert isinstance(by_name.descriptor, codec.Symbol)
        assert request.filters["nested"] == codec.Described(
            codec.ULong(0x173), codec.Map([("subject", "x"), ("n", [codec.Long(1), codec.Int(2)])])
        )


def test_without_a_filter_set_there_are_no_filters() -> None:
    with Pair() as pair:
        attach(pair, lambda _receiver: None)
        attach(pair, asking_for_filters({}), "of an empty set")
        assert [link.request.filters for link in pair.events.links] == [{}, {}]
        assert [link.request.malformed for link in pair.events.links] == ["", ""]


def nested(levels: int, kind: int) -> bytes:
    value = b"\x40"
    for _ in range(levels):
        value = bytes((kind,)) + struct.pack(">II", len(value) + 4, 1) + value
    return value


def a_map(*elements: bytes) -> bytes:
    coded = struct.pack(">I", len(elements)) + b"".join(elements)
    return b"\xd1" + struct.pack(">I", len(coded)) + coded


OPENING = AMQP_HEADER + make_frame("open", fields={"container-id": "by-hand"}) + make_begin()
KEY = b"\xa3\x01k"
MANY_NULLS = b"\xf0" + struct.pack(">II", 5, 1 << 31) + b"\x40"
"""An array of ten bytes that announces two thousand million elements."""


@pytest.mark.parametrize(
    "filters",
    [
        b"\x54\x01",
        b"\xa1\x01x",
        nested(3, 0xD0),
        a_map(KEY),
        a_map(KEY, b"\x40", KEY, b"\x41"),
        a_map(b"\x54\x01", b"\x41"),
        a_map(KEY, b"\xa1\x02\xff\xfe"),
        a_map(KEY, b"\x3f"),
        a_map(KEY, b"\xa1\x7fx"),
        a_map(KEY, nested(100, 0xD0)),
        a_map(KEY, nested(100, 0xF0)),
        a_map(KEY, b"\x00\x53\x01" * 100 + b"\x40"),
        a_map(KEY, b"\x00\x53\x01" * 20_000 + b"\x40"),
        a_map(KEY, nested(7_000, 0xD0)),
        MANY_NULLS,
    ],
    ids=lambda value: f"{len(value)} bytes {value[:20].hex()}",
)
def test_a_malformed_filter_set_is_refused_and_the_link_alone(filters: bytes) -> None:
    # Nobody but the bridge reads what the client sends: the tests' own reader trusts it.
    with Pair(answer=refusing_malformed, sniff=False) as pair:
        pair.inject(OPENING)
        pair.inject(make_receivers_attach("bad", 0, filters=filters))
        pair.inject(make_receivers_attach("good", 1))
        sniffer = Sniffer()
        assert pair.engine.flush(sniffer.bridge_sent)
        bad, good = pair.events.links
        assert "filter-set" in bad.request.malformed
        assert bad.request.filters == {}
        assert (bad.ended, good.ended) == (True, False)
        *_, first, detach, second = sniffer.take()
        assert [frame.name for frame in (first, detach, second)] == ["attach", "detach", "attach"]
        assert ("source" in first.fields, "source" in second.fields) == (False, True)
        assert detach.condition == conditions.INVALID_FIELD


@pytest.mark.parametrize("value", [MANY_NULLS, nested(70_000, 0xD0), nested(70_000, 0xF0)], ids=len)
def test_values_that_proton_cannot_encode_again_are_never_given_to_it(value: bytes) -> None:
    # It keeps of them what it has room for, trusts that when it encodes, and takes the process with it.
    settings = replace(SETTINGS, max_frame_size_bytes=1 << 20)
    with Pair(answer=refusing_malformed, settings=settings, sniff=False) as pair:
        pair.inject(OPENING)
        pair.inject(make_receivers_attach("outcomes", 0, outcomes=value))
        pair.inject(make_receivers_attach("capabilities", 1, capabilities=value))
        pair.inject(make_receivers_attach("filters", 2, filters=a_map(KEY, value)))
        assert pair.engine.flush(lambda _data: None)
        outcomes, capabilities, filters = pair.events.links
        assert outcomes.request.outcomes == frozenset()
        assert (outcomes.ended, capabilities.ended, filters.ended) == (False, False, True)


def test_a_receiver_tells_the_largest_message_that_it_takes() -> None:
    def prepare(receiver: Receiver) -> None:
        receiver.max_message_size = 54_321

    with Pair() as pair:
        attach(pair, prepare)
        assert pair.events.links[0].request.max_message_size_bytes == 54_321


@pytest.mark.parametrize(
    ("durability", "expiry", "durable"),
    [
        (Terminus.NONDURABLE, Terminus.EXPIRE_WITH_SESSION, False),
        (Terminus.NONDURABLE, Terminus.EXPIRE_WITH_LINK, False),
        (Terminus.CONFIGURATION, Terminus.EXPIRE_WITH_SESSION, True),
        (Terminus.DELIVERIES, Terminus.EXPIRE_WITH_LINK, True),
        (Terminus.NONDURABLE, Terminus.EXPIRE_NEVER, True),
    ],
)
def test_what_is_to_outlive_the_link(durability: int, expiry: int, *, durable: bool) -> None:
    def prepare(receiver: Receiver) -> None:
        receiver.source.durability = durability
        receiver.source.expiry_policy = expiry
        # The receiver's own terminus is not the bridge's to keep.
        receiver.target.durability = Terminus.DELIVERIES

    with Pair() as pair:
        attach(pair, prepare)
        assert pair.events.links[0].request.durable is durable


def test_a_browser_is_no_durable_subscription() -> None:
    def browsing(receiver: Receiver) -> None:
        receiver.source.distribution_mode = Terminus.DIST_MODE_COPY

    with Pair() as pair:
        attach(pair, browsing, "browser")
        attach(pair, asking_for_a_durable_subscription, "subscription")
        browser, subscription = (link.request for link in pair.events.links)
        assert (browser.browses, browser.durable) == (True, False)
        assert (subscription.browses, subscription.durable) == (False, True)


# ---------------------------------------------------------------------- what is answered


def test_the_answer_claims_nothing_that_was_only_wished_for() -> None:
    def prepare(receiver: Receiver) -> None:
        asking_for_a_durable_subscription(receiver)
        receiver.source.timeout = 60
        receiver.source.properties.put_dict({symbol("lifetime-policy"): "mine"})
        asking_for_filters({symbol("jms-selector"): SELECTOR})(receiver)

    with Pair(answer=granting()) as pair:
        attach(pair, prepare)
        source = source_of(pair)
        assert source[ADDRESS] == "orders/group.id/g"
        # Proton leaves out what is the default, or writes it.
        assert source[DURABLE] in {None, 0}
        assert source[EXPIRY] == "link-detach"
        assert source[TIMEOUT] in {None, 0}
        assert source[DYNAMIC] in {None, False}
        assert source[NODE] is None
        assert source[MODE] == "move"
        assert source[FILTER] is None
        assert source[DEFAULT] is None
        assert list(source[OUTCOMES].elements) == ALL_OUTCOMES
        assert list(source[CAPABILITIES].elements) == ["topic"]


def test_the_answer_says_what_is_granted() -> None:
    capabilities = frozenset({"topic", "shared", "queue"})
    with Pair(answer=granting(durable=True, browses=True, capabilities=capabilities)) as pair:
        attach(pair, asking_for_a_durable_subscription)
        source = source_of(pair)
        # The position comes back, unsettled deliveries under their tags do not.
        assert (source[DURABLE], source[EXPIRY], source[MODE]) == (1, "never", "copy")
        assert list(source[CAPABILITIES].elements) == ["shared", "topic"]


def test_who_does_not_ask_for_something_durable_is_told_of_nothing_durable() -> None:
    with Pair(answer=granting(durable=True)) as pair:
        attach(pair, lambda _receiver: None)
        source = source_of(pair)
        assert (source[DURABLE] or 0, source[EXPIRY]) == (0, "link-detach")
        assert source[CAPABILITIES] is None


def test_filters_in_place_are_answered_as_they_were_asked_for() -> None:
    filters = {
        symbol("first"): SELECTOR,
        symbol("second"): Described(symbol("an:unknown:one"), [1, "two"]),
        symbol("third"): int32(3),
        symbol("none"): None,
    }
    with Pair(answer=granting(frozenset({"third", "first", "never asked for"}))) as pair:
        receiver = attach(pair, asking_for_filters(filters))
        source = source_of(pair)
        assert source[FILTER] == {symbol("first"): SELECTOR, symbol("third"): int32(3)}
        assert type(source[FILTER]["third"]) is int32
        assert {type(name) for name in source[FILTER]} == {symbol}
        assert receiver.state & Link.REMOTE_ACTIVE


def test_the_peers_own_terminus_is_repeated_without_what_it_supports() -> None:
    def prepare(receiver: Receiver) -> None:
        receiver.target.address = "mine"
        receiver.target.durability = Terminus.CONFIGURATION
        receiver.target.expiry_policy = Terminus.EXPIRE_WITH_CONNECTION
        receiver.target.timeout = 30
        receiver.target.capabilities.put_object(symbols("a", "b"))

    with Pair(answer=granting()) as pair:
        attach(pair, prepare)
        [answer] = answers(pair)
        assert answer.fields["target"].value == ["mine", 1, "connection-close", 30, False]


def test_a_refused_receiver_is_told_of_no_source_at_all() -> None:
    with Pair(answer=lambda link: link.refuse(REASON)) as pair:
        attach(pair, asking_for_a_durable_subscription)
        [answer] = answers(pair)
        assert "source" not in answer.fields
        assert "target" in answer.fields


def test_a_senders_answer_claims_nothing_that_was_only_wished_for() -> None:
    with Pair() as pair:
        sender = pair.open_session().sender("sender")
        sender.target.address = "orders"
        sender.target.durability = Terminus.DELIVERIES
        sender.target.expiry_policy = Terminus.EXPIRE_NEVER
        sender.target.timeout = 60
        sender.target.capabilities.put_object(symbols("queue", "delayed", "shared"))
        sender.source.address = "the producer"
        sender.source.outcomes.put_object(symbols("amqp:accepted:list", "my:own:list", "amqp:released:list"))
        sender.open()
        pair.pump()
        assert pair.events.links[0].request.durable
        [answer] = answers(pair)
        target = list(answer.fields["target"].value)
        assert target[0] == "orders"
        assert target[1] in {None, 0}
        assert target[2] == "link-detach"
        assert list(target[6].elements) == ["queue"]
        source = answer.fields["source"].value
        assert source[ADDRESS] == "the producer"
        assert list(source[OUTCOMES].elements) == ["amqp:accepted:list", "amqp:released:list"]


# ---------------------------------------------------------------------- how a link ends


REASON = Condition(conditions.NOT_FOUND, "there is no topic orders")


class Notes(Outgoing):
    """Remembers what its link said of its end when it was told of it."""

    def __init__(self, link: AnyLink) -> None:
        super().__init__()
        self.link = link
        self.closed_by_peer: list[bool] = []

    def close(self) -> None:
        super().close()
        self.closed_by_peer.append(self.link.closed_by_peer)


def noting(link: AnyLink) -> None:
    assert isinstance(link, OutgoingLink)
    link.open(Notes(link))


@pytest.mark.parametrize(
    ("how", "closed"),
    [("close", True), ("detach", False), ("end", False), ("close the connection", False), ("lose", False)],
)
def test_a_handler_can_tell_whether_its_peer_ended_the_link_for_good(how: str, *, closed: bool) -> None:
    with Pair(answer=noting) as pair:
        receiver, link = pair.attach_receiver()
        pair.take_frames()
        if how == "close":
            receiver.close()
        elif how == "detach":
            receiver.detach()
        elif how == "end":
            receiver.session.close()
        elif how == "close the connection":
            pair.client.connection.close()
        else:
            pair.lose()
        pair.pump()
        assert isinstance(link.handler, Notes)
        assert link.handler.closed_by_peer == [closed]
        if how in {"close", "detach"}:
            [answer] = answers(pair, "detach")
            assert answer.fields.get("closed", False) is closed


def test_a_link_that_the_bridge_ends_is_not_closed_by_its_peer() -> None:
    with Pair(answer=noting) as pair:
        receiver, link = pair.attach_receiver()
        link.detach(REASON)
        pair.pump()
        receiver.close()
        pair.pump()
        assert isinstance(link.handler, Notes)
        assert link.handler.closed_by_peer == [False]


def test_a_durable_subscription_comes_back_and_is_given_up_as_jms_does_it() -> None:
    with Pair(answer=noting) as pair:
        session = pair.open_session()
        for closed in (False, False, True):
            receiver = session.receiver("subscription")
            receiver.source.address = "orders/group.id/g"
            asking_for_a_durable_subscription(receiver)
            receiver.open()
            pair.pump()
            link = pair.events.links[-1]
            assert (link.request.container_id, link.request.link_name) == ("the-client", "subscription")
            receiver.close() if closed else receiver.detach()
            pair.pump()
            receiver.free()
        assert [link.closed_by_peer for link in pair.events.links] == [False, False, True]
        assert pair.engine.links == []


def test_a_lookup_of_a_subscription_has_no_address() -> None:
    # Qpid JMS unsubscribes so: it attaches with no source, and closes the link that it finds.
    with Pair(answer=lambda link: link.refuse(REASON)) as pair:
        receiver = pair.open_session().receiver("subscription")
        receiver.source.type = Terminus.UNSPECIFIED
        receiver.open()
        pair.pump()
        request = pair.events.links[0].request
        assert (request.peer_sends, request.address, request.malformed) == (False, None, "")


def test_one_name_in_two_sessions_is_two_links_that_can_be_told_to_be_of_one_name() -> None:
    with Pair() as pair:
        _, first = pair.attach_receiver("same")
        _, second = pair.attach_receiver("same", session=pair.open_session())
        _, sender = pair.attach_sender("same")
        names = [(link.request.container_id, link.request.link_name) for link in pair.engine.links]
        assert names == [("the-client", "same")] * 3
        assert isinstance(sender, IncomingLink)
        # A link is stolen by ending the one that has it (core 2.6.1).
        first.detach(Condition(conditions.LINK_STOLEN, "attached again"))
        pair.pump()
        assert outgoing(first).closed == 1
        assert outgoing(second).closed == 0
