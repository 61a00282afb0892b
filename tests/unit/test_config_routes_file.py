from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml
from support.repository import ROOT, read

from bridge.config import AmqpSettings, ConfigError, RoutesSettings, Settings, SinkSettings
from bridge.config.problems import FileLine
from bridge.config.routes import Route, Routes
from bridge.config.routes_file import configured_routes, load_routes
from bridge.config.routes_schema import of_a_route
from bridge.mapping.options import MappingOptions
from bridge.model.deduplication import Deduplication

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUTES: Final = "routes.example.yaml"
MIB: Final = 1024 * 1024

OTHER: Final[Mapping[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "topic": ({"topic": "y"}, {"topic": "y"}),
    "mapping": ({"mapping": "raw"}, {"mapping": "raw"}),
    "mapping_override": ({"mapping_override": "deny"}, {"mapping_override": False}),
    "acks": ({"acks": 1}, {"acks": "1"}),
    "mixed_settled": ({"mixed_settled": "acks0"}, {"mixed_settled": "acks0"}),
    "credit": ({"credit": 5}, {"credit": 5}),
    "max_message_size": ({"max_message_size": "1MiB"}, {"max_message_size_bytes": MIB}),
    "timestamp": ({"timestamp": "creation-time"}, {"timestamp": "creation-time"}),
    "max_skew": (
        {"timestamp": "creation-time", "max_skew": "5m"},
        {"timestamp": "creation-time", "max_skew_ms": 300_000},
    ),
    "failed_outcomes": ({"failed_outcomes": "all"}, {"failed_outcomes": "all"}),
    "failed_outcomes_containers": (
        {"failed_outcomes": "all", "failed_outcomes_containers": ["a*", "b"]},
        {"failed_outcomes": "all", "failed_outcomes_containers": ("a*", "b")},
    ),
    "deduplicate": (
        {"deduplicate": "delivery-tag"},
        {"deduplication": Deduplication("delivery-tag"), "acks": "all", "mixed_settled": "ordered"},
    ),
    "deduplicate_window": (
        {"deduplicate": "message-id", "deduplicate_window": {"time": "2s", "count": 7}},
        {
            "deduplication": Deduplication("message-id", window_ms=2000, window_count=7),
            "acks": "all",
            "mixed_settled": "ordered",
        },
    ),
    "start": ({"start": "10m"}, {"start": "10m"}),
    "order": ({"order": "skip-ahead"}, {"order": "skip-ahead"}),
    "dead_letter": ({"dead_letter": "None"}, {"dead_letter": "none"}),
    "max_attempts": ({"max_attempts": 3}, {"max_attempts": 3}),
    "rejected": ({"rejected": "detach"}, {"rejected": "detach"}),
}
"""For each key what a file may say, and the fields of the route that differ by it."""

OTHER_OPTIONS: Final[Mapping[str, tuple[object, dict[str, Any]]]] = {
    "headers_max": (1, {"headers_max": 1}),
    "header_bytes_max": ("2KiB", {"header_bytes_max": 2048}),
    "key_from_partition_key": (False, {"key_from_partition_key": False}),
    "key_from_group_id": (False, {"key_from_group_id": False}),
    "tombstones": ("deny", {"tombstones": False}),
    "value": ("json", {"value_as_json": True}),
    "keep_delivery_annotations": (True, {"keep_delivery_annotations": True}),
    "foreign_headers": ("binary", {"foreign_headers": "binary"}),
    "creation_time_from_record": (False, {"creation_time_from_record": False}),
    "expired": ("skip", {"expired": "skip"}),
}
"""The same for the options of the mapping."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "routes.yaml"


def _load(file: Path, text: str, settings: Settings | None = None) -> Routes:
    file.write_text(text, encoding="utf-8")
    return load_routes(file, settings)


def _route(file: Path, says: Mapping[str, object]) -> Route:
    return _load(file, yaml.safe_dump({"routes": [{"match": "x", **says}]})).find("x")


def _problems(file: Path, text: str, settings: Settings | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        _load(file, text, settings)
    return [str(problem).removeprefix(str(file)).strip() for problem in caught.value.problems]


def test_there_need_be_no_routes(file: Path) -> None:
    assert _load(file, "routes: []\n").rules == ()


def test_a_route_that_says_nothing_changes_nothing(file: Path) -> None:
    assert _route(file, {}) == Route("x")


def test_every_key_of_the_schema_is_tried_here() -> None:
    assert {"match", *OTHER, *OTHER_OPTIONS} == set(of_a_route())


@pytest.mark.parametrize("key", OTHER)
def test_a_route_has_what_the_file_says(file: Path, key: str) -> None:
    says, differs = OTHER[key]
    expected = Route(**{"topic": "x", **differs})
    assert _route(file, says) == expected != Route("x")


@pytest.mark.parametrize("key", OTHER_OPTIONS)
def test_a_route_has_the_options_that_the_file_says(file: Path, key: str) -> None:
    value, differs = OTHER_OPTIONS[key]
    expected = Route("x", options=MappingOptions(**differs))
    assert _route(file, {key: value}) == expected != Route("x")


@pytest.mark.parametrize("key", [key for key, part in of_a_route().items() if "default" in part])
def test_what_the_schema_says_of_defaults_is_so(file: Path, key: str) -> None:
    with_it = dict(OTHER.get(key, ({}, {}))[0])
    default = of_a_route()[key]["default"]
    without_it = {name: value for name, value in with_it.items() if name != key}
    if default != []:  # which is not written
        assert _route(file, {**without_it, key: default}) == _route(file, without_it)
    else:
        assert getattr(_route(file, without_it), key) == ()


def test_the_window_of_deduplication_has_the_defaults_of_the_schema(file: Path) -> None:
    window = of_a_route()["deduplicate_window"]["properties"]
    defaults = {key: part["default"] for key, part in window.items()}
    route = _route(file, {"deduplicate": "message-id", "deduplicate_window": defaults})
    assert route.deduplication == Deduplication("message-id")
    half = _route(file, {"deduplicate": "message-id", "deduplicate_window": {"count": 3}})
    assert half.deduplication == Deduplication("message-id", window_count=3)


def test_every_field_of_a_route_can_be_chosen() -> None:
    chosen = {field for _, differs in OTHER.values() for field in differs}
    fields = {field.name for field in dataclasses.fields(Route)}
    assert fields - chosen == {"options", "match", "place"}
    options = {field for _, differs in OTHER_OPTIONS.values() for field in differs}
    # These two are not for operators: what a peer asks for, and the process's clock.
    assert {field.name for field in dataclasses.fields(MappingOptions)} - options == {
        "event_streams",
        "now_ms",
    }


def test_a_route_knows_its_line(file: Path) -> None:
    routes = _load(file, "routes:\n  - topic: b\n    match: a\n  - match: '#'\n")
    assert routes.find("a").place == FileLine(file, 2, 5)
    assert routes.find("a").match == "a"
    assert routes.find("z").place == FileLine(file, 4, 5)


def test_routes_are_in_the_order_of_the_file_and_may_share_what_they_say(file: Path) -> None:
    text = """\
routes:
  - &a {match: "a.*", credit: 3, acks: 1}
  - {<<: *a, match: "{x}.#", topic: "{x}-all"}
"""
    routes = _load(file, text)
    assert routes.find("a.b") == Route("a.b", credit=3, acks="1")
    assert routes.find("b.b.b") == Route("b-all", credit=3, acks="1")
    assert [(rule.topic, rule.says) for rule in routes.rules] == [
        (None, "credit=3, acks=1"),
        ("{x}-all", "credit=3, acks=1"),
    ]


def test_deduplication_goes_with_every_mapping(file: Path) -> None:
    for mapping in of_a_route()["mapping"]["enum"]:
        assert _route(file, {"mapping": mapping, "deduplicate": "message-id"}).deduplication


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["match: a.#.b"], "line 2 column 12: match: '#' is no segment of an address: '#' stands for"),
        (["topic: a-{y}"], "line 3 column 12: topic: match names no segment {y} (it names none)"),
        (["topic: a/b"], "line 3 column 12: topic: 'a/b' has '/', which no topic of Kafka has"),
        (
            ["deduplicate: message-id", "acks: 1"],
            "line 4 column 11: acks: 1 is not possible with deduplicate, which stores",
        ),
        (
            ["acks: '1'", "deduplicate: message-id"],
            "line 3 column 11: acks: 1 is not possible with deduplicate, which stores",
        ),
        (
            ["deduplicate: delivery-tag", "mixed_settled: acks0"],
            "line 4 column 20: mixed_settled: acks0 is not possible with deduplicate, as such",
        ),
        (
            ["deduplicate_window: {}"],
            "line 3 column 25: deduplicate_window: has no effect without deduplicate:",
        ),
        (["max_skew: 1s"], "line 3 column 15: max_skew: has no effect without timestamp: creation-time"),
        (
            ["timestamp: arrival", "max_skew: 1s"],
            "line 4 column 15: max_skew: has no effect without timestamp: creation-time",
        ),
        (
            ["failed_outcomes: listed", "failed_outcomes_containers: [a]"],
            "line 4 column 33: failed_outcomes_containers: has no effect without failed_outcomes: all",
        ),
        (
            ["mapping: raw", "timestamp: creation-time"],
            "line 4 column 16: timestamp: creation-time has no effect with mapping: raw; leave one out",
        ),
        (
            ["value: json", "mapping: strimzi-json"],
            "line 3 column 12: value: json has no effect with mapping: strimzi-json; leave one out",
        ),
        (
            ["mapping: cloudevents", "foreign_headers: binary"],
            "line 4 column 22: foreign_headers: binary has no effect with mapping: cloudevents; leave one",
        ),
        (
            ["mapping: strimzi", "key_from_group_id: true"],
            "line 4 column 24: key_from_group_id: true has no effect with mapping: strimzi; leave one out",
        ),
        (["start: soon"], "line 3 column 12: start: 'soon': write earliest, latest, how long ago"),
        (["start: 2026-02-30T00:00:00Z"], "line 3 column 12: start: "),
        (["dead_letter: '{topic}'"], "line 3 column 18: dead_letter: '{topic}' is the topic itself"),
        (["dead_letter: a/b"], "line 3 column 18: dead_letter: 'a/b' has '/', which no topic of Kafka has"),
        (["dead_letter: x"], "line 3 column 18: dead_letter: x is the topic of the route itself"),
        (["topic: y", "dead_letter: y"], "line 4 column 18: dead_letter: y is the topic of the route itself"),
        (
            ["dead_letter: none", "max_attempts: 3"],
            "line 4 column 19: max_attempts: has no effect with dead_letter: none",
        ),
        (
            ["dead_letter: graves", "rejected: detach"],
            "line 4 column 15: rejected: has no effect with a dead_letter, which rejected records go to",
        ),
    ],
)
def test_what_cannot_be_meant_is_told_with_line_and_column(
    file: Path, lines: list[str], problem: str
) -> None:
    head = lines.pop(0) if lines[0].startswith("match") else "match: x"
    text = "\n".join(["routes:", f"  - {head}", *(f"    {line}" for line in lines)])
    [found] = _problems(file, text)
    assert found.startswith(problem)


def test_acks_and_order_may_be_said_beside_deduplication(file: Path) -> None:
    route = _route(file, {"deduplicate": "message-id", "acks": "all", "mixed_settled": "ordered"})
    assert (route.acks, route.mixed_settled) == ("all", "ordered")


@pytest.mark.parametrize(
    "lines",
    [
        ["deduplicate: uuid", "deduplicate_window: {time: 1h}"],
        ["timestamp: created", "max_skew: 1h"],
        ["failed_outcomes: any", "failed_outcomes_containers: [a]"],
        ["mapping: Raw", "value: json"],
    ],
)
def test_of_a_wrong_value_no_contradiction_is_made(file: Path, lines: list[str]) -> None:
    [found] = _problems(file, "\n".join(["routes:", "  - match: x", *(f"    {line}" for line in lines)]))
    assert found.startswith("line 3 ")
    assert " is not one of " in found


def test_a_route_that_is_never_reached_is_told_with_those_before_it(file: Path) -> None:
    text = """\
routes:
  - match: "a.{x}"
  - match: "a.*"
  - match: "a"
  - topic: t
    match: "a.*.#"
  - match: "a.#"
  - match: "a.b"
"""
    one, two, three = _problems(file, text)
    assert one == (
        "line 3 column 5: match: 'a.*' takes the same addresses as 'a.{x}' in line 2, which comes first;"
        " keep one of them"
    )
    assert two == (
        "line 7 column 5: match: 'a.#' is never reached: all its addresses go to 'a.{x}' in line 2 and 'a' in"
        " line 4 and 'a.*.#' in line 5 before; put the more specific route first"
    )
    assert three.startswith("line 8 column 5: match: 'a.b' is never reached: all its addresses go to 'a.{x}'")


def test_a_route_cannot_raise_the_limit_of_a_message(file: Path) -> None:
    text = "routes:\n  - match: a\n    max_message_size: 2MiB\n  - match: b\n    max_message_size: 1MiB\n"
    settings = Settings(amqp=AmqpSettings(max_message_size_bytes=MIB))
    [found] = _problems(file, text, settings)
    assert found == (
        "line 3 column 23: max_message_size: 2MiB is more than amqp.max.message.size.bytes (1048576) of"
        " bridge.properties; a route can only lower it"
    )
    assert _load(file, text).find("a").max_message_size_bytes == 2 * MIB


def test_what_has_no_effect_with_the_bridges_dead_letter_topic_is_told(file: Path) -> None:
    text = """\
routes:
  - {match: a, max_attempts: 3}
  - {match: b, rejected: detach}
  - {match: c, max_attempts: 3, dead_letter: graves}
  - {match: d, rejected: detach, dead_letter: none}
"""
    [found] = _problems(file, text, Settings())
    assert found.startswith("line 2 column 30: max_attempts: has no effect without a dead-letter topic: ")
    [found] = _problems(file, text, Settings(sink=SinkSettings(dead_letter_topic="{topic}.dlt")))
    assert found.startswith(
        "line 3 column 26: rejected: has no effect with sink.dead.letter.topic={topic}.dlt "
    )
    assert len(_load(file, text).rules) == 4


def test_all_problems_are_told_at_once_in_the_order_of_the_lines(file: Path) -> None:
    text = """\
routes:
  - match: "telemetry.{site}.*"
    topic: "telemetry-{sit}"
    max-message-size: 1MiB
    credit: many
    timestamp: creation-time
    max_skew: 10
  - match: telemetry.a.b
    credit: 1
    credit: 2
  - topic: x
  - match: "a.#.b"
    acks: 1
    deduplicate: message-id
"""
    found = _problems(file, text, Settings())
    assert [int(problem.split()[1]) for problem in found] == [3, 4, 5, 7, 8, 10, 11, 12, 13]


def test_problems_of_one_line_are_in_the_order_of_its_columns(file: Path) -> None:
    found = _problems(file, "routes: [{credit: 0, mapping: x, match: a}]")
    assert [problem.split(": ")[0] for problem in found] == ["line 1 column 19", "line 1 column 31"]


def test_a_file_that_cannot_be_read_is_one_problem(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*routes\.yaml: No such file or directory"):
        load_routes(file)
    [found] = _problems(file, "routes: [\n")
    assert found.startswith("line 2 column 1: this is not YAML")


def test_a_problem_behind_an_alias_is_told_once(file: Path) -> None:
    found = _problems(file, "routes:\n  - &a {match: a, credit: 0}\n  - {<<: *a, match: b}\n")
    assert found == ["line 2 column 27: credit: 0 is not allowed: 1 to 1000000"]


def test_settings_name_the_file(file: Path) -> None:
    assert configured_routes(Settings()).rules == ()
    file.write_text("routes: [{match: a, max_message_size: 17MiB}]", encoding="utf-8")
    settings = Settings(routes=RoutesSettings(str(file)))
    with pytest.raises(ConfigError, match="a route can only lower it"):
        configured_routes(settings)
    larger = dataclasses.replace(settings, amqp=AmqpSettings(max_message_size_bytes=17 * MIB))
    assert configured_routes(larger).find("a").max_message_size_bytes == 17 * MIB


def test_the_example_is_valid_and_does_what_its_comments_say() -> None:
    routes = load_routes(ROOT / ROUTES, Settings())
    payment = routes.find("payments.eu")
    assert payment.deduplication == Deduplication("message-id", 6 * 3_600_000, 50_000)
    telemetry = routes.find("telemetry.paris.7")
    assert (telemetry.topic, telemetry.timestamp) == ("telemetry-paris", "creation-time")
    orders, prices = routes.find("orders.eu"), routes.find("prices.eu.gold")
    assert (orders.order, orders.dead_letter_topic(None), orders.max_attempts) == ("hold", "orders.eu.dlt", 5)
    assert (prices.start, prices.order, prices.rejected) == ("10m", "skip-ahead", "skip")
    assert routes.find("europe.orders.new").topic == "eu.orders.new"
    assert routes.find("logs").acks == "1"
    other = routes.find("anything")
    assert other.outcomes_for("rhea-7", "listed") == "all"
    assert other.outcomes_for("go-amqp", "listed") == "listed"


def test_editors_find_the_schema_of_the_example() -> None:
    [schema] = re.findall(r"\A# yaml-language-server: \$schema=(\S+)\n", read(ROUTES))
    assert (ROOT / schema).is_file()


def test_the_examples_of_the_guide_are_valid(file: Path) -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```", read("docs/routes.md"), re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        assert _load(file, example, Settings()).rules


def test_the_tables_of_the_guide_are_true(file: Path) -> None:
    guide = read("docs/routes.md")
    table = guide.partition("| pattern | matches | does not match |\n")[2].partition("\n\n")[0]
    rows = [
        [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:4]] for line in table.split("\n")[1:]
    ]
    assert len(rows) == 4
    for [pattern], matching, others in rows:
        routes = _load(file, f"routes: [{{match: '{pattern}'}}]")
        assert [routes.find(topic).match for topic in matching] == [pattern] * len(matching)
        assert [routes.find(topic).match for topic in others] == [None] * len(others)
    table = guide.partition("| `match` | `topic` | address | topic in Kafka |\n")[2].partition("\n\n")[0]
    lines = [re.findall(r"`([^`]+)`", line) for line in table.split("\n")[1:]]
    assert len(lines) == 5
    for match, topic, address, made in lines:
        routes = _load(file, f"routes: [{{match: '{match}', topic: '{topic}'}}]")
        assert routes.find(address.replace("/", ".")).topic == made


def test_the_problems_in_the_guide_are_those_that_operators_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [shown] = re.findall(
        r"^```\n(the configuration .*?)\n```", read("docs/routes.md"), re.MULTILINE | re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    text = """\
# yaml-language-server: $schema=routes.schema.json
routes:
  - match: "telemetry.{site}.*"
    topic: "telemetry-{sit}"
    max-message-size: 1MiB
  - match: telemetry.a.b
    max_skew: 10
"""
    Path("routes.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_routes(Path("routes.yaml"))
    assert str(caught.value) == shown


def test_the_dead_letter_topics_in_the_guide_are_right(file: Path) -> None:
    heading = "| `topic` | `dead_letter` | address | dead-letter topic |\n"
    rows = [
        [cell.strip(" `") for cell in line.split("|")[1:5]]
        for line in read("docs/routes.md").partition(heading)[2].partition("\n\n")[0].split("\n")[1:]
    ]
    assert len(rows) == 4
    for topic, template, address, made in rows:
        first = f"match: '*.{{site}}.#', topic: '{topic}'" if topic != "-" else "match: '#'"
        route = _load(file, f"routes: [{{{first}, dead_letter: '{template}'}}]").find(
            address.replace("/", ".")
        )
        assert route.dead_letter_topic(None) == (None if made == "none" else made)
