"""Turns what librdkafka says of its connections into log events, without a flood.

While brokers are away librdkafka repeats itself, for each client and each broker. The first error of a
kind is written at once; its repetitions are counted and told with the next one that is written, at most
every half minute. May be called on any thread.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from bridge.observability import events

if TYPE_CHECKING:
    from collections.abc import Callable

QUIET_SECONDS: Final = 30.0


class KafkaErrorReporter:
    """Reports the errors of all clients. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def report(self, client: str, name: str, description: str, fatal: bool) -> None:  # noqa: FBT001 - ErrorSink
        """Report an error: which kind of client, its name, its text, whether the client is done for."""
        now = self._clock()
        with self._lock:
            until, repeated = self._kinds.get((client, name), (now, 0))
            if now < until and not fatal:
                self._kinds[client, name] = (until, repeated + 1)
                return
            self._kinds[client, name] = (now + QUIET_SECONDS, 0)
        events.kafka_error(client, name, description, fatal=fatal, repeated=repeated)
