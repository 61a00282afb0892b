"""One of the workers that there are to be: its process, and the next one when that has ended."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from bridge.observability import workers as events
from bridge.observability.metrics import unpacked
from bridge.workers import contract
from bridge.workers.contract import StartError
from bridge.workers.pauses import Pauses
from bridge.workers.process import WorkerProcess, ended_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.observability.metrics import Family
    from bridge.observability.metrics_merging import FormerTotals
    from bridge.workers.contract import Assignment

CHECK_SECONDS: Final = 1.0
"""How often a worker is asked how it is. So old is what probes are told, at most."""
SILENT_CHECKS: Final = 5
"""After so many checks without an answer a worker is named as silent: its loop does not turn."""
KILL_CHECKS: Final = 30
"""After so many it is killed, as an orchestrator does with a process that does not answer its probes. Checks
are counted, not seconds: a machine that stood still has missed none."""
METRICS_SECONDS: Final = 2.0
"""How long a worker's metrics are waited for, before those that it told the last time are used."""


UNKNOWN: Final = ("nothing is known of it yet",)


class State(Enum):
    """What a worker is doing, as operators are told."""

    STARTING = "starting"
    RUNNING = "running"
    SILENT = "silent"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    ENDED = "ended"


class Slot:
    """Worker `number`. What its processes had counted when they ended goes to `former`."""

    def __init__(
        self,
        number: int,
        assignment: Assignment,
        former: FormerTotals,
        *,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._check_seconds = check_seconds
        self.number = number
        self._assignment = assignment
        self._former = former
        self._loop = asyncio.get_running_loop()
        self._process: WorkerProcess | None = None
        self._stopping = asyncio.Event()
        self._pauses = Pauses()
        self._silent_checks = 0
        self._problems: Sequence[str] = UNKNOWN
        self._last_end = ""
        self.restarts = 0
        self.families: Sequence[Family] = ()
        """The metrics that the process has told the last time; they go to `former` when it ends."""

    # ------------------------------------------------------------------ how it is

    @property
    def state(self) -> State:
        """What it is doing."""
        process = self._process
        if self._stopping.is_set():
            return State.ENDED if process is None or process.has_ended else State.STOPPING
        if process is not None and process.listens:
            return State.SILENT if self._silent_checks >= SILENT_CHECKS else State.RUNNING
        return State.RESTARTING if self._last_end else State.STARTING

    def problems(self) -> Sequence[str]:
        """Say why clients should not be sent to it; nothing if they should."""
        match self.state:
            case State.RUNNING:
                return self._problems
            case State.SILENT:
                return ["its event loop does not answer"]
            case State.RESTARTING:
                return [f"it is being restarted, after {self._last_end}"]
            case state:
                return [f"it is {state.value}"]

    def described(self) -> dict[str, object]:
        """Say how it is, for the probes."""
        process = self._process
        described: dict[str, object] = {"worker": self.number, "state": self.state.value}
        if process is not None and not process.has_ended:
            described["process"] = process.process_id
        if self._last_end:
            described |= {"restarts": self.restarts, "last_end": self._last_end}
        return described

    @property
    def unacknowledged(self) -> int:
        """How many records had no answer from Kafka when it stopped."""
        return 0 if self._process is None else self._process.unacknowledged

    async def read_metrics(self) -> None:
        """Have it tell its metrics; if it does not answer, those stay that it told the last time."""
        process = self._process
        if process is not None and process.listens:
            with suppress(TimeoutError):
                told = await asyncio.wait_for(process.ask(contract.METRICS), METRICS_SECONDS)
                if told is not None and not process.has_ended:
                    self.families = unpacked(told)

    # ------------------------------------------------------------------ life

    async def prepare(self) -> None:
        """Start the first process, as far as it can go without taking clients. Raises StartError, OSError."""
        self._process = WorkerProcess(self.number)
        await self._process.prepare(self._assignment)

    async def listen(self) -> None:
        """Let it take clients. Raises StartError."""
        if self._process is not None:
            await self._process.listen()

    def reload(self) -> None:
        """Have the routes read again. A process that is being started reads them after this."""
        if self._process is not None:
            self._process.reload()

    async def supervise(self) -> None:
        """See to it that there is always a process, until `stop` is called."""
        while (process := self._process) is not None:
            since, listened = self._loop.time(), process.listens
            checks = self._loop.create_task(self._check(process))
            code = await process.ended()
            checks.cancel()
            self._former.add(self.families)
            self.families = ()
            if self._stopping.is_set():
                return
            self._last_end = ended_by(code)
            pause_seconds = self._pauses.after(self._loop.time() - since if listened else 0.0)
            events.worker_ended(
                self.number, process.process_id, self._last_end, process.failure, pause_seconds
            )
            if not await self._start_again(pause_seconds):
                return

    async def stop(self, seconds: float) -> bool:
        """End the process, which has so long for it; gives whether it ended well. No other one is started."""
        self._stopping.set()
        process = self._process
        if process is None or process.has_ended:
            return True
        listened = process.listens
        process.terminate()
        try:
            code = await asyncio.wait_for(process.ended(), seconds)
        except TimeoutError:
            events.worker_killed(self.number, process.process_id, f"it did not end in {seconds:.0f} s")
            process.kill()
            await process.ended()
            return False
        # One that has taken nothing yet does not heed the signal: it just ends.
        return code == 0 or (code == -signal.SIGTERM and not listened)

    # ------------------------------------------------------------------ inside

    async def _start_again(self, pause_seconds: float) -> bool:
        """Start another process after a pause; gives False when there is to be none any more."""
        while not await self._stopped_within(pause_seconds):
            self.restarts += 1
            self._silent_checks, self._problems = 0, UNKNOWN
            try:
                await self.prepare()
                await self.listen()
            except StartError:
                # It has ended, or does so now: that is dealt with as any other end.
                return True
            except OSError as error:
                pause_seconds = self._pauses.after(0.0)
                events.worker_not_started(self.number, error, pause_seconds)
            else:
                events.worker_restarted(self.number, self.restarts)
                return True
        return False

    async def _stopped_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    async def _check(self, process: WorkerProcess) -> None:
        """Ask the process every so often how it is; kill it if it does not answer for long."""
        asked = self._ask(process)
        while True:
            await asyncio.sleep(self._check_seconds)
            if asked.done():
                self._silent_checks = 0
                asked = self._ask(process)
                continue
            self._silent_checks += 1
            if self._silent_checks == SILENT_CHECKS:
                events.worker_silent(self.number, process.process_id, SILENT_CHECKS * self._check_seconds)
            elif self._silent_checks == KILL_CHECKS and not self._stopping.is_set():
                events.worker_killed(self.number, process.process_id, "its event loop does not answer")
                process.kill()

    def _ask(self, process: WorkerProcess) -> asyncio.Future[Any]:
        asked = process.ask(contract.PROBLEMS)
        asked.add_done_callback(self._told)
        return asked

    def _told(self, asked: asyncio.Future[Any]) -> None:
        problems = asked.result()
        if problems is not None:
            self._problems = problems
