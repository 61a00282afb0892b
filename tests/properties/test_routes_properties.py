"""Laws of routes: patterns match as their definition says, and a file gives routes or a ConfigError."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bridge.config import ConfigError, Settings
from bridge.config.routes import Route, Routes, Rule, changed
from bridge.config.routes_file import load_routes
from bridge.config.routes_patterns import parse, parse_template
from bridge.config.routes_schema import of_a_route

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Few letters, so that patterns and topics meet.
segments = st.sampled_from(["a", "b", "", "ab"])
topics = st.lists(segments, min_size=1, max_size=5).map(".".join)
wildcards = st.sampled_from(["*", "{x}", "{y}", "{z}"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    parts = draw(st.lists(segments | wildcards, max_size=4))
    names = [part for part in parts if part.startswith("{")]
    assume(len(names) == len(set(names)))
    if not parts or draw(st.booleans()):
        parts.append("#")
    return ".".join(parts)


def _matches(pattern: Sequence[str], topic: Sequence[str]) -> bool:
    """Say what a pattern means, as simply as can be: word by word, from the left."""
    if not pattern:
        return not topic
    if pattern[0] == "#":
        return True
    if not topic:
        return False
    return pattern[0] in {topic[0], "*", "{x}", "{y}", "{z}"} and _matches(pattern[1:], topic[1:])


def _first(all_patterns: Sequence[str], topic: str) -> str | None:
    fitting = (each for each in all_patterns if _matches(each.split("."), topic.split(".")))
    return next(fitting, None)


def _routes(all_patterns: Sequence[str]) -> Routes:
    return Routes(
        Rule(parse(each), None, Route("", credit=number, match=each))
        for number, each in enumerate(all_patterns, 1)
    )


@given(st.lists(patterns(), max_size=8), topics)
@example(["*"], "")
@example(["a.#"], "a")
def test_the_first_pattern_that_matches_by_definition_is_found(all_patterns: list[str], topic: str) -> None:
    route = _routes(all_patterns).find(topic)
    assert route.match == _first(all_patterns, topic)
    assert route.topic == topic


@given(st.lists(patterns(), max_size=5), st.lists(topics, min_size=1, max_size=20))
def test_what_is_never_reached_is_never_found(all_patterns: list[str], some: list[str]) -> None:
    routes = _routes(all_patterns)
    hidden = {rule.route.credit for rule, _ in routes.unreachable()}
    assert hidden.isdisjoint({routes.find(topic).credit for topic in some})


@given(st.lists(patterns(), max_size=5))
def test_what_can_be_reached_is_found_for_some_topic(all_patterns: list[str]) -> None:
    routes = _routes(all_patterns)
    hidden = {rule.route.credit for rule, _ in routes.unreachable()}
    for number, pattern in enumerate(all_patterns, 1):
        parts = ["other" if part.startswith(("*", "{")) else part for part in pattern.split(".")]
        fixed = parts[:-1] if parts[-1] == "#" else parts
        lengths = range(8) if parts[-1] == "#" else range(1)
        witnesses = [".".join([*fixed, *["other"] * length]) for length in lengths if fixed or length]
        assert (number in {routes.find(each).credit for each in witnesses}) == (number not in hidden)


@given(topics, topics)
def test_a_captured_segment_is_where_the_topic_uses_it(first: str, second: str) -> None:
    one, two = first.partition(".")[0], second.partition(".")[0]
    pattern = parse("{x}.*.{y}.#")
    template = parse_template("t-{y}.{x}{y}.#", pattern)
    assert template.fill([one, "b", two]) == f"t-{two}.{one}{two}"
    assert template.fill([one, "b", two, "c", "d"]) == f"t-{two}.{one}{two}.c.d"


@given(st.lists(patterns(), max_size=5), st.lists(patterns(), max_size=5), st.lists(topics, max_size=10))
def test_what_changed_is_what_is_found_otherwise(old: list[str], new: list[str], some: list[str]) -> None:
    before, after = _routes(old), _routes(new)
    assert changed(before, after, some) == {each for each in some if before.find(each) != after.find(each)}
    assert changed(before, _routes(old), some) == set()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("routes") / "routes.yaml"


def _loaded_or_refused(file: Path, octets: bytes) -> None:
    """Load what may be anything: nothing but ConfigError comes of it, one line for each problem."""
    file.write_bytes(octets)
    try:
        routes = load_routes(file, Settings())
    except ConfigError as error:
        refused = error
    else:
        assert all(rule.route.match for rule in routes.rules)
        return
    assert refused.problems
    assert len(str(refused).splitlines()) == len(refused.problems) + 1
    # At most: YAML 1.1 has more line breaks than these two, U+0085, U+2028 and U+2029, in whichever encoding.
    lines = sum(map(octets.count, (b"\n", b"\r", b"\x85", b"\xa8", b"\xa9", b"( ", b" (", b") ", b" )"))) + 2
    for problem in refused.problems:
        if problem.place is not None:
            number = int(str(problem.place).removeprefix(str(file)).split()[1])
            assert 1 <= number <= lines


words = st.sampled_from(
    [
        *["routes:", "\n", "  ", "- ", "match: ", "a.*", '"#"', "topic: ", "{x}", "&a ", "*a", "<<: ", ": "],
        *[
            "deduplicate: ",
            "message-id",
            "[",
            "]",
            "{",
            "}",
            ", ",
            "'",
            "\t",
            "---\n",
            "!x ",
            "? ",
            "| ",
            "#",
        ],
        *of_a_route(),
    ]
)


@given(
    st.one_of(
        st.binary(max_size=100),
        st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029")).map(str.encode),
        st.lists(words, max_size=30).map(lambda parts: "".join(parts).encode()),
    )
)
def test_any_octets_are_routes_or_a_config_error(file: Path, octets: bytes) -> None:
    assume(b"\xc2\x85" not in octets)  # which YAML takes for the end of a line
    _loaded_or_refused(file, octets)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 10**20), st.floats(), st.text(max_size=8), patterns()
)
enumerated = st.sampled_from(sorted({str(w) for part in of_a_route().values() for w in part.get("enum", [])}))
quantities = st.sampled_from(["1s", "0s", "5m", "9999d", "1MiB", "0KiB", "999MiB", "1KB", "{x}", "#", "t.#"])
anything = st.recursive(
    scalars | enumerated | quantities,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
a_route = st.dictionaries(
    st.sampled_from([*of_a_route(), "mtach"]), anything | enumerated | quantities, max_size=6
).flatmap(lambda says: patterns().map(lambda match: {"match": match, **says}))


@given(st.lists(a_route | anything, max_size=4), st.booleans())
def test_any_routes_are_routes_or_a_config_error(file: Path, routes: list[object], as_json: bool) -> None:  # noqa: FBT001 - drawn by name
    document = {"routes": routes}
    text = json.dumps(document) if as_json else yaml.safe_dump(document, allow_unicode=True)
    _loaded_or_refused(file, text.encode("utf-8", "replace"))


@given(st.lists(patterns().filter(bool), max_size=4), topics)
def test_a_file_gives_what_its_patterns_say(file: Path, all_patterns: list[str], topic: str) -> None:
    text = yaml.safe_dump({"routes": [{"match": each, "topic": f"t.{topic}"} for each in all_patterns]})
    file.write_text(text, encoding="utf-8")
    unreachable = list(_routes(all_patterns).unreachable())
    if unreachable:
        with pytest.raises(ConfigError) as caught:
            load_routes(file)
        assert len(caught.value.problems) == len(unreachable)
        return
    route = load_routes(file).find(topic)
    assert route.match == _first(all_patterns, topic)
    assert route.topic == (topic if route.match is None else f"t.{topic}")
