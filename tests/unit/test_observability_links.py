from __future__ import annotations

import asyncio
import gc
import weakref

from bridge.model.outcomes import MODIFIED_FAILED, RELEASED, DeliveryState, Outcome
from bridge.observability import links
from bridge.observability.links import Burst
from bridge.observability.metrics_links import SinkTotals, SourceTotals
from bridge.sink.ports import DeadLetter, Reason


def test_the_first_report_is_written_at_once_and_the_rest_as_one_line() -> None:
    async def test() -> list[tuple[int, str]]:
        written: list[tuple[int, str]] = []
        burst: Burst[str] = Burst(
            asyncio.get_running_loop(), lambda count, last: written.append((count, last))
        )
        for number in range(1000):
            burst.add(f"report {number}")
        assert written == [(1, "report 0")]
        burst.flush()
        return written

    assert asyncio.run(test()) == [(1, "report 0"), (999, "report 999")]


def test_a_link_that_ends_tells_what_was_counted() -> None:
    async def test() -> list[int]:
        ended: list[int] = []
        reporter = links.SourceReporter(1, "link", "topic", asyncio.get_running_loop())
        reporter.on_end(lambda: ended.append(1))
        for _ in range(3):
            reporter.dropped("the queue is full")
        reporter.ended(0, 0, 0)
        return ended

    assert asyncio.run(test()) == [1]


def test_outcomes_and_losses_are_counted_for_all_links_also_when_theirs_is_over() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        totals = SourceTotals()
        one, other = (links.SourceReporter(number, "link", "topic", loop, totals) for number in (1, 2))
        one.refused(RELEASED)
        other.refused(RELEASED)
        other.refused(MODIFIED_FAILED)
        one.ended(0, 0, 0)
        one.dropped("the link ended before")
        assert totals.refused == {DeliveryState.RELEASED: 2, DeliveryState.MODIFIED: 1}
        assert totals.dropped == 1

    asyncio.run(test())


def test_what_became_of_deliveries_is_counted_for_all_links() -> None:
    async def test() -> None:
        totals = SinkTotals()
        reporter = links.SinkReporter(1, "link", "topic", asyncio.get_running_loop(), lambda: None, totals)
        reporter.redelivered(0, 1, RELEASED)
        reporter.redelivered(0, 1, MODIFIED_FAILED)
        reporter.redelivered(0, 1, Outcome(DeliveryState.NONE))
        reporter.skipped(0, 2, Outcome(DeliveryState.REJECTED))
        reporter.dead_lettered(0, 3, DeadLetter(Reason.REJECTED, 1))
        assert totals.outcomes == {"released": 2, "modified": 1, "skipped": 1, "dead_lettered": 1}

    asyncio.run(test())


class Machine:
    """A sink link, as far as its reporter knows it."""

    def __init__(self, reporter: links.SinkReporter) -> None:
        self.reporter = reporter
        self.accepted_count = self.settled_count = self.ends = 0
        reporter.watch(self)
        reporter.counting(lambda: {"late": self.accepted_count})

    def ended(self) -> None:
        """Take notice of the end."""
        self.ends += 1


def test_a_sink_link_that_has_ended_and_its_reporter_are_freed_without_the_garbage_collector() -> None:
    async def test() -> None:
        ends: list[Machine] = []
        reporter = links.SinkReporter(
            1, "link", "topic", asyncio.get_running_loop(), lambda: ends.pop().ended()
        )
        machine = Machine(reporter)
        ends.append(machine)
        reporter.ended(1, 0)
        assert machine.ends == 1
        gc.disable()
        try:
            held = weakref.ref(machine), weakref.ref(reporter)
            del machine, reporter
            assert held[0]() is None
            assert held[1]() is None
        finally:
            gc.enable()

    asyncio.run(test())
