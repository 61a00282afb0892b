"""Records that were sent and not accepted: sent again, put into the dead-letter topic, or passed over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bridge.mapping.annotate import merge
from bridge.model.outcomes import DeliveryState, Outcome
from bridge.sink import ending
from bridge.sink.ports import DeadLetter, Reason
from bridge.sink.redelivery import RECORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.model.conditions import Condition
    from bridge.model.failures import Failure
    from bridge.sink.lane import Lane
    from bridge.sink.policy import SinkPolicy
    from bridge.sink.ports import ConsumedRecord, DeadLetters, SinkEvents
    from bridge.sink.redelivery import Retry


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a sink link has around it beside the engine and its consumer.

    `later` calls back after so many seconds. `dead_letters` is None where there is no such topic. `about` is
    told to the peer with whatever ends the link.
    """

    events: SinkEvents
    later: Callable[[float, Callable[[], None]], object]
    dead_letters: DeadLetters | None
    about: Mapping[str, str]


class Undelivered:
    """What becomes of the records of one link that are not accepted.

    `done` is called with a record that is dealt with, `moved` when that happened outside of a batch of
    events, `again` with records whose pause is over, `ends` with what ends the link.
    """

    def __init__(
        self,
        policy: SinkPolicy,
        around: Surroundings,
        *,
        done: Callable[[Lane, ConsumedRecord], object],
        moved: Callable[[], None],
        again: Callable[[list[tuple[Lane, Retry]]], None],
        ends: Callable[[Condition], None],
        stops: Callable[[Condition], None],
    ) -> None:
        self._policy = policy
        self._around = around
        self._events = around.events
        # Whoever looks at copies does not take the records away from those whose they are.
        self._dead_letters = None if policy.browses else around.dead_letters
        self._done = done
        self._moved = moved
        self._again = again
        self._ends = ends
        self._stops = stops
        self._came_back: dict[int, list[tuple[Lane, Retry]]] = {}
        """Records that came back in the current batch of events, by how often they did."""
        self._pausing: dict[int, list[tuple[Lane, Retry]]] = {}
        """Those whose pause has begun, by its number."""
        self._pauses = 0
        self._closed = False
        self.bytes = 0
        """What the records take that are on their way to the dead-letter topic."""

    def batch_ended(self) -> None:
        """Let the pauses begin of what came back."""
        if self._came_back:
            came_back, self._came_back = self._came_back, {}
            for tries, retries in came_back.items():
                self._pauses += 1
                self._pausing[self._pauses] = retries
                pause_seconds = self._policy.redelivery.pause_seconds(tries)
                self._around.later(pause_seconds, partial(self._due, self._pauses))

    def close(self) -> None:
        """Forget what was to be sent again: its timers may have long to go."""
        self._closed = True
        self._came_back.clear()
        self._pausing.clear()
        self._part()

    def _due(self, pause: int) -> None:
        retries = self._pausing.pop(pause, None)
        if retries is not None:
            self._again(retries)

    def take_back(self, lane: Lane, retry: Retry, outcome: Outcome) -> bool:
        """Have a record sent again after a pause, or put away after too many attempts; gives False then."""
        rules = self._policy.redelivery
        retry.came_back(outcome, rules.releases_max)
        if self._dead_letters is not None and retry.failed >= rules.attempts_max:
            letter = DeadLetter(
                Reason.MAX_ATTEMPTS, retry.tries, outcome.condition, annotations=retry.annotations
            )
            self._put_away(lane, retry, letter)
            return False
        self._events.redelivered(lane.partition, retry.offset, outcome)
        lane.put_back(retry)
        self._came_back.setdefault(retry.tries, []).append((lane, retry))
        return True

    def give_up(self, lane: Lane, retry: Retry, outcome: Outcome) -> None:
        """Deal with a record that the receiver does not want, however often it comes."""
        if self._dead_letters is not None:
            letter = DeadLetter(
                Reason.of_refusal(outcome),
                retry.tries + 1,
                outcome.condition,
                merge(retry.annotations, outcome.annotations),
            )
            self._put_away(lane, retry, letter)
        elif self._policy.rejected == "detach":
            self._ends(ending.refused(lane.partition, retry.offset, self._around.about))
        else:
            self._events.skipped(lane.partition, retry.offset, outcome)
            self._done(lane, retry.record)

    def too_large(self, lane: Lane, retry: Retry, size_bytes: int, largest_bytes: int) -> None:
        """Deal with a record whose message is larger than the receiver takes."""
        condition = ending.too_large(size_bytes, largest_bytes)
        if self._dead_letters is not None:
            letter = DeadLetter(Reason.MESSAGE_SIZE_EXCEEDED, retry.tries, condition, retry.annotations)
            self._put_away(lane, retry, letter)
        elif self._policy.sends_settled:
            # It is committed already.
            self._events.skipped(lane.partition, retry.offset, Outcome(DeliveryState.REJECTED, condition))
        else:
            self._stops(
                ending.too_large_to_go_on(condition, lane.partition, retry.offset, self._around.about)
            )

    # ------------------------------------------------------------------ dead letters

    def _put_away(self, lane: Lane, retry: Retry, letter: DeadLetter) -> None:
        """Put a record into the dead-letter topic; it is done when Kafka has it there."""
        lane.burying += 1
        self.bytes += len(retry.record) + RECORD_BYTES
        self._bury(lane, retry, letter, 1)

    def _bury(self, lane: Lane, retry: Retry, letter: DeadLetter, tries: int) -> None:
        if lane.closed and (tries > 1 or not self._policy.sends_settled):
            # Its next owner deals with it. (What is committed has none, and is not tried for ever.)
            self._over(lane, retry)
        elif self._dead_letters is not None:
            self._dead_letters(retry.record, letter, partial(self._buried, lane, retry, letter, tries))

    def _buried(
        self, lane: Lane, retry: Retry, letter: DeadLetter, tries: int, failure: Failure | None
    ) -> None:
        """Take the dead-letter topic's answer."""
        if failure is None:
            self._events.dead_lettered(lane.partition, retry.offset, letter)
            self._over(lane, retry)
            return
        self._events.dead_letter_failed(lane.partition, retry.offset, failure)
        if failure.retriable and not lane.closed:
            pause_seconds = self._policy.redelivery.pause_seconds(tries)
            self._around.later(pause_seconds, partial(self._bury, lane, retry, letter, tries + 1))
        elif lane.closed or self._policy.sends_settled:
            # Its next owner deals with it, or nobody does: it is committed already.
            self._over(lane, retry)
        else:
            self._ends(ending.put_away_failed(failure, lane.partition, retry.offset, self._around.about))

    def _over(self, lane: Lane, retry: Retry) -> None:
        lane.burying -= 1
        self.bytes -= len(retry.record) + RECORD_BYTES
        if not lane.closed:
            self._done(lane, retry.record)
        self._moved()
        self._part()

    def _part(self) -> None:
        """Part from a link that has ended, when nothing more is to be told to it.

        It knows this, and Python frees both at once if they part.
        """
        if self._closed and not self.bytes:
            self._done = self._moved = self._again = self._ends = self._stops = _nothing


def _nothing(*_: object) -> None: ...
