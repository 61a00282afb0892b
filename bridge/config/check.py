"""What a configuration amounts to, in rows: each option, its value, and where that comes from. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.config.options import BY_KEY, OPTIONS, written
from bridge.config.redaction import shown

if TYPE_CHECKING:
    from bridge.config.resolve import Resolution


@dataclass(frozen=True, slots=True)
class Row:
    """One option as it would run: a secret's `value` is not shown, `origin` is for people."""

    key: str
    value: str
    origin: str
    is_default: bool


def rows(resolution: Resolution) -> list[Row]:
    """Return all of the bridge's options in their order, then what is passed on to librdkafka."""
    entries = resolution.entries
    result = []
    for option in OPTIONS:
        settings = getattr(resolution.settings, option.section)
        value = shown(option.key, written(getattr(settings, option.field)))
        result.append(_row(resolution, option.key, value))
    passed_on = sorted(entries.keys() - BY_KEY.keys())
    result += [_row(resolution, key, shown(key, entries[key].value)) for key in passed_on]
    return result


def _row(resolution: Resolution, key: str, value: str) -> Row:
    entry = resolution.entries.get(key)
    if entry is None:
        return Row(key, value, "default" if value else "not set", is_default=True)
    written_as = "" if entry.written == key else f", as {entry.written}"
    return Row(key, value, f"{entry.place}{written_as}", is_default=False)
