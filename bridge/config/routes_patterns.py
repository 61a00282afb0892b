"""Patterns over the topics that addresses name, and the topics that routes make of them. Pure.

A pattern is matched segment by segment, segments being what '.' separates: `*` is any one segment,
`{name}` is any one segment that the route's topic can use, and `#`, as the last segment, is all that
follows, even nothing. Everything else stands for itself. A segment may be empty, as Kafka allows `a..b`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from bridge.addressing.names import LONGEST_TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REST: Final = "#"
ANY: Final = "*"

_LITERAL: Final = re.compile(r"[A-Za-z0-9_-]*")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART_OF_TEMPLATE: Final = re.compile(r"\{([^{}]*)\}")
_NOT_IN_A_TOPIC: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern: its segments, None for any, and whether all that follows them matches as well.

    `captures` gives the numbers of the segments that have names.
    """

    segments: tuple[str | None, ...]
    rest: bool
    captures: Mapping[str, int]

    def matches_as(self, other: Pattern) -> bool:
        """Tell whether the two match the same topics, whatever names they give to segments."""
        return self.segments == other.segments and self.rest == other.rest


@dataclass(frozen=True, slots=True)
class Template:
    """How a topic is made: texts and numbers of captured segments, then what `#` matched.

    `rest` is the number of the first segment that `#` matched; None if it is not used.
    """

    parts: tuple[str | int, ...]
    rest: int | None

    def fill(self, segments: Sequence[str]) -> str:
        """Return the topic for the segments of an address; it may be none that Kafka takes."""
        made = "".join(part if isinstance(part, str) else segments[part] for part in self.parts)
        if self.rest is None:
            return made
        following = segments[self.rest :]
        return ".".join((made, *following) if made else following)


def parse(text: str) -> Pattern:
    """Return the pattern that a route's `match` says; raise ValueError with a clause if it is none."""
    if "/" in text:
        raise ValueError(f"{text!r} has a '/'; write '.' where the address has '/'")
    written = text.split(".")
    rest = written[-1] == REST
    if rest:
        written.pop()
    segments: list[str | None] = []
    captures: dict[str, int] = {}
    for segment in written:
        name = _captured(segment)
        if name is not None:
            if name in captures:
                raise ValueError(f"two segments are named {{{name}}}; give each a name of its own")
            captures[name] = len(segments)
        elif segment != ANY:
            _check_literal(segment)
        segments.append(None if name is not None or segment == ANY else segment)
    shortest = sum(len(segment or "") for segment in segments) + max(0, len(segments) - 1)
    if shortest > LONGEST_TOPIC:
        raise ValueError(f"stands for topics of {shortest} characters and more; Kafka allows {LONGEST_TOPIC}")
    return Pattern(tuple(segments), rest, captures)


def parse_template(text: str, pattern: Pattern) -> Template:
    """Return how a route's `topic` is made of what its pattern matched.

    Raises ValueError with a clause when it uses what the pattern does not capture, or when Kafka could
    not have such a topic.
    """
    head, with_rest = text, False
    if text == REST or text.endswith(f".{REST}"):
        head, with_rest = text[: -len(REST)].removesuffix("."), True
        if not pattern.rest:
            raise ValueError(f"{text!r} ends in '#', and the pattern of match does not")
    parts: list[str | int] = []
    for number, part in enumerate(_PART_OF_TEMPLATE.split(head)):
        if number % 2:  # what stands between braces
            parts.append(_segment_named(part, pattern))
        elif part:
            _check_text(part, text)
            parts.append(part)
    certain = sum(len(part) for part in parts if isinstance(part, str))
    if certain > LONGEST_TOPIC:
        raise ValueError(f"has {certain} characters at least; Kafka allows {LONGEST_TOPIC} in a topic")
    if parts in (["."], [".."]) and not with_rest:
        raise ValueError(f"Kafka allows no topic named {text!r}")
    return Template(tuple(parts), len(pattern.segments) if with_rest else None)


def _captured(segment: str) -> str | None:
    """Return the name of a segment in braces, None for any other."""
    if not (segment.startswith("{") and segment.endswith("}")):
        return None
    name = segment[1:-1]
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{segment!r} names no segment; a name has letters, digits and '_', as in: {{device}}"
        )
    return name


def _check_literal(segment: str) -> None:
    if _LITERAL.fullmatch(segment):
        return
    if REST in segment:
        problem = "'#' stands for all that follows, so it is the whole last segment, as in: europe.#"
    elif ANY in segment:
        problem = "'*' stands for one whole segment, as in: europe.*.orders"
    elif "{" in segment or "}" in segment:
        problem = "braces name one whole segment, as in: europe.{country}.orders"
    else:
        problem = "a topic has letters A-Z and a-z, digits, '.', '_' and '-'"
    raise ValueError(f"{segment!r} is no segment of an address: {problem}")


def _segment_named(name: str, pattern: Pattern) -> int:
    if name in pattern.captures:
        return pattern.captures[name]
    nearest = get_close_matches(name, pattern.captures, n=1)
    if nearest:
        raise ValueError(f"match names no segment {{{name}}}; did you mean {{{nearest[0]}}}?")
    named = ", ".join(f"{{{each}}}" for each in pattern.captures) or "none"
    raise ValueError(f"match names no segment {{{name}}} (it names {named})")


def _check_text(part: str, template: str) -> None:
    found = _NOT_IN_A_TOPIC.search(part)
    if not found:
        return
    match found[0]:
        case "*":
            advice = "give the segment a name in match, as in {device}, and use that"
        case "#":
            advice = "'#' can only be the whole last segment"
        case "/":
            advice = "write '.'"
        case "{" | "}":
            advice = "braces stand around one name, as in: telemetry-{site}"
        case _:
            advice = "a topic has letters A-Z and a-z, digits, '.', '_' and '-'"
    raise ValueError(f"{template!r} has {found[0]!r}, which no topic of Kafka has: {advice}")


class Index:
    """Finds the first of many patterns that matches; its time follows from the segments, not the patterns."""

    def __init__(self) -> None:
        self._root = _Node()
        self._longest = 0

    @property
    def longest(self) -> int:
        """The most segments that a pattern has, `#` not counted."""
        return self._longest

    def add(self, pattern: Pattern, number: int) -> None:
        """Add a pattern; numbers grow, and the one with the smallest comes first."""
        node = self._root
        for segment in pattern.segments:
            if segment is None:
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.literal.setdefault(segment, _Node())
        if pattern.rest:
            node.rest = number if node.rest is None else node.rest
        else:
            node.end = number if node.end is None else node.end
        self._longest = max(self._longest, len(pattern.segments))

    def first(self, segments: Sequence[str]) -> int | None:
        """Return the number of the first pattern that matches, None if none does."""
        found = []
        reached = [self._root]
        for segment in segments:
            following = []
            for node in reached:
                if node.rest is not None:
                    found.append(node.rest)
                literal = node.literal.get(segment)
                if literal is not None:
                    following.append(literal)
                if node.any is not None:
                    following.append(node.any)
            reached = following
        for node in reached:
            found += [number for number in (node.end, node.rest) if number is not None]
        return min(found, default=None)


class _Node:
    """Where one is in the patterns after some segments."""

    __slots__ = ("any", "end", "literal", "rest")

    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.end: int | None = None
        self.rest: int | None = None
