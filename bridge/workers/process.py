"""One worker as its supervisor sees it: a child process, from its start to its exit code.

It is started as a new program, not forked: a fork would copy the locks of threads that it does not have
(librdkafka's, those of an embedded Kafka's launcher). It has a session of its own, so that Ctrl-C at a
terminal reaches the supervisor alone, which then ends the workers.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from bridge.workers import contract
from bridge.workers.channel import Channel
from bridge.workers.contract import StartError

if TYPE_CHECKING:
    from bridge.workers.contract import Assignment

START_SECONDS: Final = 60.0
"""How long a worker may take until it can listen, and then until it does."""
_PROGRAM: Final = "bridge.workers.worker"


class WorkerProcess:
    """A process that was started as worker `number`. Raises OSError if it cannot be."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._loop = asyncio.get_running_loop()
        self._prepared: asyncio.Future[None] = self._loop.create_future()
        self._listening: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._code: int | None = None
        self._channel: Channel | None = None
        self._is_lost = False
        self._questions = 0
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self.failure: StartError | None = None
        """What it said when it could not start."""
        self.unacknowledged = 0
        """How many records had no answer from Kafka when it stopped."""
        self._end, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - this very program
                    [sys.executable, "-m", _PROGRAM, str(number), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError:
                self._end.close()
                raise
        threading.Thread(target=self._wait, name=f"worker-{number}", daemon=True).start()

    @property
    def process_id(self) -> int:
        """Id of the process, also after its end."""
        return self._process.pid

    @property
    def listens(self) -> bool:
        """Tell whether it takes clients."""
        return self._listening.done() and self._listening.exception() is None and not self.has_ended

    @property
    def has_ended(self) -> bool:
        """Tell whether the process is gone."""
        return self._ended.done()

    # ------------------------------------------------------------------ its life

    async def prepare(self, assignment: Assignment) -> None:
        """Give it its assignment, and wait until it could listen. Raises StartError."""
        self._channel = await Channel.open(self._end, self._received, self._lost)
        self._channel.send(assignment.packed())
        await self._within(self._prepared)

    async def listen(self) -> None:
        """Let it listen, and wait until it does. Raises StartError."""
        self._send({contract.KIND: contract.LISTEN})
        await self._within(self._listening)

    def reload(self) -> None:
        """Have it read its routes again."""
        self._send({contract.KIND: contract.RELOAD})

    def ask(self, question: str) -> asyncio.Future[Any]:
        """Ask; the answer comes later, and is None if the worker ends before, or does not know."""
        self._questions += 1
        answer = self._asked[self._questions] = self._loop.create_future()
        self._send({contract.KIND: contract.ASK, "number": self._questions, "question": question})
        if self.has_ended:
            self._forget()
        return answer

    def terminate(self) -> None:
        """Ask it to end (SIGTERM)."""
        if not self.has_ended:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it (SIGKILL)."""
        if not self.has_ended:
            self._process.kill()

    async def ended(self) -> int:
        """Wait for its end; gives the exit code, negative for a signal."""
        return await asyncio.shield(self._ended)

    # ------------------------------------------------------------------ inside

    async def _within(self, step: asyncio.Future[None]) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(step), START_SECONDS)
        except TimeoutError:
            self.kill()
            await self.ended()
            raise StartError(
                f"worker {self.number} was not ready in {START_SECONDS:.0f} s", contract.EXIT_START
            ) from None

    def _send(self, message: dict[str, Any]) -> None:
        if self._channel is not None:
            self._channel.send(message)

    def _received(self, message: dict[str, Any]) -> None:
        match message[contract.KIND]:
            case contract.PREPARED:
                self._prepared.set_result(None)
            case contract.LISTENING:
                self._listening.set_result(None)
            case contract.ANSWER:
                answer = self._asked.pop(message["number"], None)
                if answer is not None and not answer.done():
                    answer.set_result(message["answer"])
            case contract.STOPPED:
                self.unacknowledged = message["unacknowledged"]
            case contract.FAILED:
                self.failure = StartError(message["message"], message["exit_code"])

    def _wait(self) -> None:
        """Wait for the exit code, on a thread of its own."""
        code = self._process.wait()
        with suppress(RuntimeError):  # the supervisor has ended before
            self._loop.call_soon_threadsafe(self._exited, code)

    def _exited(self, code: int) -> None:
        self._code = code
        if self._channel is None or self._is_lost:
            self._is_over(code)

    def _lost(self) -> None:
        """Take notice that all is read that it has said."""
        self._is_lost = True
        if self._code is not None:
            self._is_over(self._code)

    def _is_over(self, code: int) -> None:
        self._ended.set_result(code)
        self._forget()
        failure = self.failure or StartError(
            f"worker {self.number} ended before it was ready: {ended_by(code)}",
            code if code > 0 else contract.EXIT_START,
        )
        for step in (self._prepared, self._listening):
            if not step.done():
                step.set_exception(failure)
                step.exception()  # nobody may be waiting for it

    def _forget(self) -> None:
        """Give up the questions that nobody will answer."""
        asked, self._asked = self._asked, {}
        for answer in asked.values():
            if not answer.done():  # it was given up
                answer.set_result(None)


def ended_by(code: int) -> str:
    """Say for people what an exit code means, which is negative for a signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # most real-time signals have no name
        return f"signal {-code}"
