"""How long the soak tests take: a sample of each by default, the whole of it with SOAK=1."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

Value = TypeVar("Value")

WHOLE: Final = os.environ.get("SOAK", "0") not in {"", "0"}
"""Whether the whole tests were asked for (`make soak`), which take minutes each."""

LIMIT_SECONDS: Final = 1800 if WHOLE else 240
"""How long one test may take: a bound for what has failed, never a measure."""


def scaled(whole: Value, sample: Value) -> Value:
    """Choose between the number of the whole test and that of the sample."""
    return whole if WHOLE else sample


def cases(whole: Iterable[Value], sample: Iterable[Value]) -> list[Value]:
    """Choose between all cases of a test and some of them."""
    return list(whole if WHOLE else sample)
