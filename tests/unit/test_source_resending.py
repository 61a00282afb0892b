"""What becomes of records whose batches were refused: each is sent alone, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.source_port import QUEUE_IS_FULL, REFERENCE, TIMED_OUT, TOO_LARGE, TOPIC

from bridge.model.failures import Failure
from bridge.source.outcomes import Place
from bridge.source.pending import Failed
from bridge.source.resending import Resending

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.source.ports import Flushable, Produce, Produced


@dataclass
class Record:
    """A record that was produced."""

    text: bytes

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return 3

    def key(self) -> bytes:
        return b"key of " + self.text

    def value(self) -> bytes:
        return self.text


@dataclass
class Link:
    """The owner of the records, and the producer that sends each alone."""

    answers: list[Failure | None]
    has_producer: bool = True
    sent: list[object] = field(default_factory=list)
    reports: list[Callable[[object, Produced | None], None]] = field(default_factory=list)
    given_up: list[tuple[object, Failure]] = field(default_factory=list)
    reported: list[tuple[Failed, object]] = field(default_factory=list)
    retries: list[Flushable] = field(default_factory=list)

    def alone(self, _topic: str) -> Produce | None:
        return self.produce if self.has_producer else None

    def produce(self, *given: object) -> Failure | None:
        *record, report = given
        failure = self.answers.pop(0)
        if failure is None:
            self.sent.append(tuple(record))
            assert callable(report)
            self.reports.append(report)
        return failure

    def reported_alone(self, failed: Failed, error: object, _produced: Produced | None) -> None:
        self.reported.append((failed, error))

    def failed(self, delivery: object, _size: int, failure: Failure, _place: Place) -> None:
        self.given_up.append((delivery, failure))

    def flush(self) -> None: ...
    def broke(self, error: Exception) -> None: ...


def refused(delivery: int) -> Failed:
    return Failed(delivery, 100, TOO_LARGE, Record(b"%d" % delivery), [("h", b"v")], 77)


def resending(link: Link, *deliveries: int) -> Resending:
    machine = Resending(
        link, lambda error: error if isinstance(error, Failure) else TIMED_OUT, link.retries.append
    )
    machine.refused.extend(refused(delivery) for delivery in deliveries)
    return machine


def place(_produced: object = None) -> Place:
    return Place(TOPIC, REFERENCE, 3)


def test_each_goes_as_it_was_to_where_it_was_going() -> None:
    link = Link([None, None])
    resending(link, 1, 2).send(place)
    assert link.sent == [
        (TOPIC, b"1", b"key of 1", [("h", b"v")], 3, 77),
        (TOPIC, b"2", b"key of 2", [("h", b"v")], 3, 77),
    ]
    link.reports[1](None, None)
    assert link.reported == [(refused(2), None)]
    assert not link.given_up


def test_a_full_queue_keeps_the_rest_in_order() -> None:
    link = Link([None, QUEUE_IS_FULL])
    machine = resending(link, 1, 2, 3)
    machine.send(place)
    assert [failed.delivery for failed in machine.refused] == [2, 3]
    assert link.retries == [link]

    link.answers = [None, None]
    machine.send(place)
    assert not machine.refused
    assert [record[1] for record in link.sent] == [b"1", b"2", b"3"]  # type: ignore[index] # tuples


def test_what_is_refused_at_once_is_answered() -> None:
    link = Link([TOO_LARGE, None])
    resending(link, 1, 2).send(place)
    assert link.given_up == [(1, TOO_LARGE)]
    assert len(link.sent) == 1


def test_without_such_a_producer_the_refusal_stands() -> None:
    link = Link([], has_producer=False)
    resending(link, 1).send(place)
    assert link.given_up == [(1, TOO_LARGE)]


def test_what_was_not_sent_is_given_back_when_the_link_ends() -> None:
    link = Link([QUEUE_IS_FULL])
    machine = resending(link, 1, 2)
    machine.send(place)
    assert [failed.delivery for failed in machine.close()] == [1, 2]

    machine.send(place)
    assert link.sent == []
