from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bridge.kafka import ends
from bridge.kafka.ends import EndSearch
from bridge.model import conditions
from bridge.model.failures import Failure, Stored

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import pytest

AWAY = Failure("_TRANSPORT", -195, "away", conditions.INTERNAL_ERROR, retriable=True, stored=Stored.NO)
LONG = 60.0


class Stage:
    """A search with Kafka's answers in the test's hand."""

    def __init__(self, wait_seconds: float = LONG) -> None:
        self.asked: list[tuple[frozenset[int], asyncio.Future[dict[int, int] | Failure]]] = []
        self.positions: dict[int, int] = {}
        self.reached: list[int] = []
        self.told = asyncio.Event()
        self.search = EndSearch(self.ask, self.positions, self.tell, wait_seconds)

    def tell(self, token: int) -> None:
        self.reached.append(token)
        self.told.set()

    def ask(self, partitions: frozenset[int]) -> Awaitable[dict[int, int] | Failure]:
        answer: asyncio.Future[dict[int, int] | Failure] = asyncio.get_running_loop().create_future()
        self.asked.append((partitions, answer))
        return answer

    async def answer(self, given: dict[int, int] | Failure) -> None:
        """Answer the last question."""
        self.asked[-1][1].set_result(given)
        await settled()


async def settled() -> None:
    """Let the loop do what is to be done at once."""
    for _ in range(5):
        await asyncio.sleep(0)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def on_a_loop() -> None:
        await test()

    asyncio.run(on_a_loop())


def test_it_is_reached_when_the_positions_are_where_the_ends_were() -> None:
    async def test() -> None:
        stage = Stage()
        stage.search.assign(frozenset({0, 1}))
        stage.search.begin(7)
        await settled()
        await stage.answer({0: 10, 1: 20})
        stage.positions.update({0: 10, 1: 19})
        stage.search.check()
        await settled()
        assert (stage.reached, stage.search.searching) == ([], True)

        stage.positions[1] = 20
        stage.search.check()
        await settled()
        assert (stage.reached, stage.search.searching) == ([7], False)
        stage.search.check()
        await settled()
        assert stage.reached == [7]

    run(test)


def test_a_partition_in_which_nothing_was_ever_written_has_no_end_to_wait_for() -> None:
    async def test() -> None:
        stage = Stage()
        stage.search.assign(frozenset({0}))
        stage.search.begin(1)
        await settled()
        await stage.answer({0: 0})
        assert stage.reached == [1]

    run(test)


def test_who_joins_is_waited_for_and_who_gets_nothing_is_not() -> None:
    async def test() -> None:
        stage = Stage()
        stage.search.begin(1)
        await settled()
        assert (stage.asked, stage.reached) == ([], [])
        stage.search.assign(frozenset())
        await settled()
        assert stage.reached == [1]
        stage.search.begin(2)
        await settled()
        assert stage.reached == [1, 2]
        assert stage.asked == []

    run(test)


def test_a_change_of_the_assignment_is_asked_for_anew() -> None:
    async def test() -> None:
        stage = Stage()
        stage.search.assign(frozenset({0}))
        stage.search.begin(1)
        await settled()
        stage.search.assign(frozenset({0, 1}))
        await settled()
        assert [partitions for partitions, _ in stage.asked] == [{0}, {0, 1}]
        stage.positions.update({0: 5, 1: 5})
        await stage.answer({0: 5, 1: 6})
        assert stage.reached == []
        stage.search.assign(frozenset({0}))
        await settled()
        await stage.answer({0: 5})
        assert stage.reached == [1]

    run(test)


def test_another_search_asks_again_and_is_the_only_one_told() -> None:
    async def test() -> None:
        stage = Stage()
        stage.search.assign(frozenset({0}))
        stage.search.begin(1)
        await settled()
        stage.search.begin(2)
        await settled()
        stage.positions[0] = 5
        await stage.answer({0: 5})
        assert stage.reached == [2]
        assert len(stage.asked) == 2

    run(test)


def test_it_ends_in_time_whatever_kafka_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "ASK_AGAIN_SECONDS", 0.0)

    async def test() -> None:
        stage = Stage(wait_seconds=0.02)
        stage.search.assign(frozenset({0}))
        stage.search.begin(1)
        await settled()
        await stage.answer(AWAY)
        assert len(stage.asked) == 2  # it asks until the time is over
        await stage.told.wait()
        assert stage.reached == [1]
        assert stage.asked[-1][1].cancelled()

    run(test)


def test_who_never_heard_of_an_assignment_waits_once() -> None:
    async def test() -> None:
        stage = Stage(wait_seconds=0.02)
        stage.search.begin(1)
        await stage.told.wait()
        stage.search.begin(2)
        await settled()
        assert stage.reached == [1, 2]

    run(test)


def test_a_search_that_is_cancelled_is_not_told() -> None:
    async def test() -> None:
        stage = Stage(wait_seconds=0.01)
        stage.search.assign(frozenset({0}))
        stage.search.begin(1)
        await settled()
        stage.search.cancel()
        await asyncio.sleep(0.03)
        assert stage.reached == []

    run(test)
