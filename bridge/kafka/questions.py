"""Questions to Kafka that block, put by threads of their own, so that the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


async def ask(question: Callable[[], Answer]) -> Answer:
    """Call `question` in a thread, and give or raise what comes of it.

    The thread is a daemon, unlike an executor's: the end of the process does not wait for it. Raises
    RuntimeError when the machine has no thread to spare.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def give(answer: Answer) -> None:
        if not future.done():
            future.set_result(answer)

    def fail(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    def run() -> None:
        # The loop may be gone: the process ends without waiting for an answer.
        with suppress(RuntimeError):
            try:
                answer = question()
            except Exception as error:  # noqa: BLE001 - handed over
                loop.call_soon_threadsafe(fail, error)
            else:
                loop.call_soon_threadsafe(give, answer)

    threading.Thread(target=run, name="question", daemon=True).start()
    return await future
