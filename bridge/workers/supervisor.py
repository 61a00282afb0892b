"""The first process of a service of several workers: starts them, watches them, answers for them.

It reserves the port, so that the same one is there for a worker that is started again; lets all workers
listen at the same moment, so that clients that come at once are dealt out to all; and has the management
port. A worker that ends is started again, the others' connections live on. When the supervisor is told to
end, it has all workers end within the grace; when it is killed, they notice and end by themselves.
"""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bridge import __version__
from bridge.observability import events
from bridge.observability import workers as worker_events
from bridge.observability.health import ManagementServer, Readiness
from bridge.observability.metrics_merging import FormerTotals, merged
from bridge.observability.metrics_process import process_families
from bridge.observability.metrics_service import service_families
from bridge.workers.contract import END_MARGIN_SECONDS, EXIT_START, Assignment
from bridge.workers.port import ReservedPort
from bridge.workers.slot import Slot, State

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping, Sequence
    from typing import Any

    from bridge.config import Settings
    from bridge.observability.metrics import Family

COLLECT_SECONDS: Final = 10.0
"""How often workers tell their metrics if nobody scrapes them: what one counted since is lost with it."""
SELF: Final = "supervisor"
"""The label of the supervisor's own process, where workers have their numbers."""


class Supervisor:
    """Runs a service of `settings.bridge.workers` processes."""

    def __init__(self, settings: Settings, bootstrap_servers: str) -> None:
        self._settings = settings
        self._bootstrap_servers = bootstrap_servers
        self._loop = asyncio.get_running_loop()
        self._stop_asked: asyncio.Future[str] = self._loop.create_future()
        self._former = FormerTotals()
        self._slots: list[Slot] = []

    async def run(self) -> int:
        """Serve until SIGTERM or SIGINT, then shut down; gives the exit code.

        Raises StartError when a worker cannot start, OSError when a port is taken.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.stop, number.name)
        self._loop.add_signal_handler(signal.SIGHUP, self.reload)
        amqp, management = self._settings.amqp, self._settings.management
        try:
            reserved = ReservedPort(amqp.host, amqp.port)
        except OSError as error:
            raise OSError(f"amqp.host and amqp.port (BRIDGE_AMQP_PORT): {error}") from error
        with reserved:
            self._slots = [
                Slot(number, self._assignment(reserved.port), self._former)
                for number in range(self._settings.bridge.workers)
            ]
            server = ManagementServer(self) if management.enabled else None
            address = None
            try:
                if server is not None:
                    address = f"{management.host}:{await server.start(management.host, management.port)}"
                return await self._run(f"{amqp.host}:{reserved.port}", address)
            finally:
                if server is not None:
                    await server.stop()

    def stop(self, reason: str) -> None:
        """Ask for the shutdown."""
        if not self._stop_asked.done():
            self._stop_asked.set_result(reason)

    def reload(self) -> None:
        """Have all workers read the routes again."""
        for slot in self._slots:
            slot.reload()

    # ------------------------------------------------------------------ what operators ask

    def health(self) -> Mapping[str, object]:
        """Say how the workers are.

        The service is alive as long as this process is: a worker that ends, or stands still, is this
        process's business. To restart the whole for it would break the connections of all others.
        """
        return {"workers": [slot.described() for slot in self._slots]}

    def readiness(self) -> Readiness:
        """Tell whether clients should be sent here: if any worker takes them, they get to one that does."""
        if self._stop_asked.done():
            return Readiness(ready=False, problems=["the service is shutting down"], details=self.health())
        by_worker = [(slot.number, slot.problems()) for slot in self._slots]
        problems = [f"worker {number}: {problem}" for number, found in by_worker for problem in found]
        any_ready = any(not found for _, found in by_worker)
        has_started = all(slot.state is not State.STARTING for slot in self._slots)
        return Readiness(any_ready and has_started, problems, self.health())

    async def metrics(self) -> Sequence[Family]:
        """Read the metrics of all workers, as those of one service."""
        await self._read_metrics()
        by_worker = {str(slot.number): slot.families for slot in self._slots}
        running = sum(slot.state is State.RUNNING for slot in self._slots)
        restarts = {str(slot.number): slot.restarts for slot in self._slots}
        return [
            *service_families(len(self._slots), running, restarts),
            *merged({**by_worker, SELF: process_families()}, self._former),
        ]

    # ------------------------------------------------------------------ inside

    def _assignment(self, port: int) -> Assignment:
        """Give a worker's settings: the port that is reserved, its part of the memory, no port of its own."""
        settings = self._settings
        return Assignment(
            replace(
                settings,
                amqp=replace(settings.amqp, port=port),
                source=replace(
                    settings.source, budget_bytes=settings.source.budget_bytes // settings.bridge.workers
                ),
                management=replace(settings.management, enabled=False),
            ),
            self._bootstrap_servers,
        )

    async def _run(self, amqp: str, management: str | None) -> int:
        tasks: list[asyncio.Future[Any]] = [self._loop.create_task(self._start())]
        try:
            if await self._until_stop(tasks):
                started = __version__, amqp, management, self._bootstrap_servers, len(self._slots)
                worker_events.service_started(*started)
                tasks = [self._loop.create_task(slot.supervise()) for slot in self._slots]
                tasks.append(self._loop.create_task(self._collect()))
                await self._until_stop(tasks)
        except BaseException:
            await self._end_all(END_MARGIN_SECONDS)
            raise
        grace_seconds = self._settings.shutdown.grace_ms / 1000
        events.service_stopping(self._stop_asked.result(), grace_seconds)
        ended_well = await self._end_all(grace_seconds + END_MARGIN_SECONDS)
        await _cancelled(tasks)
        events.service_stopped(sum(slot.unacknowledged for slot in self._slots))
        return 0 if ended_well else EXIT_START

    async def _until_stop(self, tasks: Sequence[asyncio.Future[Any]]) -> bool:
        """Wait until the shutdown is asked for, or one of the tasks is through, and raise what it raised.

        Gives whether to go on: no shutdown was asked for.
        """
        done, _ = await asyncio.wait([self._stop_asked, *tasks], return_when=asyncio.FIRST_COMPLETED)
        if self._stop_asked in done:
            return False
        for task in done:
            task.result()
        return True

    async def _start(self) -> None:
        """Let all workers listen, as soon as all of them can. Raises StartError, OSError."""
        await _all(slot.prepare() for slot in self._slots)
        await _all(slot.listen() for slot in self._slots)

    async def _end_all(self, seconds: float) -> bool:
        return all(await asyncio.gather(*(slot.stop(seconds) for slot in self._slots)))

    async def _collect(self) -> None:
        """Have workers tell what they have counted, so that it is known if one is killed."""
        while True:
            await asyncio.sleep(COLLECT_SECONDS)
            await self._read_metrics()

    async def _read_metrics(self) -> None:
        await asyncio.gather(*(slot.read_metrics() for slot in self._slots))


async def _all(steps: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Wait for all, or raise what the first of them raises that fails."""
    tasks = [asyncio.ensure_future(step) for step in steps]
    try:
        await asyncio.gather(*tasks)
    finally:
        await _cancelled(tasks)


async def _cancelled(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """End tasks of which nothing more is wanted."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
