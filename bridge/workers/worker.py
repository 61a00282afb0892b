"""A worker: one whole bridge, in a process of its own, that serves a port together with others.

Run by the supervisor as `python -m bridge.workers.worker NUMBER DESCRIPTOR`; the descriptor is its end of the
channel, where it is told all else. It ends on SIGTERM as a bridge that is alone does. When its supervisor is
gone it ends in the same way, and for certain: should the event loop stand still, a thread ends the process.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import uvloop

from bridge import allocator
from bridge.config import ConfigError
from bridge.config.routes_file import configured_routes
from bridge.observability import logging, workers
from bridge.observability.metrics import packed
from bridge.service import COMPILED, Service
from bridge.workers import contract
from bridge.workers.channel import Channel
from bridge.workers.contract import Assignment

if TYPE_CHECKING:
    from collections.abc import Mapping

ORPHANED: Final = "the supervisor is gone"
EXIT_ORPHANED: Final = 3


class Worker:
    """Worker `number`, from its assignment to its exit code."""

    def __init__(self, number: int) -> None:
        self._number = number
        loop = asyncio.get_running_loop()
        self._assignment: asyncio.Future[Mapping[str, Any]] = loop.create_future()
        self._may_listen: asyncio.Future[None] = loop.create_future()
        self._service: Service | None = None
        self._channel: Channel | None = None

    async def run(self, end: socket.socket) -> int:
        """Serve until the supervisor says to end, or is gone; gives the exit code."""
        watched = os.dup(end.fileno())
        channel = self._channel = await Channel.open(end, self._received, self._lost)
        try:
            service = await self._prepare(watched)
            channel.send({contract.KIND: contract.PREPARED})
            await self._may_listen
            service.heed_signals()
            await service.start()
        except ConfigError as error:
            return await self._failed(error, contract.EXIT_CONFIGURATION)
        except (OSError, RuntimeError, ValueError) as error:
            return await self._failed(error, contract.EXIT_START)
        workers.worker_started(os.getpid(), compiled=COMPILED)
        channel.send({contract.KIND: contract.LISTENING})
        reason = await service.stop_asked()
        workers.worker_stopping(reason, service.grace_seconds)
        unacknowledged = await service.shut_down()
        workers.worker_stopped(unacknowledged)
        channel.send({contract.KIND: contract.STOPPED, "unacknowledged": unacknowledged})
        await channel.close()
        return 0

    async def _prepare(self, watched: int) -> Service:
        """Make all that can be made before clients come.

        Raises ConfigError, ValueError, RuntimeError, and ConnectionError if the supervisor is gone.
        """
        assignment = Assignment.unpacked(await self._assignment)
        settings = assignment.settings
        logging.configure(settings.log.level, settings.log.format, self._number)
        patience_seconds = settings.shutdown.grace_ms / 1000 + contract.END_MARGIN_SECONDS
        threading.Thread(
            target=_end_with_supervisor, args=(watched, patience_seconds), name="orphan", daemon=True
        ).start()
        self._service = Service(settings, assignment.bootstrap_servers, configured_routes(settings))
        return self._service

    async def _failed(self, error: Exception, exit_code: int) -> int:
        """Leave it to the supervisor to tell why: others may have failed for the same reason."""
        if self._channel is not None:
            self._channel.send(
                {contract.KIND: contract.FAILED, "message": str(error), "exit_code": exit_code}
            )
            await self._channel.close()
        return exit_code

    # ------------------------------------------------------------------ from the supervisor

    def _received(self, message: Mapping[str, Any]) -> None:
        match message[contract.KIND]:
            case contract.ASSIGNMENT:
                self._assignment.set_result(message)
            case contract.LISTEN:
                self._may_listen.set_result(None)
            case contract.RELOAD:
                if self._service is not None:
                    self._service.reload()
            case contract.ASK:
                self._answer(message["number"], message["question"])

    def _answer(self, number: int, question: str) -> None:
        if self._channel is None or self._service is None:
            return
        answer: object = None
        try:
            if question == contract.PROBLEMS:
                answer = self._service.problems()
            else:
                answer = packed(self._service.families())
        except Exception as error:  # noqa: BLE001 - what operators want to know is no reason to stop serving
            workers.worker_not_read(question, error)
        self._channel.send({contract.KIND: contract.ANSWER, "number": number, "answer": answer})

    def _lost(self) -> None:
        """End as after SIGTERM: senders get the outcomes of what Kafka takes, offsets are committed."""
        for step in (self._assignment, self._may_listen):
            if not step.done():
                step.set_exception(ConnectionResetError(ORPHANED))
                step.exception()  # perhaps nobody waits for it any more
        if self._service is not None:
            self._service.stop(ORPHANED)


def _end_with_supervisor(descriptor: int, patience_seconds: float) -> None:
    """End the process, for certain, some time after the other end of the channel was closed."""
    poll = select.poll()
    poll.register(descriptor, select.POLLRDHUP)
    poll.poll()
    time.sleep(patience_seconds)
    os._exit(EXIT_ORPHANED)


async def _run(number: int, descriptor: int) -> int:
    return await Worker(number).run(socket.socket(fileno=descriptor))


def main() -> None:
    """Run as the arguments say, and exit."""
    number, descriptor = (int(argument) for argument in sys.argv[1:])
    allocator.prepare()
    sys.exit(uvloop.run(_run(number, descriptor)))


if __name__ == "__main__":
    main()
