"""Producers as the service has them, and a link's side of them."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from bridge.kafka import failures
from bridge.kafka.pool import PoolSettings, ProducerPool
from bridge.kafka.producers import ReportPump

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from bridge.kafka.pool import Acks
    from bridge.kafka.settings import ErrorSink
    from bridge.model.failures import Failure

LIMIT_SECONDS: Final = 60.0
ANY: Final = -1


class Reports:
    """A link, as far as the pump knows it: reports come in, and are answered by `flush`."""

    def __init__(self, pump: ReportPump) -> None:
        self._pump = pump
        self._new: list[tuple[object, object]] = []
        self.answered: list[tuple[object, Failure | None]] = []
        self.flushes = 0
        self.broken: list[Exception] = []
        self.raises: Exception | None = None

    def report(self, name: object) -> Callable[[object, object], None]:
        """Return what to give to `produce` for the record of that name."""
        return partial(self._reported, name)

    def flush(self) -> None:
        self.flushes += 1
        new, self._new = self._new, []
        if self.raises is not None:
            raise self.raises
        self.answered += [
            (name, None if error is None else failures.classify_report(error)) for name, error in new
        ]

    def broke(self, error: Exception) -> None:
        self.broken.append(error)

    def _reported(self, name: object, error: object, _message: object) -> None:
        if not self._new:
            self._pump.ready(self)
        self._new.append((name, error))

    async def await_answers(self, count: int) -> None:
        await until(lambda: len(self.answered) >= count)

    def stored(self) -> list[object]:
        """Return the names of the records that were stored, as they were reported."""
        return [name for name, failure in self.answered if failure is None]

    def failed(self) -> dict[object, Failure]:
        """Return why the others were not."""
        return {name: failure for name, failure in self.answered if failure is not None}


class Rig:
    """A pool of producers and a pump as the service has them."""

    def __init__(
        self,
        servers: str,
        acks: Acks = "all",
        options: Mapping[str, str] = MappingProxyType({}),
        on_error: ErrorSink | None = None,
    ) -> None:
        self.defects: list[Exception] = []
        self.errors: list[tuple[str, str, str, bool]] = []
        self.rebuilt = 0
        self.pump = ReportPump(self.defects.append)
        self.pool = ProducerPool(
            PoolSettings(servers, options, message_max_bytes=100_000),
            self.pump,
            on_error=on_error or (lambda *error: self.errors.append(error)),
            on_rebuilt=self._count_rebuilt,
        )
        self.acks: Acks = acks
        self.producer = self.pool.get(acks)
        self.pump.start()
        self.reports = Reports(self.pump)

    def produce(self, topic: str, value: bytes | None, **given: Any) -> Failure | None:  # noqa: ANN401 - passed on
        """Produce a record under the name of its value; `limit_bytes` is what its topic takes."""
        return self.pool.get(self.acks, given.get("limit_bytes")).produce(
            topic,
            value,
            given.get("key"),
            given.get("headers"),
            given.get("partition", ANY),
            given.get("timestamp_ms", 0),
            self.reports.report(given.get("name", value)),
        )

    def _count_rebuilt(self) -> None:
        self.rebuilt += 1


async def until(happened: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not happened():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test on an event loop."""

    async def bounded() -> None:
        await asyncio.wait_for(test(), LIMIT_SECONDS)

    asyncio.run(bounded())
