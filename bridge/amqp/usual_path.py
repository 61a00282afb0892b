"""What is done for each message, by the fastest way that is there: in C where that was built.

Both ways do the same: `hot_path` in Python, `compiled_path` in C for what is usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.amqp import hot_path
from bridge.model import compiled

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import TypeAlias

    from bridge.amqp.contract import AnyLink
    from bridge.amqp.native import CData

    Failed: TypeAlias = Callable[[AnyLink, Exception], None]
    TakeUsual: TypeAlias = Callable[[CData, dict[CData, AnyLink], list[AnyLink], type, Failed], None]


def _compiled() -> ModuleType | None:
    """Find the compiled way; None where it was not built, is not wanted, or proton is not as it knows it."""
    if not compiled.is_wanted():
        return None
    try:
        from bridge.amqp import compiled_path  # noqa: PLC0415 - it may be missing
    except ImportError:
        return None
    return compiled_path


_way: Final = _compiled() or hot_path
COMPILED: Final = _way is not hot_path
"""Whether usual deliveries are handled in C."""

accept: Final = _way.accept
send: Final = _way.send
send_settled: Final = _way.send_settled
settle_all: Final = _way.settle_all
take_usual: Final[TakeUsual | None] = getattr(_way, "take_usual", None)
"""Handles events of usual deliveries, up to the first other one; None where they are handled one by one."""
