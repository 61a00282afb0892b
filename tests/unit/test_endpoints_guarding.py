from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bridge.endpoints import guarding

if TYPE_CHECKING:
    from collections.abc import Callable


class Engine:
    """Ends a link that fails, as the engine does."""

    def __init__(self) -> None:
        self.failed: list[tuple[object, str]] = []

    def call(self, link: object, function: Callable[[], object]) -> None:
        try:
            function()
        except ValueError as error:
            self.failed.append((link, str(error)))


def link_of(engine: Engine) -> Any:  # noqa: ANN401 - stands for a link of the engine
    return SimpleNamespace(engine=engine)


def test_a_timer_that_fails_ends_its_link_and_nothing_else() -> None:
    engine = Engine()
    link = link_of(engine)
    fired: list[str] = []

    def fail() -> None:
        fired.append("first")
        raise ValueError("a defect")

    async def test() -> None:
        later = guarding.later(asyncio.get_running_loop(), link)
        later(0, fail)
        later(0, lambda: fired.append("second"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(test())
    assert fired == ["first", "second"]
    assert engine.failed == [(link, "a defect")]


def test_an_answer_of_the_dead_letter_topic_that_fails_ends_its_link() -> None:
    engine = Engine()
    link = link_of(engine)
    sent: list[Any] = []

    def fail(_: object) -> None:
        raise ValueError("a defect")

    letters = guarding.answering(link, lambda *arguments: sent.append(arguments))
    assert letters is not None
    record: Any = "record"
    letter: Any = "letter"
    letters(record, letter, fail)
    ((record, letter, told),) = sent
    assert (record, letter) == ("record", "letter")
    assert not engine.failed

    told(None)
    assert engine.failed == [(link, "a defect")]


def test_without_a_dead_letter_topic_there_is_none() -> None:
    assert guarding.answering(link_of(Engine()), None) is None
