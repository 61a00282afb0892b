"""The scenario of share groups: two receivers, each with its engine and share link, a group in memory."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from proton import Condition, Delivery, Link
from support.arrows import RECEIVERS, Arrow, Trace
from support.scenarios import STAGE_SETTINGS, Operators, numbers_of
from support.share_group import MemoryShareGroup
from support.sink_stage import POLICY, encode_numbered, read_numbered
from support.wire import Pair

from bridge.amqp.links import OutgoingLink
from bridge.sink.share_link import ShareLimits, ShareLink
from bridge.sink.undelivered import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from support.share_group import MemoryShareRecord

    from bridge.amqp.contract import AnyLink
    from bridge.model.failures import Failure
    from bridge.model.outcomes import Outcome
    from bridge.sink.ports import ConsumedRecord, DeadLetter
    from bridge.sink.share_ports import Acknowledgement, Answer

ATTEMPTS_MAX: Final = 5
"""Kafka's own, by default."""


class ShareOperators(Operators):
    """Take what a share link tells operators as well."""

    def unrecorded(self, _partition: int, _offset: int, _acknowledgement: str, failure: Failure) -> None:
        raise AssertionError(failure)

    def lapsed(self, _partition: int, _offset: int) -> None:
        self._trace.log("records lapsed (1)")

    def answered_late(self, _partition: int, _offset: int, _outcome: Outcome) -> None:
        self._trace.log("records answered late (1)")

    def closed(self) -> None:
        """Pass over it: the end is told when Kafka has answered."""


class ShareStage:
    """One receiver of a share group, and the bridge; it draws where the others of the group do."""

    def __init__(self, client: str, group: MemoryShareGroup, arrows: list[Arrow]) -> None:
        self.trace = Trace(client, read_numbered)
        self.trace.arrows = arrows
        self.pair = Pair(answer=self._answer, settings=STAGE_SETTINGS)
        assert self.pair.sniffer is not None
        self.pair.sniffer.on_frame = self.trace.frame
        self._group = group
        self._numbers = count(1)
        self._wanted = 0
        self._told: list[tuple[int, Sequence[Answer]]] = []
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self._letters: list[tuple[int, Callable[[Failure | None], None]]] = []
        self._taken: dict[int, Delivery] = {}
        """By number, the client's last delivery of a message."""

    def _answer(self, link: AnyLink) -> None:
        assert isinstance(link, OutgoingLink)
        operators = ShareOperators(self.trace)
        self._machine = ShareLink(
            link,
            POLICY,
            ShareLimits(ATTEMPTS_MAX),
            Surroundings(
                operators, lambda seconds, call: self._timers.append((seconds, call)), self._put_away, {}
            ),
            operators,
            feed=self,
            encode=encode_numbered,
        )
        link.open(self._machine)
        self._machine.opened()

    # The feed of the machine, and its dead-letter topic.

    def want(self, records: int) -> None:
        """Draw what the bridge asks its consumer for, when it is more."""
        if records > self._wanted:
            self.trace.kafka(f"fetch (up to {records})", to_kafka=True)
        self._wanted = records

    def acknowledge(self, _batch: int, answers: Sequence[Answer], ticket: int) -> None:
        """Draw what Kafka is told."""
        for kind, numbers in _by_kind(answers).items():
            self.trace.kafka(f"{kind.name.lower()} {numbers_of(numbers)}", to_kafka=True)
        self._told.append((ticket, answers))

    def find_end(self, token: int) -> None:
        """Fail: nobody drains here."""
        raise AssertionError(token)

    def stop(self) -> None:
        """Draw the end."""
        self.trace.kafka("leave group", to_kafka=True)

    def _put_away(
        self, record: ConsumedRecord, letter: DeadLetter, answer: Callable[[Failure | None], None]
    ) -> None:
        offset = record.offset() or 0
        self.trace.kafka(f"produce dead letter {offset} ({letter.reason.value})", to_kafka=True)
        self._letters.append((offset, answer))

    # What the scenario lets Kafka and the client do.

    def attach(self) -> None:
        """Let the client attach; it settles only after the bridge has."""
        self._receiver = self.pair.open_session().receiver("receiver")
        self._receiver.source.address = "orders/share/workers"
        self._receiver.snd_settle_mode = Link.SND_UNSETTLED
        self._receiver.rcv_settle_mode = Link.RCV_SECOND
        self._receiver.open()
        self.pair.pump()

    def flow(self, credit: int) -> None:
        """Let the client give so many credits more."""
        self._receiver.flow(credit)
        self.pair.pump()

    def hand_over(self, most: int) -> None:
        """Let Kafka give records."""
        records = self._group.acquire(most)
        for given, numbers in _by_attempt(records).items():
            self.trace.kafka(f"records {numbers_of(numbers)} (attempt {given})", to_kafka=False)
        self._machine.consumed(next(self._numbers), records)
        self.pair.pump()

    def record(self) -> None:
        """Let Kafka record all that it was told."""
        told, self._told = self._told, []
        for ticket, answers in told:
            numbers = [record.offset() or 0 for record, _ in answers]
            for number, (_, kind) in zip(numbers, answers, strict=True):
                assert self._group.acknowledge(number, kind), "it was locked"
            self.trace.kafka(f"recorded {numbers_of(numbers)}", to_kafka=False)
            self._machine.acknowledged(ticket, {})
        self.pair.pump()

    def lock_lapses(self, batch: int) -> None:
        """Let the time of a batch be over."""
        self.trace.inside("lock lapses soon")
        self._machine.lapsing(batch)
        self.pair.pump()

    def back_off(self) -> None:
        """Let the pause be over before what came back is given back."""
        (pause_seconds, release), *self._timers = self._timers
        self.trace.inside(f"back-off over ({pause_seconds * 1000:.0f} ms)")
        release()
        self.pair.pump()

    def dead_letter_stored(self) -> None:
        """Let Kafka acknowledge what was sent to the dead-letter topic first."""
        offset, answer = self._letters.pop(0)
        self.trace.kafka(f"acknowledged dead letter {offset}", to_kafka=False)
        answer(None)
        self.pair.pump()

    def dispose(self, number: int, outcome: int = Delivery.ACCEPTED) -> None:
        """Let the client tell its outcome of a message. Modified is with delivery-failed."""
        delivery = self._take(number)
        delivery.local.failed = outcome == Delivery.MODIFIED
        delivery.update(outcome)
        self.pair.pump()

    def reject(self, number: int, name: str, description: str) -> None:
        """Let the client reject a message, for a reason."""
        self._take(number).local.condition = Condition(name, description)
        self.dispose(number, Delivery.REJECTED)

    def _take(self, number: int) -> Delivery:
        while (delivery := self._receiver.current) is not None:
            taken = int(read_numbered(self._receiver.recv(1000) or b"").name)
            self._receiver.advance()
            self._taken[taken] = delivery
        return self._taken[number]

    def detach(self) -> None:
        """Let the client detach."""
        self._receiver.close()
        self.pair.pump()


def _by_kind(answers: Sequence[Answer]) -> dict[Acknowledgement, list[int]]:
    kinds: dict[Acknowledgement, list[int]] = {}
    for record, kind in answers:
        kinds.setdefault(kind, []).append(record.offset() or 0)
    return kinds


def _by_attempt(records: Sequence[MemoryShareRecord]) -> dict[int, list[int]]:
    attempts: dict[int, list[int]] = {}
    for record in records:
        attempts.setdefault(record.delivery_count(), []).append(record.offset())
    return attempts


def receiver_share() -> list[Arrow]:
    """Play two receivers of a share group: one fails, one is too slow and then rejects."""
    group = MemoryShareGroup([b""] * 3, attempts_max=ATTEMPTS_MAX)
    arrows: list[Arrow] = []
    first, second = (ShareStage(name, group, arrows) for name in RECEIVERS)
    with first.pair, second.pair:
        for each in (first, second):
            each.attach()
        first.flow(2)
        first.hand_over(2)
        second.flow(1)
        second.hand_over(1)
        first.dispose(0)
        first.record()
        first.dispose(1, Delivery.MODIFIED)
        first.back_off()
        first.record()
        second.lock_lapses(batch=1)
        second.record()
        second.flow(1)
        second.hand_over(1)
        second.dispose(2)
        first.flow(1)
        first.hand_over(1)
        first.dispose(2)
        first.record()
        second.reject(1, "amqp:decode-error", "no order of ours")
        second.dead_letter_stored()
        second.record()
        for each in (first, second):
            each.detach()
    assert (group.accepted, group.rejected) == ([0, 2], [1])
    return arrows
