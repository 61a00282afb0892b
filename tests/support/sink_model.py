"""What a sink link may do and has to do: a model of one unsettled receiver and its group.

It is told what happens, and is asked about each delivery and each dead letter as the link sends it: whether
it is that record's turn, with that delivery-count, after that pause. The rules are those of docs/delivery.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.sink_port import EXPIRED, Delivered, MemoryRecord, encode_message

from bridge.mapping.annotate import annotate, merge
from bridge.model import conditions
from bridge.model.outcomes import ACCEPTED, DeliveryState, Outcome
from bridge.sink.ports import DeadLetter, Reason
from bridge.sink.redelivery import RECORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sized

    from support.sink_rig import Burial, SinkRig

    from bridge.model.failures import Failure
    from bridge.sink.policy import SinkLimits, SinkPolicy

Place = tuple[int, int]
"""Where a record is: partition and offset."""


@dataclass(slots=True)
class Attempts:
    """What became of a record's attempts since its partition was assigned."""

    failed: int = 0
    tries: int = 0
    released: int = 0
    annotations: bytes = b""


class SinkModel:
    """The model of a link; `buries` says that there is a dead-letter topic."""

    def __init__(self, rig: SinkRig, policy: SinkPolicy, limits: SinkLimits, *, buries: bool) -> None:
        self.rig = rig
        self.logs = rig.topic.logs
        self.policy = policy
        self.rules = policy.redelivery
        self.limits = limits
        self.buries = buries
        self.owned: set[int] = set()
        self.leaving: set[int] = set()
        self.begin: dict[int, int] = {}
        """Where each partition was read from when it was assigned."""
        self.end: dict[int, int] = {}
        """The offset after the last that was sent since then."""
        self.open: dict[int, set[int]] = {}
        """Offsets that were sent since then and have no final answer."""
        self.answered: set[Place] = set()
        """Records that the group is done with."""
        self.attempts: dict[Place, Attempts] = {}
        self.given_back: dict[Place, float] = {}
        """Records that are to be sent again, and not before that time."""
        self.letters: dict[Place, DeadLetter] = {}
        """Records that have to be sent to the dead-letter topic at once."""
        self.letters_again: dict[Place, tuple[DeadLetter, float]] = {}
        """Records that the dead-letter topic did not take, and that are to be sent to it at that time."""
        self.letter_tries: dict[Place, int] = {}
        self.burying: dict[Burial, None] = {}
        """Records on their way to the dead-letter topic, of partitions that are still the link's."""
        self.gone: dict[Burial, None] = {}
        """The same of partitions that are not."""
        self.gone_again: list[tuple[Place, float]] = []
        """Records of such partitions that wait, until that time, to be sent there again."""
        self.unanswered: dict[Delivered, None] = {}
        self.late: dict[Delivered, None] = {}
        """Deliveries without an outcome whose partition was taken away."""
        self.accepted = 0
        self.skipped = 0
        self.late_outcomes = 0
        self.end_told = False
        """The consumer has told, in this drain, that all was handed over."""
        self.may_have_stopped = False
        """It has met a message that is too large, or will: the link may end for that, and need not send."""
        self.has_to_end = False
        """It has to, with `amqp:precondition-failed`."""
        self.unsure: set[int] = set()  # partitions that went when it may have stopped at a message of theirs
        rig.peer.on_send = self.check_delivery
        rig.peer.on_drained = self.check_drained
        rig.peer.on_detach = self.check_detach
        rig.dead_letters.on_send = self.check_letter

    # ------------------------------------------------------------------ what may be sent

    def check_delivery(self, delivery: Delivered) -> None:
        """Check that it is the turn of the delivery that is being sent, and how it is sent."""
        place = delivery.partition, delivery.offset
        attempts = self.check_turn(place)
        held_bytes = self.held_bytes(at_most=False) + (self.returned_bytes() if not attempts.tries else 0)
        assert held_bytes < self.limits.unsettled_bytes, "no more than that may be unanswered"
        assert delivery.again == (attempts.tries > 0)
        assert delivery.attempts == attempts.failed
        assert delivery.annotations == attempts.annotations
        assert delivery.size_bytes == len(self.message(place))
        assert not self.is_too_large(place)
        self.unanswered[delivery] = None

    def check_letter(self, burial: Burial) -> None:
        """Check that the record belongs into the dead-letter topic, now, with what is told of it."""
        place = burial.place
        if place in self.letters:
            assert burial.letter == self.letters.pop(place)
        elif place in self.letters_again:
            letter, due = self.letters_again.pop(place)
            assert (burial.letter, self.rig.timers.now) == (letter, due)
        else:
            attempts = self.check_turn(place)
            assert self.is_too_large(place)
            letter = burial.letter
            assert (letter.reason, letter.attempts) == (Reason.MESSAGE_SIZE_EXCEEDED, attempts.tries)
            assert letter.annotations == attempts.annotations
        self.burying[burial] = None

    def check_turn(self, place: Place) -> Attempts:
        """Check that a record may be sent now, and take notice that it is."""
        partition, offset = place
        assert partition in self.owned - self.leaving
        ahead = self.rules.ahead_records
        if place in self.given_back:
            assert self.given_back.pop(place) <= self.rig.timers.now, "its pause is not over"
            assert ahead is not None or not any(p == partition and o < offset for p, o in self.given_back)
            return self.attempts[place]
        assert offset == self.next_to_send(partition)
        waiting = [due for (number, _), due in self.given_back.items() if number == partition]
        assert ahead is not None or not waiting, "the order is kept"
        assert all(due >= self.rig.timers.now for due in waiting), "what was sent before goes first"
        assert ahead is None or self.ahead_of(partition, offset) <= ahead
        self.end[partition] = offset + 1
        self.open[partition].add(offset)
        self.attempts[place] = Attempts()
        return self.attempts[place]

    def ahead_of(self, partition: int, offset: int) -> int:
        """Count the records from the first without a final answer to this one."""
        first = min(self.open[partition], default=offset)
        return sum(first <= record.position <= offset for record in self.logs[partition])

    def check_drained(self) -> None:
        """Check that credit may go back now."""
        if self.held_bytes(at_most=True) < self.limits.unsettled_bytes:
            assert self.end_told, "nobody knows whether there is more"
            assert not self.can_send()

    def check_detach(self) -> None:
        """Check that the link has a reason to end, and let it."""
        condition = self.rig.peer.condition
        assert condition is not None
        if condition.name == conditions.LINK_MESSAGE_SIZE_EXCEEDED:
            place = int(condition.info["partition"]), int(condition.info["offset"])
            if place in self.too_large():
                # It counts as sent, and has had its outcome from the bridge.
                self.given_back.pop(place, None)
                self.open[place[0]].add(place[1])
                self.end[place[0]] = max(self.end[place[0]], place[1] + 1)
            assert self.may_have_stopped
        else:
            assert condition.name == conditions.PRECONDITION_FAILED
            assert self.has_to_end
        self.end_link()

    def end_link(self) -> None:
        """End the link, and check what it leaves."""
        self.rig.link.close()
        ((accepted, unanswered),) = self.rig.log.ends
        assert accepted == self.accepted
        # One that came back and has become too large waits for nothing any more.
        assert 0 <= self.unanswered_count() - unanswered <= self.may_have_stopped
        for partition in self.owned - self.unsure:
            self.assert_committed(partition)

    def too_large(self) -> list[Place]:
        """Give the records at which the link may stop, to end when the others are answered."""
        if self.buries or not self.limits.message_max_bytes:
            return []
        fresh = [(each.number, each.position) for each in self.waiting()]
        found = [place for place in [*self.given_back, *fresh] if self.is_too_large(place)]
        self.may_have_stopped = self.may_have_stopped or bool(found)
        return found

    def can_send(self) -> bool:
        """Tell whether there is a record, here and not in Kafka, that may be sent now."""
        now, ahead = self.rig.timers.now, self.rules.ahead_records
        held_bytes = self.held_bytes(at_most=True) + self.returned_bytes()
        if self.may_have_stopped:
            return False
        for partition in self.owned - self.leaving:
            again = sorted(place for place in self.given_back if place[0] == partition)
            if any(self.given_back[place] < now for place in (again[:1] if ahead is None else again)):
                return True
            if held_bytes >= self.limits.unsettled_bytes:
                continue
            fresh = [each.position for each in self.waiting() if each.number == partition]
            if fresh and ahead is None and not again:
                return True
            # A gap in the offsets may count as if records were there.
            if fresh and ahead and fresh[0] - min(self.open[partition], default=fresh[0]) < ahead:
                return True
        return False

    # ------------------------------------------------------------------ what there is

    def record(self, place: Place) -> MemoryRecord:
        """Find a record."""
        return next(record for record in self.logs[place[0]] if record.position == place[1])

    def message(self, place: Place) -> bytes:
        """Make the message of a record that is sent."""
        attempts = self.attempts.get(place, Attempts())
        value = self.record(place).content
        payload = encode_message(*place, 0, 0, None, value, None, attempts.failed, attempts.tries > 0)
        return annotate(payload, attempts.annotations)

    def is_too_large(self, place: Place) -> bool:
        """Tell whether the receiver does not take a record's message."""
        largest = self.limits.message_max_bytes
        return bool(largest) and len(self.message(place)) > largest

    def held_bytes(self, *, at_most: bool) -> int:
        """Count the bytes of what is kept; what ends at this moment may be kept still, or not any more."""
        sent = [*self.unanswered, *self.late]
        places = [(each.partition, each.offset) for each in sent]
        places += [burial.place for burial in (*self.burying, *self.gone)]
        places += self.letters_again
        now = self.rig.timers.now
        places += [place for place, due in self.gone_again if due > now or (at_most and due == now)]
        messages_bytes = sum(delivery.size_bytes for delivery in sent)
        return messages_bytes + sum(len(self.record(place)) + RECORD_BYTES for place in places)

    def returned_bytes(self) -> int:
        """Count the bytes of what is to be sent again: room that is not for what was not sent before."""
        return sum(len(self.record(place)) + RECORD_BYTES for place in self.given_back)

    def next_to_send(self, partition: int) -> int:
        """Give the offset of the next record, or the one after the last."""
        log, end = self.logs[partition], self.end[partition]
        offsets = (each.position for each in log if each.position >= end and each.content != EXPIRED)
        return next(offsets, self.rig.topic.end(partition))

    def waiting(self) -> list[MemoryRecord]:
        """Give the records that were handed over and never sent."""
        positions = self.rig.feed.positions
        return [
            record
            for partition in self.owned - self.leaving
            for record in self.logs[partition]
            if self.end[partition] <= record.position < positions.get(partition, 0)
            and record.content != EXPIRED
        ]

    def first_open(self, partition: int) -> int:
        """Give the first offset that must not be committed over."""
        offsets = (each.position for each in self.logs[partition] if each.content != EXPIRED)
        left = (offset for offset in offsets if (partition, offset) not in self.answered)
        return next(left, self.rig.topic.end(partition))

    def assert_committed(self, partition: int) -> None:
        """Assert that all that may be committed is committed."""
        committed = self.rig.topic.committed.get(partition, 0)
        if self.open[partition]:
            assert committed == min(self.open[partition])
        elif self.end[partition] > self.begin[partition]:
            assert self.end[partition] <= committed <= self.next_to_send(partition)

    def in_flight(self, partitions: set[int]) -> bool:
        """Tell whether anything of these partitions waits for an answer, whosever."""
        places = [burial.place for burial in self.burying] + list(self.letters_again)
        numbers = [delivery.partition for delivery in self.unanswered] + [place[0] for place in places]
        return not partitions.isdisjoint(numbers)

    def unanswered_count(self) -> int:
        """Count the records that have no outcome if the link ends now."""
        kinds: list[Sized] = [self.unanswered, self.late, self.given_back, self.burying, self.letters_again]
        return sum(map(len, kinds))

    # ------------------------------------------------------------------ what happens

    def noting(self, answers: Iterable[tuple[Delivered, Outcome]]) -> Iterator[tuple[Delivered, Outcome]]:
        """Pass the receiver's answers on, and take notice of each before it is heard of."""
        for delivery, outcome in answers:
            if self.rig.peer.detached:
                return
            self.note(delivery, outcome)
            yield delivery, outcome
            assert not self.letters, "it is sent to the dead-letter topic at once"

    def note(self, delivery: Delivered, outcome: Outcome) -> None:
        """Take notice of an outcome."""
        if delivery in self.late:
            del self.late[delivery]
            self.late_outcomes += 1
            return
        del self.unanswered[delivery]
        place = delivery.partition, delivery.offset
        if outcome == ACCEPTED:
            self.accepted += 1
            self.done(place)
        elif outcome.state is DeliveryState.REJECTED or outcome.undeliverable_here:
            self.refused(place, outcome)
        elif delivery.partition not in self.leaving:
            self.came_back(place, outcome)

    def refused(self, place: Place, outcome: Outcome) -> None:
        """Take notice of a record that the receiver does not want."""
        if self.buries:
            attempts = self.attempts[place]
            rejected = outcome.state is DeliveryState.REJECTED
            self.letters[place] = DeadLetter(
                Reason.REJECTED if rejected else Reason.UNDELIVERABLE_HERE,
                attempts.tries + 1,
                outcome.condition,
                merge(attempts.annotations, outcome.annotations),
            )
        elif self.policy.rejected == "detach":
            self.has_to_end = True
        else:
            self.skipped += 1
            self.done(place)

    def came_back(self, place: Place, outcome: Outcome) -> None:
        """Take notice of a record that is to be sent again."""
        attempts = self.attempts[place]
        attempts.tries += 1
        attempts.annotations = merge(attempts.annotations, outcome.annotations)
        attempts.released = 0 if outcome.delivery_failed else attempts.released + 1
        if outcome.delivery_failed or attempts.released == self.rules.releases_max:
            attempts.failed += 1
            attempts.released = 0
        if self.buries and attempts.failed == self.rules.attempts_max:
            self.letters[place] = DeadLetter(
                Reason.MAX_ATTEMPTS, attempts.tries, outcome.condition, attempts.annotations
            )
        else:
            self.given_back[place] = self.rig.timers.now + self.pause_seconds(attempts.tries)

    def pause_seconds(self, tries: int) -> float:
        """Give the pause after so many tries: it doubles, up to the longest."""
        return float(min(self.rules.backoff_seconds * 2 ** (tries - 1), self.rules.backoff_max_seconds))

    def done(self, place: Place) -> None:
        """Take notice of a final answer."""
        self.answered.add(place)
        self.open[place[0]].remove(place[1])

    def letter_answered(self, burial: Burial, failure: Failure | None) -> None:
        """Take notice of the dead-letter topic's answer, before the link hears of it."""
        if burial in self.gone:
            del self.gone[burial]
            return
        place = burial.place
        if failure is None:
            del self.burying[burial]
            self.done(place)
        elif failure.retriable:
            del self.burying[burial]
            tries = self.letter_tries[place] = self.letter_tries.get(place, 0) + 1
            self.letters_again[place] = burial.letter, self.rig.timers.now + self.pause_seconds(tries)
        else:
            self.has_to_end = True

    # ------------------------------------------------------------------ the group

    def took(self, partitions: set[int]) -> None:
        """Take notice of partitions that are assigned."""
        self.owned |= partitions
        for partition in partitions:
            self.begin[partition] = self.end[partition] = self.rig.topic.committed.get(partition, 0)
            self.open[partition] = set()

    def leaves(self, partitions: set[int]) -> None:
        """Take notice of partitions of which nothing more is to be sent."""
        for place in [place for place in self.given_back if place[0] in partitions]:
            del self.given_back[place]

    def gave(self, partitions: set[int]) -> None:
        """Take notice of partitions that are not the link's any more."""
        self.unsure |= partitions if self.too_large() else set()
        self.leaves(partitions)
        self.owned -= partitions
        for delivery in [each for each in self.unanswered if each.partition in partitions]:
            del self.unanswered[delivery]
            self.late[delivery] = None
        for burial in [each for each in self.burying if each.place[0] in partitions]:
            del self.burying[burial]
            self.gone[burial] = None
        for place in [place for place in self.letters_again if place[0] in partitions]:
            self.gone_again.append((place, self.letters_again[place][1]))
        for places in (self.attempts, self.letters_again, self.letter_tries):
            for place in [place for place in places if place[0] in partitions]:
                del places[place]
