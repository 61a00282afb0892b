"""From a file and the environment to settings: reads, translates, checks, and reports it all at once.

The environment wins over the file, the file over the defaults.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from bridge.config import ancestor, environment, librdkafka, librdkafka_names, properties_file
from bridge.config.combinations import contradictions
from bridge.config.options import BY_KEY
from bridge.config.problems import ConfigError, Entry, Problem
from bridge.config.redaction import PassThrough, is_secret
from bridge.config.settings import (
    AmqpSettings,
    BridgeSettings,
    DeduplicationSettings,
    ErrorsSettings,
    KafkaSettings,
    LogSettings,
    ManagementSettings,
    MappingSettings,
    RoutesSettings,
    Settings,
    ShutdownSettings,
    SinkSettings,
    SourceSettings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bridge.config.kinds import Value

_START: Final = "sink.start"
_AUTO_OFFSET_RESET: Final = "kafka.consumer.auto.offset.reset"
_STARTS: Final = {
    **dict.fromkeys(("smallest", "earliest", "beginning"), "earliest"),
    **dict.fromkeys(("largest", "latest", "end"), "latest"),
}
"""The words of librdkafka for the two; its `error` is for offsets that are gone, alone."""

_LOOKS_LIKE_A_KEY: Final = re.compile(
    r"[A-Za-z][\w-]{0,30}(\.[\w-]{1,30})+|[a-z][a-z_-]{0,30}|[A-Z]{1,20}(_[A-Z]{1,20}){1,8}"
)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Settings, and where they come from.

    `entries` has what was given, by today's keys; `doubts` what librdkafka will probably refuse.
    """

    settings: Settings
    entries: Mapping[str, Entry]
    doubts: tuple[Problem, ...]


def load(path: Path | None, environment: Mapping[str, str]) -> Settings:
    """Return the settings of a properties file (if there is one) and of `BRIDGE_*` variables.

    Raises ConfigError, which carries all that is wrong.
    """
    return resolve(path, environment).settings


def resolve(path: Path | None, variables: Mapping[str, str]) -> Resolution:
    """Return the settings with their origins; raise ConfigError as `load` does."""
    problems: list[Problem] = []
    entries: dict[str, Entry] = {}
    in_file = [] if path is None else properties_file.read(path, problems)
    for given in (in_file, environment.read(variables, problems)):
        written = _once(given, problems, lambda entry: entry.written)
        translated = [new for old in written for new in ancestor.translate(old, problems)]
        entries |= {entry.key: entry for entry in _once(translated, problems, lambda entry: entry.key)}

    values: dict[str, Value] = {}
    pass_through: dict[librdkafka.Clients, dict[str, str]] = {
        "common": {},
        "producer": {},
        "consumer": {},
    }
    doubts: list[Problem] = []
    refused = {problem.key for problem in problems if problem.key is not None}
    for entry in entries.values():
        if entry.key in BY_KEY:
            problem = _take(entry, values)
        elif entry.key.startswith(librdkafka.PREFIX):
            problem = _pass_on(entry, pass_through, doubts)
        else:
            problem = _unknown(entry)
        if problem is not None:
            problems.append(problem)
            refused.add(entry.key)

    _begin_as_consumers_do(entries, values, refused)
    settings = _settings(values, pass_through)
    for found in contradictions(settings):
        if refused.isdisjoint(found.keys):
            key = next((key for key in found.keys if key in entries), found.keys[0])
            place = entries[key].place if key in entries else None
            problems.append(Problem(found.message, key, place))
    if problems:
        raise ConfigError(problems)
    return Resolution(settings, entries, tuple(doubts))


def _once(entries: list[Entry], problems: list[Problem], name: Callable[[Entry], str]) -> list[Entry]:
    """Return the entries without those whose name another one before them has."""
    first: dict[str, Entry] = {}
    for entry in entries:
        before = first.setdefault(name(entry), entry)
        if before is entry:
            continue
        if before.written == entry.written:
            problems.append(Problem(f"is set already, in {before.place}", entry.key, entry.place))
        else:
            problems.append(
                Problem(
                    f"{before.written} ({before.place}) sets {entry.key} as well; keep one",
                    entry.written,
                    entry.place,
                )
            )
    return list(first.values())


def _take(entry: Entry, values: dict[str, Value]) -> Problem | None:
    """Parse the value of one of the bridge's options."""
    text = entry.value.strip()
    message = "is empty; give a value or leave it out"
    if text:
        try:
            values[entry.key] = BY_KEY[entry.key].kind.parse(text)
        except ValueError as error:
            message = str(error)
        else:
            return None
    return Problem(message, entry.written, entry.place)


def _pass_on(
    entry: Entry,
    pass_through: dict[librdkafka.Clients, dict[str, str]],
    doubts: list[Problem],
) -> Problem | None:
    """Keep an option for librdkafka, unless it is known that it cannot be passed on."""
    clients, name = librdkafka.split(entry.key)
    objection = librdkafka.refusal(clients, name)
    if objection is not None:
        return Problem(objection, entry.written, entry.place)
    if not librdkafka.is_known(name):
        meant = librdkafka.misspelt_option(entry.key)
        if meant is not None:
            return Problem("no such option", entry.written, entry.place, meant)
        if not _LOOKS_LIKE_A_KEY.fullmatch(entry.key):
            return _unknown(entry)
        doubts.append(
            Problem(
                f"librdkafka {librdkafka_names.VERSION} has no such property",
                entry.key,
                entry.place,
                librdkafka.nearest(entry.key),
            )
        )
    # Blanks at the end of a line are hardly meant; in a password they may be.
    pass_through[clients][name] = entry.value if is_secret(name) else entry.value.strip()
    return None


def _begin_as_consumers_do(entries: dict[str, Entry], values: dict[str, Value], refused: set[str]) -> None:
    """Let `auto.offset.reset` of consumers say where receivers begin, unless `sink.start` does.

    librdkafka has it for two things: where a group begins that has committed nothing, and where reading goes
    on when the offset to read next is gone. The former is `sink.start` here.
    """
    entry = entries.get(_AUTO_OFFSET_RESET)
    if entry is None or _START in entries or entry.written in refused or _START in refused:
        return
    start = _STARTS.get(entry.value.strip().lower())
    if start is not None:
        values[_START] = start
        entries[_START] = replace(entry, key=_START, value=start)


def _unknown(entry: Entry) -> Problem:
    sure = librdkafka.with_prefix(entry.key) or _nearest(entry.key, 0.8)
    if sure is not None or _LOOKS_LIKE_A_KEY.fullmatch(entry.key):
        nearest = sure or _nearest(entry.key, 0.6)
        return Problem("no such option", entry.written, entry.place, nearest)
    # A key or certificate whose lines are not joined by backslashes ends up here, line by line.
    return Problem(
        "this is no option; what it says is not shown, as it may be a part of a secret (a value"
        " goes on in the next line only after a backslash)",
        place=entry.place,
    )


def _nearest(key: str, cutoff: float) -> str | None:
    return next(iter(get_close_matches(key.lower(), BY_KEY, n=1, cutoff=cutoff)), None)


def _settings(
    values: Mapping[str, Value],
    pass_through: Mapping[librdkafka.Clients, Mapping[str, str]],
) -> Settings:
    def section(name: str) -> dict[str, Any]:
        # Each value was made by the kind of the option that belongs to the field.
        return {BY_KEY[key].field: value for key, value in values.items() if _is_in(key, name)}

    return Settings(
        bridge=BridgeSettings(**section("bridge")),
        amqp=AmqpSettings(**section("amqp")),
        mapping=MappingSettings(**section("mapping")),
        source=SourceSettings(**section("source")),
        deduplication=DeduplicationSettings(**section("deduplication")),
        routes=RoutesSettings(**section("routes")),
        sink=SinkSettings(**section("sink")),
        errors=ErrorsSettings(**section("errors")),
        kafka=KafkaSettings(
            **section("kafka"),
            common=PassThrough(pass_through["common"]),
            producer=PassThrough(pass_through["producer"]),
            consumer=PassThrough(pass_through["consumer"]),
        ),
        management=ManagementSettings(**section("management")),
        log=LogSettings(**section("log")),
        shutdown=ShutdownSettings(**section("shutdown")),
    )


def _is_in(key: str, section: str) -> bool:
    return BY_KEY[key].section == section
