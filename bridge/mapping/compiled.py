"""What the mapping has in C: used if it was compiled and nobody forbids it, all of it or nothing.

It is decided here, once, when the bridge is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from bridge.model.compiled import is_wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.layout import Make
    from bridge.mapping.record import Record
    from bridge.mapping.shapes import MakeShape
    from bridge.mapping.to_record import More


class Compiled(NamedTuple):
    """What there is in C, each beside what does the same in Python."""

    layout: Make
    """`generated_layout`."""
    shape: MakeShape
    """`Shape`."""
    to_record: Callable[[More], Callable[[bytes], Record]]
    """The part of `message_to_record` that is for messages which need not be read."""


def find() -> Compiled | None:
    """Find what is compiled, wanted or not; None where it was not."""
    try:
        from bridge.mapping.compiled_layout import compiled_layout  # noqa: PLC0415 - it may be missing
        from bridge.mapping.compiled_shape import CompiledShape, compiled_to_record  # noqa: PLC0415 - so may this
    except ImportError:
        return None
    return Compiled(compiled_layout, CompiledShape, compiled_to_record)


FOUND: Final = find() if is_wanted() else None
"""What is used; None: all is done in Python."""

COMPILED: Final = FOUND is not None
"""Whether what is compiled is used."""
