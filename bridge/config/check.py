"""What a configuration amounts to, in rows: each option and route, and where it comes from. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.config import librdkafka
from bridge.config.options import BY_KEY, OPTIONS, written
from bridge.config.redaction import HIDDEN, shown

if TYPE_CHECKING:
    from bridge.config.resolve import Resolution
    from bridge.config.routes import Routes


@dataclass(frozen=True, slots=True)
class Row:
    """One option as it would run: a secret's `value` is not shown, `origin` is for people."""

    key: str
    value: str
    origin: str
    is_default: bool


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One route: its pattern, its topic, what else it says, and where that is, for people."""

    match: str
    topic: str
    says: str
    origin: str


def route_rows(routes: Routes) -> list[RouteRow]:
    """Return the routes in the order in which they are tried."""
    return [
        RouteRow(rule.route.match or "", rule.topic or "as addressed", rule.says, str(rule.route.place))
        for rule in routes.rules
    ]


def rows(resolution: Resolution) -> list[Row]:
    """Return all of the bridge's options in their order, then what is passed on to librdkafka."""
    entries = resolution.entries
    result = []
    for option in OPTIONS:
        settings = getattr(resolution.settings, option.section)
        value = shown(option.key, written(getattr(settings, option.field)))
        result.append(_row(resolution, option.key, value))
    passed_on = sorted(entries.keys() - BY_KEY.keys())
    result += [_row(resolution, key, _passed_on(key, entries[key].value)) for key in passed_on]
    return result


def _passed_on(key: str, value: str) -> str:
    """Show a value for librdkafka. What it does not know may be the misspelt name of a secret."""
    return shown(key, value) if librdkafka.is_known(librdkafka.split(key)[1]) else HIDDEN


def _row(resolution: Resolution, key: str, value: str) -> Row:
    entry = resolution.entries.get(key)
    if entry is None:
        return Row(key, value, "default" if value else "not set", is_default=True)
    written_as = "" if entry.written == key else f", as {entry.written}"
    return Row(key, value, f"{entry.place}{written_as}", is_default=False)
