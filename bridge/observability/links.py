"""Turns what links report into log events, and keeps a flood of equal reports to one line a second.

One reporter belongs to one link. The first report of a kind is written at once; those that follow
within a second are counted and written as one line with their number.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from bridge.observability import events
from bridge.observability.metrics_links import (
    DEAD_LETTERED,
    REFUSED,
    RELEASED,
    SKIPPED,
    SinkTotals,
    SourceTotals,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from bridge.model.failures import Failure
    from bridge.model.links import AttachRequest
    from bridge.model.outcomes import Outcome
    from bridge.observability.metrics_links import CountingSink, CountingSource
    from bridge.sink.ports import DeadLetter

Detail = TypeVar("Detail")

QUIET_SECONDS: Final = 1.0


class Burst(Generic[Detail]):
    """Writes the first of many equal reports, then one line for all that come within a second."""

    __slots__ = ("_count", "_last", "_loop", "_timer", "_write")

    def __init__(self, loop: asyncio.AbstractEventLoop, write: Callable[[int, Detail], None]) -> None:
        self._loop = loop
        self._write = write
        self._count = 0
        self._last: Detail | None = None
        self._timer: asyncio.TimerHandle | None = None

    def add(self, detail: Detail) -> None:
        """Report one."""
        if self._timer is None:
            self._write(1, detail)
            self._timer = self._loop.call_later(QUIET_SECONDS, self._passed)
        else:
            self._count += 1
            self._last = detail

    def flush(self) -> None:
        """Write what is counted now."""
        if self._timer is not None:
            self._timer.cancel()
        self._passed()

    def _passed(self) -> None:
        self._timer = None
        count, last = self._count, self._last
        self._count, self._last = 0, None
        if count and last is not None:
            self._write(count, last)
            self._timer = self._loop.call_later(QUIET_SECONDS, self._passed)


class SourceReporter:
    """Reports one source link. `totals` are those of all source links."""

    __slots__ = (
        "_connection",
        "_counts",
        "_dropped",
        "_link",
        "_loop",
        "_machine",
        "_on_end",
        "_refused",
        "_topic",
        "_totals",
        "drops",
        "refusals",
    )

    def __init__(
        self,
        connection: int,
        link: str,
        topic: str,
        loop: asyncio.AbstractEventLoop,
        totals: SourceTotals | None = None,
    ) -> None:
        self._connection = connection
        self._link = link
        self._topic = topic
        self._loop = loop
        self._totals = SourceTotals() if totals is None else totals
        self._machine: CountingSource | None = None
        self._on_end: Callable[[], object] | None = None
        self._counts: Callable[[], Mapping[str, object]] = dict
        self.drops = 0
        """How many pre-settled messages were lost."""
        self.refusals = 0
        """How many messages had another outcome than accepted."""
        # Made when they are needed: there are thousands of links, and most never have any.
        self._refused: Burst[Outcome] | None = None
        self._dropped: Burst[str] | None = None

    def watch(self, machine: CountingSource) -> None:
        """Say which machine counts the link's messages."""
        self._machine = machine
        self._totals.watch(machine, self)

    def on_end(self, call: Callable[[], object]) -> None:
        """Say what is called when the link is over."""
        self._on_end = call

    def counting(self, counts: Callable[[], Mapping[str, object]]) -> None:
        """Say what else is told at the link's end."""
        self._counts = counts

    def attached(self, request: AttachRequest) -> None:
        """Report the link's opening."""
        events.link_attached(self._connection, self._link, "source", request.address or "", _modes(request))

    def refused(self, outcome: Outcome) -> None:
        """Report a message with another outcome than accepted."""
        self.refusals += 1
        self._totals.refused[outcome.state] += 1
        if self._refused is None:
            write = partial(events.messages_refused, self._connection, self._link, self._topic)
            self._refused = Burst(self._loop, write)
        self._refused.add(outcome)

    def dropped(self, reason: str) -> None:
        """Report a pre-settled message that was lost."""
        self.drops += 1
        self._totals.dropped += 1
        if self._dropped is None:
            write = partial(events.messages_dropped, self._connection, self._link, self._topic)
            self._dropped = Burst(self._loop, write)
        self._dropped.add(reason)

    def broke(self, error: Exception) -> None:
        """Report a defect of the bridge that ended the link."""
        events.link_handler_failed(self._connection, self._link, error)

    def ended(self, accepted: int, unanswered: int, in_doubt: int) -> None:
        """Report the link's end."""
        for burst in (self._refused, self._dropped):
            if burst is not None:
                burst.flush()
        if self._machine is not None:
            self._totals.ended(self._machine, unanswered)
        events.link_ended(
            self._connection,
            self._link,
            "source",
            {
                "topic": self._topic,
                "accepted": accepted,
                "refused": self.refusals,
                "unanswered": unanswered,
                "in_doubt": in_doubt,
                "dropped": self.drops,
                **self._counts(),
            },
        )
        on_end = self._on_end
        # All these know the link, which knows this: Python frees them at once if they part.
        self._machine, self._on_end, self._counts = None, None, dict
        if on_end is not None:
            on_end()


class SinkReporter:
    """Reports one sink link and its consumer.

    `on_end` is called when the link is over; `totals` are those of all sink links.
    """

    def __init__(
        self,
        connection: int,
        link: str,
        topic: str,
        loop: asyncio.AbstractEventLoop,
        on_end: Callable[[], object],
        totals: SinkTotals | None = None,
    ) -> None:
        self._connection = connection
        self._link = link
        self._topic = topic
        self._on_end = on_end
        self._totals = SinkTotals() if totals is None else totals
        self._machine: CountingSink | None = None
        self._counts: Callable[[], Mapping[str, object]] = dict
        self.redeliveries = 0
        self.dead_letters = 0
        self.skips = 0
        # None of them knows this reporter, which knows them.
        self._redelivered: Burst[tuple[int, int, Outcome]] = Burst(
            loop,
            lambda count, last: events.records_redelivered(
                connection, link, _record(topic, last[0], last[1]), count, last[2]
            ),
        )
        self._put_away: Burst[tuple[int, int, DeadLetter]] = Burst(
            loop,
            lambda count, last: events.records_dead_lettered(
                connection, link, _record(topic, last[0], last[1]), count, last[2]
            ),
        )
        self._not_put_away: Burst[tuple[int, int, Failure]] = Burst(
            loop,
            lambda count, last: events.dead_letters_failed(
                connection, link, _record(topic, last[0], last[1]), count, last[2]
            ),
        )

    def watch(self, machine: CountingSink) -> None:
        """Say which machine counts the link's messages."""
        self._machine = machine
        self._totals.watch(machine)

    def counting(self, counts: Callable[[], Mapping[str, object]]) -> None:
        """Say what else is told at the link's end."""
        self._counts = counts

    def attached(self, request: AttachRequest) -> None:
        """Report the link's opening."""
        events.link_attached(self._connection, self._link, "sink", request.address or "", _modes(request))

    def skipped(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Report a record that was passed over."""
        self.skips += 1
        self._totals.outcomes[SKIPPED] += 1
        events.record_skipped(self._connection, self._link, self._record(partition, offset), outcome)

    def redelivered(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Report a record that will be sent again."""
        self.redeliveries += 1
        self._totals.outcomes[REFUSED.get(outcome.state, RELEASED)] += 1
        self._redelivered.add((partition, offset, outcome))

    def dead_lettered(self, partition: int, offset: int, letter: DeadLetter) -> None:
        """Report a record that the dead-letter topic has."""
        self.dead_letters += 1
        self._totals.outcomes[DEAD_LETTERED] += 1
        self._put_away.add((partition, offset, letter))

    def dead_letter_failed(self, partition: int, offset: int, failure: Failure) -> None:
        """Report a record that the dead-letter topic did not take."""
        self._not_put_away.add((partition, offset, failure))

    def failed(self, failure: Failure) -> None:
        """Report what ended the consumer."""
        events.consumer_failed(self._connection, self._link, self._topic, failure)

    def commit_failed(self, offsets: dict[int, int], failure: Failure) -> None:
        """Report a commit that failed."""
        events.commit_failed(self._connection, self._link, self._topic, offsets, failure)

    def rebalanced(self, kind: str, partitions: Sequence[int]) -> None:
        """Report partitions that were assigned, revoked or lost."""
        events.consumer_rebalanced(self._connection, self._link, self._topic, kind, partitions)

    def reset(self, partition: int, offset: int, to: int) -> None:
        """Report an offset that was to be read and is not there, and where reading goes on."""
        events.offset_reset(self._connection, self._link, self._record(partition, offset), to)

    def broke(self, error: Exception) -> None:
        """Report a defect of the bridge that ended the link."""
        events.link_handler_failed(self._connection, self._link, error)

    def ended(self, accepted: int, unanswered: int) -> None:
        """Report the link's end."""
        for burst in (self._redelivered, self._put_away, self._not_put_away):
            burst.flush()
        if self._machine is not None:
            self._totals.ended(self._machine, unanswered)
        events.link_ended(
            self._connection,
            self._link,
            "sink",
            {
                "topic": self._topic,
                "accepted": accepted,
                "unanswered": unanswered,
                "redelivered": self.redeliveries,
                "dead_lettered": self.dead_letters,
                "skipped": self.skips,
                **self._counts(),
            },
        )
        on_end = self._on_end
        # As with source links.
        self._machine, self._on_end, self._counts = None, _nothing, dict
        on_end()

    def _record(self, partition: int, offset: int) -> dict[str, object]:
        return _record(self._topic, partition, offset)


def _nothing() -> None: ...


def _record(topic: str, partition: int, offset: int) -> dict[str, object]:
    return {"topic": topic, "partition": partition, "offset": offset}


def _modes(request: AttachRequest) -> dict[str, object]:
    return {
        "snd_settle_mode": request.snd_settle_mode.name.lower(),
        "rcv_settle_mode": request.rcv_settle_mode.name.lower(),
    }
