"""Reads routes.yaml into `Routes`, or says all that is wrong with it and in which lines.

It touches that file and nothing else. Whether the topics exist is Kafka's to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bridge.config import dead_letters, routes_document, routes_schema
from bridge.config.kinds import StartAt
from bridge.config.problems import ConfigError, Problem
from bridge.config.routes import Route, Routes, Rule
from bridge.config.routes_combinations import beyond, contradictions, written
from bridge.config.routes_patterns import parse, parse_template
from bridge.config.routes_schema import duration_ms, size
from bridge.mapping.options import MappingOptions
from bridge.model.deduplication import Deduplication

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.config.problems import FileLine
    from bridge.config.routes_document import Document, Path_
    from bridge.config.routes_patterns import Pattern, Template
    from bridge.config.settings import Settings


def _allowed(value: str) -> bool:
    return value == "allow"


def _dead_letter(value: str) -> str:
    return dead_letters.NONE if value.lower() == dead_letters.NONE else value


def _as_json(value: str) -> bool:
    return value == "json"


_OF_ROUTE: Final[Mapping[str, tuple[str, Callable[[Any], object]]]] = {
    "mapping": ("mapping", str),
    "mapping_override": ("mapping_override", _allowed),
    "acks": ("acks", str),
    "mixed_settled": ("mixed_settled", str),
    "credit": ("credit", int),
    "max_message_size": ("max_message_size_bytes", size),
    "timestamp": ("timestamp", str),
    "max_skew": ("max_skew_ms", duration_ms),
    "failed_outcomes": ("failed_outcomes", str),
    "failed_outcomes_containers": ("failed_outcomes_containers", tuple),
    "start": ("start", str),
    "order": ("order", str),
    "dead_letter": ("dead_letter", _dead_letter),
    "max_attempts": ("max_attempts", int),
    "rejected": ("rejected", str),
}
"""Keys of the file that are fields of a route, and how their values are read."""

_OF_OPTIONS: Final[Mapping[str, tuple[str, Callable[[Any], object]]]] = {
    "headers_max": ("headers_max", int),
    "header_bytes_max": ("header_bytes_max", size),
    "key_from_partition_key": ("key_from_partition_key", bool),
    "key_from_group_id": ("key_from_group_id", bool),
    "tombstones": ("tombstones", _allowed),
    "value": ("value_as_json", _as_json),
    "keep_delivery_annotations": ("keep_delivery_annotations", bool),
    "foreign_headers": ("foreign_headers", str),
    "creation_time_from_record": ("creation_time_from_record", bool),
    "expired": ("expired", str),
}
"""Keys of the file that are options of the mapping."""

_OF_WINDOW: Final[Mapping[str, tuple[str, Callable[[Any], object]]]] = {
    "time": ("window_ms", duration_ms),
    "count": ("window_count", int),
}

_TO_A_KEY: Final = 3
"""The length of a path to a key of a route: routes, its number, the key."""


def load_routes(path: Path, settings: Settings | None = None) -> Routes:
    """Return the routes of a file.

    Raises ConfigError, which carries all that is wrong with it; with settings, also what they do not
    allow a route to say.
    """
    problems: list[Problem] = []
    document = routes_document.read(path, problems)
    rules: list[Rule] = []
    if document is not None:
        wrong: set[Path_] = set()
        for at, problem in routes_schema.violations(document):
            wrong.add(at[:_TO_A_KEY])
            problems.append(problem)
        for entry in _entries(document, wrong, problems):
            rule = entry.rule(settings)
            if rule is not None:
                rules.append(rule)
    routes = Routes(rules)
    problems += _unreachable(routes)
    if problems:
        raise ConfigError(dict.fromkeys(problems))  # an alias may have the same one twice
    return routes


def configured_routes(settings: Settings) -> Routes:
    """Return the routes of the file that `routes.file` names, none without one; raise as `load_routes`."""
    if settings.routes.file is None:
        return Routes()
    return load_routes(Path(settings.routes.file), settings)


def _entries(document: Document, wrong: set[Path_], problems: list[Problem]) -> Iterator[_Entry]:
    """Yield the routes of a document without what has the wrong shape."""
    content = document.content
    routes = content.get("routes") if isinstance(content, dict) else None
    for number, says in enumerate(routes if isinstance(routes, list) else []):
        if isinstance(says, dict):
            refused = {key for key in says if ("routes", number, key) in wrong}
            sound = {key: value for key, value in says.items() if key not in refused}
            yield _Entry(document, number, sound, refused, problems)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One route of the file on its way to a rule. `refused` are keys whose values cannot be used."""

    document: Document
    number: int
    says: Mapping[str, Any]
    refused: set[str]
    problems: list[Problem]

    def rule(self, settings: Settings | None) -> Rule | None:
        """Return the rule; None if there is no pattern, or none that can be read."""
        for keys, message in contradictions(self.says):
            if self.refused.isdisjoint(keys):
                self._report(keys[0], message)
        if settings is not None:
            for key, message in beyond(self.says, settings):
                self._report(key, message)
        self._try("start", StartAt().parse)
        self._try("dead_letter", dead_letters.check_template)
        if "match" not in self.says:
            return None
        try:
            pattern = parse(self.says["match"])
        except ValueError as error:
            self._report("match", str(error))
            return None
        route = _route(self.says, self.document.places["routes", self.number])
        topic = self.says.get("topic")
        return Rule(pattern, self._template(topic, pattern), route, topic, _summary(self.says))

    def _try(self, key: str, read: Callable[[str], object]) -> None:
        """Report a value that the schema allows and that means nothing all the same."""
        if key in self.says:
            try:
                read(self.says[key])
            except ValueError as error:
                self._report(key, str(error))

    def _template(self, topic: str | None, pattern: Pattern) -> Template | None:
        if topic is not None:
            try:
                return parse_template(topic, pattern)
            except ValueError as error:
                self._report("topic", str(error))
        return None

    def _report(self, key: str, message: str) -> None:
        place = self.document.places["routes", self.number, key]
        self.problems.append(Problem(message, key, place))


def _route(says: Mapping[str, Any], place: FileLine) -> Route:
    fields = {name: read(says[key]) for key, (name, read) in _OF_ROUTE.items() if key in says}
    # Each value was checked by the schema's part for its key.
    options: dict[str, Any] = {
        name: read(says[key]) for key, (name, read) in _OF_OPTIONS.items() if key in says
    }
    route: dict[str, Any] = {**fields, "options": MappingOptions(**options), "match": says["match"]}
    if "deduplicate" in says:
        window = says.get("deduplicate_window", {})
        limits: dict[str, Any] = {
            name: read(window[key]) for key, (name, read) in _OF_WINDOW.items() if key in window
        }
        # The ledger is written in one transaction with the record, which takes all replicas and has to
        # hold every message of the link.
        route |= {
            "deduplication": Deduplication(says["deduplicate"], **limits),
            "acks": "all",
            "mixed_settled": "ordered",
        }
    return Route(topic="", place=place, **route)


def _unreachable(routes: Routes) -> Iterator[Problem]:
    for rule, before in routes.unreachable():
        match = f"{rule.route.match!r}"
        named = " and ".join(
            f"{each.route.match!r} in line {each.route.place.line}" for each in before if each.route.place
        )
        if len(before) == 1 and before[0].pattern.matches_as(rule.pattern):
            message = f"{match} takes the same addresses as {named}, which comes first; keep one of them"
        else:
            message = (
                f"{match} is never reached: all its addresses go to {named} before; put the more specific"
                " route first"
            )
        yield Problem(message, "match", rule.route.place)


def _summary(says: Mapping[str, Any]) -> str:
    """Return what a route says beside its pattern and its topic, on one line."""
    return ", ".join(f"{key}={written(says[key])}" for key in says if key not in {"match", "topic"})
