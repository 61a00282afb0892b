"""What the scenarios of the sequence diagrams have in common, whichever end the bridge is.

An independent AMQP client talks over real bytes to the engine, with a real source or sink link behind it.
Kafka's side is in memory: it does as it is told by the scenario, and draws its own arrows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from support.wire import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from support.arrows import Arrow, Trace

    from bridge.model.failures import Failure
    from bridge.model.outcomes import Outcome
    from bridge.sink.ports import DeadLetter

STAGE_SETTINGS: Final = replace(SETTINGS, session_window_bytes=0)
"""As the service has it by default."""

Scenario: TypeAlias = "Callable[[], list[Arrow]]"


def numbers_of(numbers: Sequence[int]) -> str:
    """Write one number, a range, or several ones."""
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(map(str, numbers))


class Operators:
    """Take what the machines tell operators, and draw what senders are not told; defects are no scenario."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def refused(self, outcome: Outcome) -> None:
        """Pass over what the sender is told as well."""

    def dropped(self, _reason: str) -> None:
        self._trace.log("settled messages dropped (1)")

    def skipped(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Pass over it."""

    def dead_lettered(self, partition: int, offset: int, letter: DeadLetter) -> None:
        """Pass over it."""

    def dead_letter_failed(self, partition: int, offset: int, failure: Failure) -> None:
        """Pass over what is tried again."""

    def redelivered(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Pass over it."""

    def failed(self, failure: Failure) -> None:
        raise AssertionError(failure)

    def broke(self, error: Exception) -> None:
        raise error

    def ended(self, _accepted: int, unanswered: int, in_doubt: int = 0) -> None:
        left = {"unanswered": unanswered, "in doubt": in_doubt}
        said = ", ".join(f"{name} {count}" for name, count in left.items() if count)
        if said:
            self._trace.log(f"link ended ({said})")
