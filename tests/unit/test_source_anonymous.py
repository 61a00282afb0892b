"""The link to the anonymous terminus, between a sender in memory and producers in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import proton
import pytest
from support.lent_payload import Lent
from support.source_port import REFERENCE, MemoryProducer, SendingPeer, SourceLog, classify

from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure, Reach, Stored
from bridge.model.outcomes import ACCEPTED, RELEASED, DeliveryState, Outcome
from bridge.source.anonymous import AnonymousSourceLink, Found
from bridge.source.budget import ByteBudget
from bridge.source.policy import SourcePolicy
from bridge.source.ports import Destination, Flushable, Peer, SourceDoors

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.record import Record

AWAY = Failure(
    "LEADER_NOT_AVAILABLE",
    5,
    "no leader",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.PERHAPS,  # as of a record; what was asked for a topic alone is not stored
)
GONE = Failure(
    "UNKNOWN_TOPIC_OR_PART",
    3,
    "no such topic",
    conditions.NOT_FOUND,
    retriable=False,
    stored=Stored.NO,
    reach=Reach.TOPIC,
)


class Map:
    """The destinations that there are; those that are asked for are told of when the test says so."""

    def __init__(self, found: dict[str, Found]) -> None:
        self.found = found
        self.told = set(found)
        self.asked: list[str] = []
        self.forgotten: list[str] = []
        self.calls: list[Callable[[], None]] = []

    def known(self, address: str) -> Found | None:
        return self.found[address] if address in self.told else None

    def ask(self, address: str, answered: Callable[[], None]) -> None:
        self.asked.append(address)
        self.calls.append(answered)

    def forget(self, topic: str) -> None:
        self.forgotten.append(topic)

    def tell(self, address: str) -> None:
        self.told.add(address)
        calls, self.calls = self.calls, []
        for call in calls:
            call()


class Rig:
    """An anonymous link whose topics `a` and `b` have producers of their own."""

    def __init__(self, *, window: int = 10, all_known: bool = True, settled: bool = False) -> None:
        self.peer, self.log, self.ready = SendingPeer(), SourceLog(), list[Flushable]()
        self.a, self.b, self.unacknowledged = MemoryProducer(99), MemoryProducer(99), MemoryProducer(99)
        self.map = Map(
            {
                "a": self.destination("a", self.a),
                "b": self.destination("b", self.b, largest=200),
                "c": Condition(conditions.PRECONDITION_FAILED, "no topic has that name"),
                "d": AWAY,
            }
        )
        if not all_known:
            self.map.told.clear()
        self.budget = ByteBudget(1 << 30)
        self.link = AnonymousSourceLink(
            self.peer,
            SourcePolicy(prefetch=settled, settled_unacknowledged=settled, settles_first=True, window=window),
            self.map,
            SourceDoors(
                classify, self.ready.append, self.ready.append, lambda: True, lambda: None, self.budget
            ),
            Peer(frozenset({DeliveryState.RELEASED}), REFERENCE),
            self.log,
        )
        self.peer.on_detach = self.link.close
        self.link.opened()

    def destination(self, topic: str, producer: MemoryProducer, largest: int = 0) -> Destination:
        return Destination(
            topic,
            producer,
            self.unacknowledged,
            producer.room,
            self.to_record,
            1,
            message_bytes_max=largest,
            large_to_record=lambda payload: self.to_record(bytes(payload.view())),
        )

    @staticmethod
    def to_record(message: bytes) -> Record:
        return decoded(message), None, None, ANY_PARTITION, ARRIVAL_TIME

    def send(self, to: str | None, body: bytes, *, settled: bool = False, large: bool = False) -> int:
        message = bytes(proton.Message(address=to, body=body, inferred=True).encode())
        delivery = self.peer.transfer(settled=settled)
        if large:
            self.link.transferred_large(delivery, Lent(message), settled)
        else:
            self.link.transferred(delivery, message, settled)
        self.link.batch_ended()
        return delivery

    def store(self) -> None:
        self.a.store()
        self.b.store()
        for link in list(self.ready):
            self.ready.remove(link)
            link.flush()

    def condition(self, delivery: int) -> str:
        outcome = self.peer.outcomes[delivery]
        assert outcome.condition is not None
        return outcome.condition.name


def decoded(message: bytes) -> bytes:
    read = proton.Message()
    read.decode(message)
    body: object = read.body
    assert isinstance(body, bytes | memoryview)
    return bytes(body)


def test_each_message_goes_to_the_topic_that_it_names() -> None:
    rig = Rig()
    deliveries = [rig.send("a", b"1"), rig.send("b", b"2"), rig.send("a", b"3")]

    rig.store()

    assert (rig.a.taken, rig.b.taken) == ([b"1", b"3"], [b"2"])
    assert rig.peer.outcomes == dict.fromkeys(deliveries, ACCEPTED)


def test_a_message_that_names_nothing_is_rejected_alone() -> None:
    rig = Rig()
    nowhere, somewhere = rig.send(None, b"1"), rig.send("a", b"2")

    rig.store()

    assert rig.condition(nowhere) == conditions.PRECONDITION_FAILED
    assert rig.peer.outcomes[somewhere] == ACCEPTED


def test_an_address_that_cannot_be_served_is_rejected_and_the_link_goes_on() -> None:
    rig = Rig()
    wrong, away, fine = rig.send("c", b"1"), rig.send("d", b"2"), rig.send("a", b"3")

    rig.store()

    assert rig.condition(wrong) == conditions.PRECONDITION_FAILED
    assert rig.peer.outcomes[away] == RELEASED
    assert rig.peer.outcomes[fine] == ACCEPTED
    assert not rig.peer.detached


def test_messages_wait_behind_one_whose_topic_is_sought_and_keep_their_order() -> None:
    rig = Rig(all_known=False)
    rig.map.told.add("a")
    rig.send("b", b"1")
    rig.send("a", b"2")
    rig.send("b", b"3")
    assert rig.map.asked == ["b"], "asked once"
    assert (rig.a.taken, rig.b.taken) == ([], [])

    rig.map.tell("b")

    assert (rig.a.taken, rig.b.taken) == ([b"2"], [b"1", b"3"])
    rig.store()
    assert rig.peer.count(DeliveryState.ACCEPTED) == 3
    assert rig.link.window.in_flight == 0


def test_large_messages_go_to_the_topics_that_they_name() -> None:
    rig = Rig(all_known=False)
    rig.map.told.add("a")
    for to, body in (("a", b"1"), ("b", b"2"), ("a", b"3"), ("b", b"4")):
        rig.send(to, body, large=True)
    assert (rig.a.taken, rig.b.taken) == ([b"1"], []), "those behind an unknown topic wait"

    rig.map.tell("b")

    assert (rig.a.taken, rig.b.taken) == ([b"1", b"3"], [b"2", b"4"])


def test_a_second_unknown_topic_is_sought_when_its_turn_comes() -> None:
    rig = Rig(all_known=False)
    rig.send("a", b"1")
    rig.send("b", b"2")

    rig.map.tell("a")
    assert rig.map.asked == ["a", "b"]
    rig.map.tell("b")

    assert (rig.a.taken, rig.b.taken) == ([b"1"], [b"2"])


def test_what_waits_for_a_topic_is_bounded_by_the_window() -> None:
    rig = Rig(all_known=False, window=2)
    rig.send("a", b"1")
    rig.send("a", b"2")
    assert rig.peer.credit == 0

    rig.map.tell("a")
    rig.store()
    assert rig.peer.credit == 2


def test_a_topic_that_vanished_is_asked_for_anew_and_its_message_rejected() -> None:
    rig = Rig()
    delivery = rig.send("a", b"1")

    rig.a.fail(GONE)
    rig.store()

    assert rig.condition(delivery) == conditions.NOT_FOUND
    assert rig.map.forgotten == ["a"]
    assert not rig.peer.detached, "its other topics are there"


def test_a_message_larger_than_its_route_allows_is_rejected_alone() -> None:
    rig = Rig()
    large, small = rig.send("b", b"x" * 300), rig.send("b", b"x")

    rig.store()

    assert rig.condition(large) == conditions.LINK_MESSAGE_SIZE_EXCEEDED
    assert rig.peer.outcomes[small] == ACCEPTED


def test_a_message_that_cannot_be_decoded_is_rejected_alone() -> None:
    rig = Rig()
    delivery = rig.peer.transfer(settled=False)
    rig.link.transferred(delivery, b"nonsense", settled=False)

    assert rig.condition(delivery) == conditions.DECODE_ERROR


def test_settled_messages_are_counted_when_they_are_lost() -> None:
    rig = Rig(settled=True)
    for to in ("a", "c", "d", None):
        rig.send(to, b"1", settled=True)

    assert rig.unacknowledged.taken == [b"1"]
    assert len(rig.log.drops) == 3
    assert rig.peer.outcomes == {}
    assert rig.link.window.in_flight == 0


@pytest.mark.parametrize("settled", [False, True])
def test_what_waits_when_the_link_ends_is_never_sent(*, settled: bool) -> None:
    rig = Rig(all_known=False)
    rig.send("a", b"1", settled=settled)

    rig.peer.detached = True
    rig.link.close()
    rig.map.tell("a")

    assert rig.a.taken == []
    assert rig.log.ends == [(0, 0 if settled else 1, 0)]
    assert len(rig.log.drops) == (1 if settled else 0)
    assert rig.budget.held_bytes == 0


def test_an_outcome_says_where_its_message_was_going() -> None:
    rig = Rig()
    outcome: Outcome = rig.peer.outcomes[rig.send("c", b"1")]
    assert outcome.condition is not None
    assert outcome.condition.info == {"retriable": False, "topic": "c", "reference": REFERENCE}
