"""Calls that reach a link by themselves, from timers and the dead-letter topic, as the engine's reach it.

A defect that shows in one of them ends that link alone, and is logged. Without that the event loop would take
the exception, and the link would go on without the record that it was about.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from bridge.amqp.links import OutgoingLink
    from bridge.model.failures import Failure
    from bridge.sink.ports import ConsumedRecord, DeadLetter, DeadLetters


def later(
    loop: asyncio.AbstractEventLoop, link: OutgoingLink
) -> Callable[[float, Callable[[], None]], asyncio.TimerHandle]:
    """Make what calls back after so many seconds."""

    def call_later(seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        return loop.call_later(seconds, link.engine.call, link, call)

    return call_later


def answering(link: OutgoingLink, dead_letters: DeadLetters | None) -> DeadLetters | None:
    """Make what puts records into the dead-letter topic; None where there is none."""
    if dead_letters is None:
        return None

    def put_away(record: ConsumedRecord, letter: DeadLetter, told: Callable[[Failure | None], None]) -> None:
        dead_letters(record, letter, lambda failure: link.engine.call(link, partial(told, failure)))

    return put_away
