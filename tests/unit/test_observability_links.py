from __future__ import annotations

import asyncio

from bridge.observability import links
from bridge.observability.links import Burst


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
