"""The one error of filters."""

from __future__ import annotations

from typing import Final

from bridge.model.conditions import INVALID_FIELD

_LONGEST_QUOTE: Final = 80


class FilterError(ValueError):
    """A filter that the bridge knows and cannot apply: it is malformed, or disagrees with another.

    `condition` is the AMQP symbol for the peer, whose attach is refused, and `description` a sentence
    for people, which names the filter; `former` is the name that the bridge before this one had for it.
    """

    def __init__(self, description: str, former: str = "") -> None:
        super().__init__(f"{INVALID_FIELD}: {description}")
        self.condition = INVALID_FIELD
        self.description = description
        self.former = former


def quoted(value: object) -> str:
    """Return what a peer sent for a message: on one line, and not long. Of lists and maps it is the type."""
    if isinstance(value, str):
        return repr(str(value) if len(value) <= _LONGEST_QUOTE else value[:_LONGEST_QUOTE] + "...")
    if isinstance(value, int | float):
        return repr(value)
    return f"a value of the type {type(value).__name__}"
