"""Deadlines on a clock that is set by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bridge.amqp.deadlines import STEP_SECONDS, Deadlines

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Timer:
    """One call in the future."""

    def __init__(self, when: float, call: Callable[[], object]) -> None:
        self.when = when
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    """What deadlines ask of a loop. Counts how often it would have woken up."""

    def __init__(self) -> None:
        self.now = 0.0
        self.wakes = 0
        self._timers: list[Timer] = []
        self._soon: list[Callable[[], object]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], object]) -> Timer:
        self._timers.append(Timer(when, call))
        return self._timers[-1]

    def call_soon(self, call: Callable[[], object]) -> None:
        self._soon.append(call)

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass, and run what is due in its order."""
        until = self.now + seconds
        while due := [timer for timer in self._timers if timer.when <= until and not timer.cancelled]:
            timer = min(due, key=lambda timer: timer.when)
            self._timers.remove(timer)
            self.now = max(self.now, timer.when)
            self.wakes += 1
            timer.call()
            soon, self._soon = self._soon, []
            for call in soon:
                call()
        self.now = until


class Waiter:
    """Notes when it is called."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.called: list[float] = []

    def tick(self) -> None:
        self.called.append(self._clock.now)


class Rig:
    """Deadlines, their clock, and some who wait."""

    def __init__(self, waiters: int = 1) -> None:
        self.clock = Clock()
        self.deadlines = Deadlines(cast("asyncio.AbstractEventLoop", self.clock))
        self.waiters = [Waiter(self.clock) for _ in range(waiters)]


def test_a_deadline_is_met_once_and_never_early() -> None:
    rig = Rig()
    [waiter] = rig.waiters
    rig.deadlines.set(waiter, 1.501)
    rig.clock.pass_seconds(100)
    [called] = waiter.called
    assert 1.501 <= called <= 1.501 + STEP_SECONDS


def test_one_that_has_passed_is_met_at_once() -> None:
    rig = Rig()
    [waiter] = rig.waiters
    rig.clock.pass_seconds(50)
    rig.deadlines.set(waiter, 3)
    rig.clock.pass_seconds(0)
    assert waiter.called == [50]


def test_the_last_deadline_counts_earlier_or_later() -> None:
    rig = Rig(waiters=2)
    earlier, later = rig.waiters
    rig.deadlines.set(earlier, 60)
    rig.deadlines.set(earlier, 10)
    rig.deadlines.set(later, 10)
    rig.deadlines.set(later, 60)
    rig.clock.pass_seconds(59)
    assert (earlier.called, later.called) == ([10], [])
    rig.clock.pass_seconds(2)
    assert (earlier.called, later.called) == ([10], [60])


def test_who_is_gone_is_not_called() -> None:
    rig = Rig(waiters=2)
    gone, other = rig.waiters
    rig.deadlines.set(gone, 5)
    rig.deadlines.set(other, 5)
    rig.deadlines.clear(gone)
    rig.deadlines.clear(gone)
    rig.clock.pass_seconds(10)
    assert (gone.called, other.called) == ([], [5])


def test_a_new_deadline_may_be_set_when_one_is_met() -> None:
    rig = Rig()

    class Beating(Waiter):
        def tick(self) -> None:
            super().tick()
            rig.deadlines.set(self, rig.clock.now + 15)

    beating = Beating(rig.clock)
    rig.deadlines.set(beating, 15)
    rig.clock.pass_seconds(60)
    assert beating.called == [15, 30, 45, 60]


def test_a_crowd_wakes_the_process_no_oftener_than_once_in_a_step() -> None:
    rig = Rig(waiters=1000)
    for number, waiter in enumerate(rig.waiters):
        rig.deadlines.set(waiter, number / 1000)
    rig.clock.pass_seconds(10)
    assert all(len(waiter.called) == 1 for waiter in rig.waiters)
    assert rig.clock.wakes == 1 + len(rig.waiters) / 1000 / STEP_SECONDS
