"""Laws of the configuration: nothing but ConfigError, nothing lost on the way, no secret shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.config import ConfigError, resolve
from bridge.config.ancestor import NAMES
from bridge.config.check import rows
from bridge.config.kinds import Choice, Flag, Host, Servers, StartAt, Text, TopicTemplate, Value, Whole
from bridge.config.librdkafka import JAVA_ONLY, OWNED
from bridge.config.librdkafka_names import READ_BY
from bridge.config.options import BY_KEY, OPTIONS, written
from bridge.config.redaction import is_secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.config.options import Option

SECRET = "hunter2-correct-horse"  # noqa: S105 - it must not be seen

keys = st.one_of(
    st.sampled_from([*BY_KEY, *NAMES, *(f"kafka.{name}" for name in (*OWNED, *JAVA_ONLY))]),
    st.sampled_from([f"kafka.{p}{n}" for n in READ_BY for p in ("", "producer.", "consumer.")]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
)
values = st.one_of(st.text(st.characters(codec="utf-8"), max_size=20), st.integers().map(str))
variables = st.one_of(
    st.sampled_from([option.variable for option in OPTIONS]),
    st.text(st.characters(codec="ascii"), max_size=20).map(lambda name: f"BRIDGE_{name}"),
    st.text(max_size=10),
)
environments = st.dictionaries(variables, values, max_size=4)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config") / "bridge.properties"


def _rows_or_problems(path: Path, environment: dict[str, str]) -> None:
    try:
        resolution = resolve(path, environment)
    except ConfigError as caught:
        error = caught
    else:
        assert {row.key for row in rows(resolution)} >= resolution.entries.keys()
        return
    assert error.problems
    # Nothing that was read breaks a line.
    assert len(str(error).splitlines()) == len(error.problems) + 1


@given(st.one_of(st.binary(max_size=200), st.text().map(lambda t: t.encode(errors="replace"))))
def test_any_octets_are_a_configuration_or_a_config_error(path: Path, octets: bytes) -> None:
    path.write_bytes(octets)
    _rows_or_problems(path, {})


@given(st.lists(st.tuples(keys, values), max_size=6), environments)
def test_any_entries_are_a_configuration_or_a_config_error(
    path: Path, entries: list[tuple[str, str]], environment: dict[str, str]
) -> None:
    path.write_text(javaproperties.dumps(entries, timestamp=False), encoding="utf-8")
    _rows_or_problems(path, environment)


SAMPLES: Final[Mapping[type, list[str]]] = {
    Host: ["127.0.0.1", "::1", "bridge.example"],
    Servers: ["kafka:9092", "a:1,b:2"],
    StartAt: ["earliest", "latest", "90s", "2026-01-31T12:00:00.5+01:00"],
    TopicTemplate: ["{topic}.dlt", "dlt-{topic}", "graves"],
}


def _allowed(option: Option) -> st.SearchStrategy[Value]:
    match option.kind:
        case Whole(minimum=minimum, maximum=maximum):
            return st.integers(minimum, maximum)
        case Choice(values=words):
            return st.sampled_from(words)
        case Flag():
            return st.booleans()
        case Text(longest=longest):
            text = st.text(st.characters(codec="utf-8"), min_size=1, max_size=longest)
            return text.filter(lambda t: t.isprintable() and t == t.strip())
        case kind:
            return st.sampled_from(SAMPLES[type(kind)])


# Options that have nothing to contradict.
BOUND = (
    ".port",
    "bridge.workers",
    ".window.bytes",
    ".size.bytes",
    "revoke.wait.ms",
    ".backoff.ms",
    ".backoff.max.ms",
)
FREE = [option for option in OPTIONS if not option.key.endswith(BOUND)]


@given(st.fixed_dictionaries({}, optional={option.key: _allowed(option) for option in FREE}))
def test_allowed_values_arrive_from_the_file_and_from_the_environment(
    path: Path, given_values: dict[str, Value]
) -> None:
    texts = {key: written(value) for key, value in given_values.items()}
    path.write_text(javaproperties.dumps(texts, timestamp=False), encoding="utf-8")
    from_file = resolve(path, {}).settings
    from_environment = resolve(None, {BY_KEY[key].variable: t for key, t in texts.items()}).settings
    assert from_file == from_environment
    for option in OPTIONS:
        value = getattr(getattr(from_file, option.section), option.field)
        assert value == given_values.get(option.key, option.default)


@given(
    st.sampled_from(
        [
            f"{prefix}{name}"
            for name in (*READ_BY, *JAVA_ONLY, *OWNED, "unknown.secret")
            if is_secret(name)
            for prefix in ("kafka.", "kafka.producer.", "kafka.consumer.", "amqp.", "")
        ]
    ),
    st.lists(st.tuples(keys, values), max_size=4),
    st.sampled_from(["file", "environment"]),
)
def test_a_secret_is_never_shown(path: Path, key: str, others: list[tuple[str, str]], where: str) -> None:
    entries = [*others, (key, SECRET)] if where == "file" else others
    path.write_text(javaproperties.dumps(entries, timestamp=False), encoding="utf-8")
    variable = f"BRIDGE_{key.replace('.', '_').upper()}"
    environment = {} if where == "file" else {variable: SECRET}
    try:
        resolution = resolve(path, environment)
    except ConfigError as error:
        visible = f"{error}{error!r}{error.problems!r}"
    else:
        visible = f"{resolution!r}{rows(resolution)!r}"
    assert SECRET not in visible
