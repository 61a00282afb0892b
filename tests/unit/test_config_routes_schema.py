from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, get_args

import pytest
from jsonschema import Draft7Validator
from support.repository import read

from bridge.config import routes_document, routes_schema
from bridge.config.routes import MappingName
from bridge.config.routes_schema import duration_ms, of_a_route, size, violations
from bridge.mapping.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.config.problems import Problem

DESCRIBED: Final = {"title", "description", "default", "examples", "x-minimum", "x-maximum"}
CHECKED: Final = {
    *["additionalProperties", "required", "type", "enum", "pattern", "minimum", "maximum", "minLength"],
    *["maxLength", "minItems", "maxItems"],
}


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for each in schema.get("properties", {}).values():
        yield from _parts(each)
    if "items" in schema:
        yield from _parts(schema["items"])


ALL_PARTS: Final = list(_parts(json.loads(routes_schema.text())))


def test_it_is_a_schema_that_editors_understand() -> None:
    Draft7Validator.check_schema(routes_schema.schema())
    assert routes_schema.schema()["$schema"] == "http://json-schema.org/draft-07/schema#"


def test_everything_is_described() -> None:
    for part in ALL_PARTS:
        for name, each in part.get("properties", {}).items():
            assert each["description"].endswith("."), name


def test_there_is_a_message_for_each_word_of_it() -> None:
    words = {word for part in ALL_PARTS for word in part}
    assert words <= DESCRIBED | CHECKED | {"$schema", "properties", "items", "patternErrorMessage"}
    for part in ALL_PARTS:
        assert ("pattern" in part) == ("patternErrorMessage" in part)
        assert ("minimum" in part) == ("maximum" in part)
        assert ("x-minimum" in part) == ("x-maximum" in part)


def test_defaults_and_examples_are_allowed() -> None:
    count = 0
    for part in ALL_PARTS:
        for value in [*part.get("examples", []), *([part["default"]] if part.get("default") else [])]:
            Draft7Validator(part).validate(value)
            count += 1
    assert count > 10


def test_the_mappings_are_those_that_there_are() -> None:
    assert tuple(of_a_route()["mapping"]["enum"]) == get_args(MappingName)
    assert PROFILES.keys() <= set(get_args(MappingName))


def test_the_guide_has_a_row_for_each_key_with_its_default() -> None:
    section = read("docs/routes.md").partition("\n## Keys\n")[2].partition("\n### ")[0]
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| (.*?) \|", section, re.MULTILINE))
    window = of_a_route()["deduplicate_window"]["properties"]
    keys = {**of_a_route(), **{f"deduplicate_window.{key}": value for key, value in window.items()}}
    del keys["deduplicate_window"]
    assert list(rows) == list(keys)
    for key, part in keys.items():
        for word in part.get("enum", []):
            assert f"`{word}`" in rows[key], key
        if "default" in part and part["default"] != []:
            assert f"**`{json.dumps(part['default']).strip(chr(34))}`**" in rows[key], key
        else:
            assert "**" not in rows[key], key


@pytest.mark.parametrize(
    ("written", "octets"), [(1, 1), ("1", 1), ("64KiB", 65_536), ("1MiB", 1_048_576), ("007", 7)]
)
def test_sizes(written: int | str, octets: int) -> None:
    assert size(written) == octets


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [("5ms", 5), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000), ("7d", 604_800_000)],
)
def test_lengths_of_time(written: str, milliseconds: int) -> None:
    assert duration_ms(written) == milliseconds


@pytest.mark.parametrize("written", ["", "s", "-1s", "1 s", "1.5s"])
def test_what_is_no_quantity(written: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        duration_ms(written)


def _found(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "routes.yaml"
    file.write_text(text, encoding="utf-8")
    problems: list[Problem] = []
    document = routes_document.read(file, problems)
    assert document is not None
    problems += [problem for _, problem in violations(document)]
    return [str(problem).removeprefix(str(file)).strip() for problem in problems]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("text", "line 1 column 1: 'text' is not a mapping: indented lines of the form key: value"),
        ("[]", "line 1 column 1: a list is not a mapping: indented lines of the form key: value"),
        ("{}", "line 1 column 1: routes is missing"),
        ("routes:\n", "line 1 column 8: routes: is empty; give a value or leave it out"),
        ("routes: {}\n", "line 1 column 9: routes: a mapping is not a list: lines that begin with '- '"),
        ("routes: []\nrouts: 1\n", "line 2 column 1: routs: no such key; did you mean routes?"),
        (
            "routes: [a]\n",
            "line 1 column 10: routes: 'a' is not a mapping: indented lines of the form key: value",
        ),
        (f"routes: [{'{match: x},' * 1001}]", "line 1 column 9: routes: has 1001 entries; 1000 are allowed"),
    ],
)
def test_the_document_as_a_whole(tmp_path: Path, text: str, problem: str) -> None:
    assert problem in _found(tmp_path, text)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("topic:", "column 11: topic: is empty; give a value or leave it out"),
        ('topic: ""', "column 12: topic: is empty; give a value or leave it out"),
        ("topic: 2024", "column 12: topic: 2024 is not text; put it in quotes"),
        ("topic: true", "column 12: topic: true is not text; put it in quotes"),
        ("topic: {x}", "column 12: topic: a value that begins with '{' has to be in quotes,"),
        ("topic: [x]", "column 12: topic: a list is not text"),
        (f"topic: {'x' * 1001}", "column 12: topic: is longer than 1000 characters"),
        ("mapping: Raw", "column 14: mapping: 'Raw' is not one of native, eventhubs, strimzi,"),
        ("mapping: 1", "column 14: mapping: 1 is not text; put it in quotes"),
        ("acks: 0", "column 11: acks: 0 is not one of all, 1"),
        ("acks: true", "column 11: acks: true is not one of all, 1"),
        ("credit: 0", "column 13: credit: 0 is not allowed: 1 to 1000000"),
        ("credit: 1000001", "column 13: credit: 1000001 is not allowed: 1 to 1000000"),
        ("credit: 1.5", "column 13: credit: '1.5' is not a whole number"),
        ("credit: true", "column 13: credit: true is not a whole number"),
        ("max_message_size: 0", "column 23: max_message_size: 0 is not allowed: 1 to 536870912"),
        ("max_message_size: 0KiB", "column 23: max_message_size: 0KiB is not allowed: 1 to 536870912"),
        ("max_message_size: 513MiB", "column 23: max_message_size: 513MiB is not allowed: 1 to 536870912"),
        ("max_message_size: 1MB", "column 23: max_message_size: '1MB': write a number of bytes, or one"),
        ("max_message_size: true", "column 23: max_message_size: true: write a number of bytes, or one"),
        ("headers_max: -1", "column 18: headers_max: -1 is not allowed: 1 to 10000"),
        ("key_from_group_id: yes", "column 24: key_from_group_id: 'yes' is not true or false"),
        ("tombstones: true", "column 17: tombstones: true is not text; put it in quotes"),
        ("max_skew: 10", "column 15: max_skew: 10 has no unit: write a number with ms, s, m, h or d,"),
        ("max_skew: 10 s", "column 15: max_skew: '10 s': write a number with ms, s, m, h or d,"),
        ("max_skew: 0s", "column 15: max_skew: 0s is not allowed: 1ms to 3650d"),
        ("max_skew: 3651d", "column 15: max_skew: 3651d is not allowed: 1ms to 3650d"),
        ("failed_outcomes_containers: []", "column 33: failed_outcomes_containers: is empty; give values"),
        (
            "failed_outcomes_containers: [a, 1]",
            "column 37: failed_outcomes_containers: 1 is not text; put it",
        ),
        ("failed_outcomes_containers: a", "column 33: failed_outcomes_containers: 'a' is not a list"),
        ("deduplicate_window: 1h", "column 25: deduplicate_window: '1h' is not a mapping"),
        ("deduplicate_window: {time: 8d}", "column 32: deduplicate_window.time: 8d is not allowed: 1s to 7d"),
        ("deduplicate_window: {count: 0}", "column 33: deduplicate_window.count: 0 is not allowed: 1 to"),
        (
            "deduplicate_window: {tme: 1h}",
            "column 26: deduplicate_window.tme: no such key; did you mean time?",
        ),
        (
            "deduplicate_window: {x: 1h}",
            "column 26: deduplicate_window.x: no such key; the keys here are: time",
        ),
        ("mixed-settled: ordered", "column 5: mixed-settled: no such key; did you mean mixed_settled?"),
        ("maxMessageSize: 1", "column 5: maxMessageSize: no such key; did you mean max_message_size?"),
        ("toipc: x", "column 5: toipc: no such key; did you mean topic?"),
        ("partition: 1", "column 5: partition: no such key"),
    ],
)
def test_a_key_or_value_that_is_wrong_is_told_once_with_line_and_column(
    tmp_path: Path, line: str, problem: str
) -> None:
    [found] = _found(tmp_path, f"# routes\nroutes:\n  - match: x\n    {line}\n")
    assert found.startswith(f"line 4 {problem}")


def test_what_misses_is_told_where_it_should_be(tmp_path: Path) -> None:
    text = "routes:\n  - match: x\n  - topic: x\n  - match: #\n"
    assert _found(tmp_path, text) == [
        "line 3 column 5: routes: match is missing",
        "line 4 column 11: match: is empty; what begins with '#' has to be in quotes, as in \"#\"",
    ]
