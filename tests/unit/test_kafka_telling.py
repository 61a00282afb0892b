from __future__ import annotations

import asyncio
from typing import Any

from bridge.kafka.telling import Teller
from bridge.model import conditions
from bridge.model.failures import Failure, Stored

FAILURE = Failure("_FATAL", -150, "broken", conditions.INTERNAL_ERROR, retriable=False, stored=Stored.NO)


class Told:
    """A link, and its log."""

    def __init__(self) -> None:
        self.failures: list[Failure] = []

    def failed(self, failure: Failure) -> None:
        """Take what ends the consumer."""
        self.failures.append(failure)


def told_by(teller: Teller) -> Told:
    """Have a teller tell a link."""
    events: Any = Told()
    teller.events = events
    return events  # type: ignore[no-any-return] # it stands for all that a link hears


def test_a_consumer_fails_once_and_stops_then() -> None:
    async def test() -> None:
        log: Any = None
        teller = Teller(log)
        told = told_by(teller)
        teller.fail(FAILURE)
        teller.fail(FAILURE)
        assert teller.stopping
        assert told.failures == [], "not before the loop comes to it"
        await asyncio.sleep(0)
        assert told.failures == [FAILURE]

    asyncio.run(test())


def test_one_that_is_to_stop_does_not_fail_any_more() -> None:
    async def test() -> None:
        log: Any = None
        teller = Teller(log)
        told = told_by(teller)
        teller.stopping = True
        teller.fail(FAILURE)
        await asyncio.sleep(0)
        assert told.failures == []

    asyncio.run(test())


def test_where_the_loop_is_closed_the_consumer_stops() -> None:
    async def made() -> Teller:
        log: Any = None
        return Teller(log)

    teller = asyncio.run(made())
    told = told_by(teller)
    teller.tell("failed", FAILURE)
    assert teller.stopping
    assert told.failures == []
