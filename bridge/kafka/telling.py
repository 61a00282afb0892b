"""What a consumer's thread tells its link and the operators, always on the event loop's thread.

Everything arrives in the order in which it was told. It knows the link, but none of those who tell: all of
them know it, and are freed without Python's garbage collector.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Final

from bridge.kafka import failures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.kafka.contract import FeedEvents, FeedLog, Offsets
    from bridge.model.failures import Failure

LOOP_ANSWER_SECONDS: Final = 5.0


class Teller:
    """Calls a link and its log. Made on the loop's thread, used on the consumer's."""

    def __init__(self, log: FeedLog) -> None:
        self._loop = asyncio.get_running_loop()
        self._log = log
        self.events: FeedEvents | None = None
        """The link, from when its consumer is started until that has stopped."""
        self.stopping = False
        """The consumer is to stop, or is stopping. Set on both threads, and never taken back."""

    def tell(self, event: str, *arguments: object) -> None:
        """Tell the link an event of `FeedEvents`."""
        self.post(lambda: self._call_link(event, arguments))

    def report(self, report: Callable[[FeedLog], None]) -> None:
        """Tell the operators."""
        self.post(lambda: report(self._log))

    def fail(self, failure: Failure) -> None:
        """Stop the consumer, and tell the link that it cannot go on; nothing if it is stopping anyway."""
        if not self.stopping:
            self.stopping = True
            self.tell("failed", failure)

    def revoked(self, partitions: Sequence[int]) -> Offsets:
        """Tell the link that partitions go away; gives its answer, nothing if it does not come in time."""
        answer: Future[Offsets] = Future()

        def ask() -> None:
            offsets = self._call_link("revoked", (partitions,))
            answer.set_result(offsets if isinstance(offsets, dict) else {})

        self.post(ask)
        try:
            return answer.result(LOOP_ANSWER_SECONDS)
        except (TimeoutError, CancelledError):
            return {}

    def post(self, call: Callable[[], object]) -> None:
        """Call on the loop's thread."""
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            # The loop is closed: the process is ending, and nobody is left to tell.
            self.stopping = True

    def await_loop(self) -> None:
        """Wait until the loop has handled what was posted so far."""
        handled = threading.Event()
        self.post(handled.set)
        handled.wait(LOOP_ANSWER_SECONDS)

    def _call_link(self, event: str, arguments: tuple[object, ...]) -> object:
        if self.events is None:
            return None
        try:
            return getattr(self.events, event)(*arguments)
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            self._log.broke(error)
            self.events.failed(failures.classify_exception(error))
            return None
