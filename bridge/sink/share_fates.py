"""What becomes of the records of a share link that were not accepted: released, dead-lettered, passed over.

Kafka counts how often it gave a record to anybody, and after the last time of the group's limit
(`share.delivery.count.limit`) it drops the record without a word, whoever released it and why. So a record
is released only as long as Kafka gives it to somebody again; the last time it goes to the dead-letter topic,
or is reported as passed over where there is none.

What a receiver wants merged into the annotations of the next delivery (AMQP 1.0 core, 3.4.5) cannot be
kept, since Kafka may give the record to any other member: it is told to the dead-letter topic alone.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bridge.model.outcomes import DeliveryState, Outcome
from bridge.sink import ending
from bridge.sink.ports import DeadLetter, Reason
from bridge.sink.share_ports import Acknowledgement, Held, State

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.model.conditions import Condition
    from bridge.model.failures import Failure
    from bridge.sink.policy import SinkPolicy
    from bridge.sink.undelivered import Surroundings


class ShareFates:
    """Decides for the records of one link.

    `answer` is called with what Kafka is to be told of a record, `moved` when that happened outside of a
    batch of events, `ends` with what ends the link.
    """

    def __init__(
        self,
        policy: SinkPolicy,
        around: Surroundings,
        *,
        answer: Callable[[Held, Acknowledgement], None],
        moved: Callable[[], None],
        ends: Callable[[Condition], None],
    ) -> None:
        self._policy = policy
        self._around = around
        self._events = around.events
        self._answer = answer
        self._moved = moved
        self._ends = ends
        self._came_back: dict[int, list[Held]] = {}
        """Records that came back in the current batch of events, by their attempts."""
        self.burying = 0
        """How many records are on their way to the dead-letter topic."""
        self.closed = False

    def batch_ended(self) -> None:
        """Let the pauses begin of what came back.

        A pause, since Kafka gives a released record to the next who asks, which may be the same receiver: one
        that cannot work for a moment would use up all attempts in that moment.
        """
        came_back, self._came_back = self._came_back, {}
        for attempts, records in came_back.items():
            pause_seconds = self._policy.redelivery.pause_seconds(attempts)
            self._around.later(pause_seconds, partial(self._release, records))

    def came_back(self, held: Held, outcome: Outcome) -> None:
        """Deal with a record that was released, modified, or settled without an outcome."""
        failed_too_often = (
            outcome.delivery_failed and held.attempts >= self._policy.redelivery.attempts_max
        ) or held.is_last
        if failed_too_often and self._around.dead_letters is not None:
            self._put_away(
                held,
                DeadLetter(
                    Reason.MAX_ATTEMPTS, held.attempts, outcome.condition, annotations=outcome.annotations
                ),
            )
        elif held.is_last:
            self._pass_over(held, outcome)
        else:
            self._events.redelivered(held.partition, held.offset, outcome)
            held.state = State.PAUSED
            self._came_back.setdefault(held.attempts, []).append(held)

    def refused(self, held: Held, outcome: Outcome) -> None:
        """Deal with a record that the receiver does not want, however often it comes."""
        if self._around.dead_letters is not None:
            reason = Reason.of_refusal(outcome)
            self._put_away(held, DeadLetter(reason, held.attempts, outcome.condition, outcome.annotations))
        elif self._policy.rejected == "detach":
            self.give_back(held)
            about = self._around.about
            self._ends(ending.refused(held.partition, held.offset, about, ending.GIVEN_BACK))
        else:
            self._pass_over(held, outcome)

    def too_large(self, held: Held, size_bytes: int, largest_bytes: int) -> None:
        """Deal with a record whose message is larger than the receiver takes."""
        condition = ending.too_large(size_bytes, largest_bytes)
        if self._around.dead_letters is not None:
            self._put_away(held, DeadLetter(Reason.MESSAGE_SIZE_EXCEEDED, held.attempts, condition))
        else:
            self.give_back(held)
            about = self._around.about
            self._ends(
                ending.too_large_to_go_on(condition, held.partition, held.offset, about, ending.GIVEN_BACK)
            )

    def give_back(self, held: Held) -> None:
        """Give back a record that was not answered in time, or whose link is over.

        One that is on its way to the dead-letter topic is given back too, unless Kafka would drop it: then
        that topic is waited for.
        """
        if held.state is State.ANSWERED:
            return
        if not held.is_last:
            self._answer(held, Acknowledgement.RELEASE)
        elif held.state is State.BURYING:
            return
        elif self._around.dead_letters is not None:
            self._put_away(held, DeadLetter(Reason.MAX_ATTEMPTS, held.attempts))
        else:
            self._pass_over(held, Outcome(DeliveryState.NONE))

    # ------------------------------------------------------------------ inside

    def _release(self, records: Sequence[Held]) -> None:
        """Give back what came back, when its pause is over."""
        for held in records:
            if held.state is State.PAUSED:
                self._answer(held, Acknowledgement.RELEASE)
        self._moved()

    def _pass_over(self, held: Held, outcome: Outcome) -> None:
        self._events.skipped(held.partition, held.offset, outcome)
        self._answer(held, Acknowledgement.REJECT)

    def _put_away(self, held: Held, letter: DeadLetter) -> None:
        """Put a record into the dead-letter topic; Kafka is told to drop it when it has it there."""
        held.state = State.BURYING
        self.burying += 1
        self._bury(held, letter, 1)

    def _bury(self, held: Held, letter: DeadLetter, tries: int) -> None:
        if held.state is not State.BURYING:
            # It was given back meanwhile: whoever gets it next deals with it.
            self._over()
        elif self._around.dead_letters is not None:
            self._around.dead_letters(held.record, letter, partial(self._buried, held, letter, tries))

    def _buried(self, held: Held, letter: DeadLetter, tries: int, failure: Failure | None) -> None:
        """Take the dead-letter topic's answer."""
        if failure is None:
            self._events.dead_lettered(held.partition, held.offset, letter)
            if held.state is State.BURYING:
                self._answer(held, Acknowledgement.REJECT)
            self._over()
            return
        self._events.dead_letter_failed(held.partition, held.offset, failure)
        if failure.retriable and (held.is_last or not self.closed):
            pause_seconds = self._policy.redelivery.pause_seconds(tries)
            self._around.later(pause_seconds, partial(self._bury, held, letter, tries + 1))
            return
        if held.state is State.BURYING:
            if held.is_last:
                self._pass_over(held, Outcome(DeliveryState.REJECTED, letter.condition))
            else:
                self._answer(held, Acknowledgement.RELEASE)
        self._over()
        if not self.closed:
            # What became of the record depends on how often Kafka had given it.
            self._ends(
                ending.put_away_failed(failure, held.partition, held.offset, self._around.about, then="")
            )

    def _over(self) -> None:
        self.burying -= 1
        self._moved()
