"""What routes say, and which route an address has. Pure: `bridge.config.routes_file` reads them.

A route tells what is done for the addresses that match its pattern; the first that matches counts.
An address that no route matches has a route all the same: its own topic, and all by bridge.properties.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from bridge.addressing import AddressError, names
from bridge.config.dead_letters import NONE, topic_for
from bridge.config.routes_patterns import Index
from bridge.mapping.options import MappingOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.config.problems import FileLine
    from bridge.config.routes_patterns import Pattern, Template
    from bridge.model.deduplication import Deduplication

MappingName: TypeAlias = Literal["native", "eventhubs", "strimzi", "strimzi-json", "raw", "cloudevents"]
"""The profiles of `bridge.mapping.profiles`; `x-opt-bridge.mapping` has the same names for them."""

REMEMBERED_MAX: Final = 4096
"""Addresses whose routes are remembered. Those of an anonymous link are the peer's choice."""

_UNHEARD_OF: Final = "\0"
"""A segment that no pattern has: only a wildcard matches it."""


@dataclass(frozen=True, slots=True)
class Route:
    """What is done for the links of one address. Equal routes are served alike.

    None means: as bridge.properties says.

    `topic`: the topic in Kafka. `mapping_override`: whether a link property may choose another mapping.
    `credit`: the window of a sender's link, in messages, whatever its settlement mode. `timestamp`:
    whether records are stamped on arrival, or with a creation-time that is at most `max_skew_ms` before
    or after the clock. `failed_outcomes`: whether released and modified are for senders that list them,
    or for all whose container-id one of `failed_outcomes_containers` matches (for every one if there are
    none).

    Of receivers' links: `start` is where they begin, as it is written (`bridge.filters.starts.parse_start`
    takes it), `order`, `max_attempts` and `rejected` are as the settings of `sink` have them, and
    `dead_letter` is a template, or `bridge.config.dead_letters.NONE` for no dead-letter topic.

    `match` and `place` say where the route comes from, None for an address without one.
    """

    topic: str
    mapping: MappingName | None = None
    mapping_override: bool = True
    acks: Literal["all", "1"] | None = None
    mixed_settled: Literal["ordered", "acks0"] | None = None
    credit: int | None = None
    max_message_size_bytes: int | None = None
    timestamp: Literal["arrival", "creation-time"] = "arrival"
    max_skew_ms: int = 3_600_000
    options: MappingOptions = field(default_factory=MappingOptions)
    failed_outcomes: Literal["listed", "all"] | None = None
    failed_outcomes_containers: tuple[str, ...] = ()
    deduplication: Deduplication | None = None
    start: str | None = None
    order: Literal["hold", "skip-ahead"] | None = None
    dead_letter: str | None = None
    max_attempts: int | None = None
    rejected: Literal["skip", "detach"] | None = None

    match: str | None = field(default=None, compare=False)
    place: FileLine | None = field(default=None, compare=False)

    def outcomes_for(
        self, container_id: str, otherwise: Literal["listed", "all"]
    ) -> Literal["listed", "all"]:
        """Tell whether a peer gets released and modified only if its source lists them, or always.

        `otherwise` is what bridge.properties says (`source.outcomes`), for a route that says nothing.
        """
        if self.failed_outcomes != "all":
            return self.failed_outcomes or otherwise
        globs = self.failed_outcomes_containers
        named = not globs or any(fnmatchcase(container_id, glob) for glob in globs)
        return "all" if named else "listed"

    def dead_letter_topic(self, otherwise: str | None) -> str | None:
        """Tell the dead-letter topic of the route's topic; None if it has none.

        `otherwise` is the template of bridge.properties (`sink.dead.letter.topic`), for a route that says
        nothing. Raises AddressError if the template makes a name that Kafka could not have.
        """
        template = self.dead_letter or otherwise
        return topic_for(self.topic, None if template == NONE else template)


@dataclass(frozen=True, slots=True)
class Rule:
    """A route as the file has it: for all topics of the pattern.

    `template` makes the topic of each route, which is the address's own without one; that of `route` is
    not used. `says` is what the file says beside pattern and topic, for people.
    """

    pattern: Pattern
    template: Template | None
    route: Route
    topic: str | None = None
    says: str = ""


class Routes:
    """All routes, in their order. Never changes: a new file makes new ones."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._index = Index()
        for number, rule in enumerate(self.rules):
            self._index.add(rule.pattern, number)
        self._find = lru_cache(REMEMBERED_MAX)(self._look_up)

    def find(self, topic: str) -> Route:
        """Return the route of an address, by the topic that the address names (`a.b` for `a/b`).

        Raises AddressError if the route makes a topic of it that Kafka could not have.
        """
        return self._find(topic)

    def _look_up(self, topic: str) -> Route:
        segments = topic.split(".")
        number = self._index.first(segments)
        if number is None:
            return Route(topic)
        rule = self.rules[number]
        if rule.template is None:
            return replace(rule.route, topic=topic)
        made = rule.template.fill(segments)
        try:
            return replace(rule.route, topic=names.topic(made))
        except AddressError as error:
            raise names.invalid(
                f"the bridge's route for {names.quoted(topic)} makes the topic {names.quoted(made)} of"
                f" it, and Kafka can have none of that name: {error.description}"
            ) from error

    def unreachable(self) -> Iterator[tuple[Rule, list[Rule]]]:
        """Yield the rules that no address can have, each with the ones before it that take them all.

        A pattern stands for the topics with something unheard-of in place of its wildcards, and `#` for
        none to more segments than any other pattern has. If earlier patterns match all of these, they
        match everything that it matches: what matches the unheard-of matches anything.
        """
        for number, rule in enumerate(self.rules):
            fixed = [_UNHEARD_OF if segment is None else segment for segment in rule.pattern.segments]
            lengths = range(1)
            if rule.pattern.rest:  # a topic has one segment at least
                lengths = range(0 if fixed else 1, self._index.longest + 2)
            takers = {self._index.first([*fixed, *[_UNHEARD_OF] * length]) for length in lengths}
            if number not in takers:
                yield rule, [self.rules[taker] for taker in sorted(t for t in takers if t is not None)]


def changed(old: Routes, new: Routes, topics: Iterable[str]) -> set[str]:
    """Return those of the topics, as addresses name them, that are not served alike by old and new."""
    return {topic for topic in topics if _found(old, topic) != _found(new, topic)}


def _found(routes: Routes, topic: str) -> Route | None:
    """Return the route of an address, None if there is none."""
    try:
        return routes.find(topic)
    except AddressError:
        return None
