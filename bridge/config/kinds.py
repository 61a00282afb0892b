"""The kinds of values that options have: text in, checked value out.

Pure. `parse` raises ValueError with a clause that tells what is wrong; `describe` tells what is
allowed, for people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bridge.config import dead_letters
from bridge.filters.starts import parse_start

if TYPE_CHECKING:
    from collections.abc import Mapping

Value: TypeAlias = str | int | bool

_LONGEST_NUMBER: Final = 18
"""Digits; more than any range here allows, and few enough for int() never to complain."""

_HOST_AND_PORT: Final = re.compile(r"[^:\s]*:\d+")
_SERVER: Final = re.compile(
    r"(?:[A-Za-z_]+://)?(?:\[[0-9A-Za-z:.%_-]+\]|[^\s:/@\[\]]+)(?::(?P<port>\d{1,5}))?"
)
_HIGHEST_PORT: Final = 65_535


class Kind(Protocol):
    """What kind of value an option has."""

    def parse(self, text: str) -> Value:
        """Return the value that the text stands for; raise ValueError if there is none."""

    def describe(self) -> str:
        """Return what is allowed, as the beginning of a sentence."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `minimum` to `maximum`; 0 as well where `zero` says what it means."""

    minimum: int
    maximum: int
    unit: str = ""
    zero: str = ""

    def parse(self, text: str) -> int:
        """Return the number."""
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER):
            unit = f" (of {self.unit}; the unit is not written)" if self.unit else ""
            raise ValueError(f"{_quoted(text)} is not a whole number{unit}")
        number = int(text)
        if not (self.minimum <= number <= self.maximum or (self.zero and number == 0)):
            raise ValueError(f"{number} is not allowed: {self._range()}")
        return number

    def describe(self) -> str:
        """Return the range and the unit."""
        unit = f" of {self.unit}" if self.unit else ""
        return f"Whole number{unit}, {self._range()}"

    def _range(self) -> str:
        zero = f" (0: {self.zero})" if self.zero else ""
        return f"{self.minimum} to {self.maximum}{zero}"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words; case does not matter.

    `synonyms` are accepted and mean one of the values; `refused` gives the reason why a word that
    people try is not allowed.
    """

    values: tuple[str, ...]
    synonyms: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def parse(self, text: str) -> str:
        """Return the word."""
        word = text.lower()
        word = self.synonyms.get(word, word)
        if word in self.values:
            return word
        if word in self.refused:
            raise ValueError(f"{_quoted(text)} is not allowed: {self.refused[word]}")
        raise ValueError(f"{_quoted(text)} is not one of {', '.join(self.values)}")

    def describe(self) -> str:
        """Return the words."""
        return f"One of {', '.join(self.values)}"


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false, in words."""

    def parse(self, text: str) -> bool:
        """Return the truth value."""
        match text.lower():
            case "true":
                return True
            case "false":
                return False
            case _:
                raise ValueError(f"{_quoted(text)} is neither true nor false")

    def describe(self) -> str:
        """Return the two words."""
        return "true or false"


@dataclass(frozen=True, slots=True)
class Text:
    """Printable text, at most `longest` characters."""

    longest: int

    def parse(self, text: str) -> str:
        """Return the text."""
        if len(text) > self.longest:
            raise ValueError(f"is longer than {self.longest} characters")
        if not text.isprintable():
            raise ValueError("has a character that cannot be printed")
        return text

    def describe(self) -> str:
        """Return the limit."""
        return f"Text of at most {self.longest} characters"


@dataclass(frozen=True, slots=True)
class StartAt:
    """Where a receiver begins; the value is the text, for `bridge.filters.starts.parse_start`."""

    def parse(self, text: str) -> str:
        """Return the text, whose meaning was tried."""
        parse_start(text)
        return text

    def describe(self) -> str:
        """Return the forms."""
        return "earliest, latest, so long ago (10m, 2h, 7d), or since a time (2026-01-31T12:00:00Z)"


@dataclass(frozen=True, slots=True)
class TopicTemplate:
    """The name of a dead-letter topic, perhaps with `{topic}`."""

    def parse(self, text: str) -> str:
        """Return the template."""
        if text.lower() == dead_letters.NONE:
            raise ValueError(f"{_quoted(text)} is what a route says; leave it out here, and there is none")
        return dead_letters.check_template(text)

    def describe(self) -> str:
        """Return the form."""
        return "Name of a topic, perhaps with {topic} in it"


@dataclass(frozen=True, slots=True)
class Host:
    """An address or a host name to listen on, without a port."""

    def parse(self, text: str) -> str:
        """Return the host."""
        if _HOST_AND_PORT.fullmatch(text):
            raise ValueError(f"{_quoted(text)} has a port, which is an option of its own")
        if any(character.isspace() or character in "/@," for character in text):
            raise ValueError(f"{_quoted(text)} is not a host name or an address")
        return text.removeprefix("[").removesuffix("]")

    def describe(self) -> str:
        """Return what a host may be."""
        return "Host name or address; 0.0.0.0 is every IPv4 interface"


@dataclass(frozen=True, slots=True)
class Servers:
    """Addresses of Kafka brokers, as librdkafka takes them: `host:port,host:port`."""

    def parse(self, text: str) -> str:
        """Return the list without blanks."""
        servers = [server.strip() for server in text.split(",")]
        for number, server in enumerate(servers, 1):
            found = _SERVER.fullmatch(server)
            if not found:
                # What is not an address is not shown: it may be user:password@host.
                raise ValueError(f"server {number} of {len(servers)} is not host:port")
            port = found["port"]
            if port is not None and not 1 <= int(port) <= _HIGHEST_PORT:
                raise ValueError(f"{port} of server {number} is not a port")
        return ",".join(servers)

    def describe(self) -> str:
        """Return the form."""
        return "host:port of one or more brokers, separated by commas"


def _quoted(text: str) -> str:
    """Return text for a message: it stays on one line, and is not long."""
    longest = 40
    return repr(text if len(text) <= longest else text[:longest] + "...")
