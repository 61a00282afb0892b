from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.addressing import AddressError
from bridge.config import routes as module
from bridge.config.problems import FileLine
from bridge.config.routes import Route, Routes, Rule, changed
from bridge.config.routes_patterns import parse, parse_template
from bridge.model.conditions import INVALID_FIELD


def _rule(match: str, topic: str | None = None, line: int = 1, credit: int | None = None) -> Rule:
    pattern = parse(match)
    template = None if topic is None else parse_template(topic, pattern)
    route = Route("", credit=credit, match=match, place=FileLine(Path("routes.yaml"), line))
    return Rule(pattern, template, route, topic)


def test_an_address_without_a_route_has_its_own_topic_and_all_defaults() -> None:
    assert Routes().find("a.b") == Route("a.b")
    assert Routes([_rule("x")]).find("a.b").match is None


def test_the_first_route_that_matches_counts() -> None:
    routes = Routes([_rule("a.b", credit=1), _rule("a.*", credit=2), _rule("#", credit=3)])
    assert [routes.find(topic).credit for topic in ("a.b", "a.c", "a.b.c")] == [1, 2, 3]
    assert routes.find("a.c").match == "a.*"


def test_a_route_has_the_topic_that_it_makes_of_the_address() -> None:
    routes = Routes([_rule("in.{site}.*", "site-{site}"), _rule("old.#", "new.#"), _rule("x", "y")])
    assert routes.find("in.paris.1").topic == "site-paris"
    assert routes.find("old.a.b").topic == "new.a.b"
    assert routes.find("x").topic == "y"


@pytest.mark.parametrize("address", ["a" * 249, "x", ".."])
def test_a_topic_that_kafka_cannot_have_is_an_error_of_the_address(address: str) -> None:
    match, topic = ("x.#", "#") if address == "x" else ("{a}", "long-{a}")
    if address == "..":
        match, topic = "*.{a}.*", "{a}"
    routes = Routes([_rule(match, topic)])
    for _ in range(2):  # remembered or not
        with pytest.raises(AddressError) as caught:
            routes.find(address)
        assert caught.value.condition == INVALID_FIELD
        assert "the bridge's route for" in caught.value.description


def test_only_so_many_addresses_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_MAX", 2)
    routes = Routes([_rule("#", credit=1)])
    first = routes.find("a")
    assert routes.find("a") is first
    routes.find("b")
    routes.find("c")
    assert routes.find("a") is not first
    assert routes.find("a") == first


def test_routes_that_say_the_same_are_equal_wherever_they_come_from() -> None:
    here = Routes([_rule("a.#", line=1, credit=5)]).find("a.b")
    there = Routes([_rule("b"), _rule("*.b", line=7, credit=5)]).find("a.b")
    assert here == there
    assert hash(here) == hash(there)
    assert here.place != there.place


def test_outcomes_are_as_the_route_says_or_else_as_the_bridge_does() -> None:
    route = Route("t")
    assert route.outcomes_for("x", "listed") == "listed"
    assert route.outcomes_for("x", "all") == "all"
    assert replace(route, failed_outcomes="listed").outcomes_for("x", "all") == "listed"
    assert replace(route, failed_outcomes="all").outcomes_for("x", "listed") == "all"
    narrowed = replace(route, failed_outcomes="all", failed_outcomes_containers=("rhea-*", "b?"))
    named = [narrowed.outcomes_for(name, "all") for name in ("rhea-1", "bx", "b", "Rhea-1", "")]
    assert named == ["all", "all", "listed", "listed", "listed"]


def test_dead_letters_are_as_the_route_says_or_else_as_the_bridge_does() -> None:
    route = Route("t")
    assert route.dead_letter_topic(None) is None
    assert route.dead_letter_topic("{topic}.dlt") == "t.dlt"
    assert replace(route, dead_letter="none").dead_letter_topic("{topic}.dlt") is None
    assert replace(route, dead_letter="dead-{topic}").dead_letter_topic("{topic}.dlt") == "dead-t"
    assert replace(route, dead_letter="graves").dead_letter_topic(None) == "graves"


def test_what_changed_is_what_is_served_otherwise() -> None:
    old = Routes([_rule("a", credit=1), _rule("b", credit=1), _rule("d", "e")])
    new = Routes([_rule("c", credit=1), _rule("b", credit=2), _rule("a", credit=1, line=9), _rule("d", "f")])
    topics = ["a", "b", "c", "d", "e"]
    assert changed(old, new, topics) == {"b", "c", "d"}
    assert changed(old, old, topics) == set()
    assert changed(old, Routes(), topics) == {"a", "b", "d"}
    assert changed(old, new, []) == set()


def test_an_address_that_comes_to_have_no_topic_has_changed() -> None:
    works, fails = Routes([_rule("{x}", "{x}")]), Routes([_rule("{x}", "too-long-{x}")])
    longest = "a" * 249
    assert changed(works, fails, [longest]) == {longest}
    assert changed(fails, works, [longest]) == {longest}
    assert changed(fails, fails, [longest]) == set()


@pytest.mark.parametrize(
    ("patterns", "unreachable"),
    [
        (["a", "a"], {1: [0]}),
        (["a.*", "a.{x}"], {1: [0]}),
        (["#", "a", "*"], {1: [0], 2: [0]}),
        (["a.#", "a", "a.b.c", "b.a"], {1: [0], 2: [0]}),
        (["a", "a.*", "a.*.#", "a.#"], {3: [0, 1, 2]}),
        (["a", "a.*.#", "a.#"], {2: [0, 1]}),
        (["*", "*.*.#", "#", "b"], {2: [0, 1], 3: [0]}),
        (["a.b", "a.*", "*.b", "a.#", "#"], {}),
        (["a.*.#", "a.#"], {}),
        (["*.b", "a.*", "a.b"], {2: [0]}),
        (["a.*.*", "a.#"], {}),
    ],
)
def test_a_route_that_no_address_can_have_is_found(
    patterns: list[str], unreachable: dict[int, list[int]]
) -> None:
    rules = [_rule(pattern) for pattern in patterns]
    found = {
        rules.index(rule): [rules.index(each) for each in before]
        for rule, before in Routes(rules).unreachable()
    }
    # Rules of equal patterns are equal values here; the first index is theirs.
    expected = {rules.index(rules[number]): before for number, before in unreachable.items()}
    assert found == expected
