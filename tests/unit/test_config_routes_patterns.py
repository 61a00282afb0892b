from __future__ import annotations

import re

import pytest

from bridge.config.routes_patterns import Index, Pattern, Template, parse, parse_template


def test_a_pattern_is_read_segment_by_segment() -> None:
    assert parse("a.*.{site}.#") == Pattern(("a", None, None), rest=True, captures={"site": 2})
    assert parse("orders") == Pattern(("orders",), rest=False, captures={})
    assert parse("#") == Pattern((), rest=True, captures={})
    assert parse("a..b") == Pattern(("a", "", "b"), rest=False, captures={})


def test_names_of_segments_do_not_matter_for_what_is_matched() -> None:
    assert parse("a.{x}").matches_as(parse("a.*"))
    assert not parse("a.{x}").matches_as(parse("a.*.#"))
    assert not parse("a.{x}").matches_as(parse("b.*"))


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("a/b", "'a/b' has a '/'; write '.' where the address has '/'"),
        ("a.#.b", "'#' is no segment of an address: '#' stands for all that follows"),
        ("a.b#", "'b#' is no segment of an address: '#' stands for all that follows"),
        ("a.b*", "'b*' is no segment of an address: '*' stands for one whole segment"),
        ("**", "'**' is no segment of an address: '*' stands for one whole segment"),
        ("a.x-{b}", "'x-{b}' is no segment of an address: braces name one whole segment"),
        ("a.{b", "'{b' is no segment of an address: braces name one whole segment"),
        ("{}", "'{}' names no segment"),
        ("{a-b}", "'{a-b}' names no segment"),
        ("{1}", "'{1}' names no segment"),
        ("{a}.{a}", "two segments are named {a}; give each a name of its own"),
        ("a b", "'a b' is no segment of an address: a topic has letters"),
        ("grüße", "'grüße' is no segment of an address: a topic has letters"),
        ("a" * 200 + "." + "b" * 49, "stands for topics of 250 characters and more; Kafka allows 249"),
    ],
)
def test_what_is_no_pattern_is_explained(text: str, clause: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(clause)}"):
        parse(text)


def test_the_longest_pattern_is_as_long_as_a_topic() -> None:
    assert parse("a" * 200 + "." + "b" * 48).segments[1] == "b" * 48
    assert len(parse(".".join("*" * 250)).segments) == 250


@pytest.mark.parametrize(
    ("match", "topic", "address", "made"),
    [
        ("a", "b", "a", "b"),
        ("{x}.{y}", "{y}.{x}", "a.b", "b.a"),
        ("in.{x}.*", "out-{x}_v2", "in.a.b", "out-a_v2"),
        ("{x}", "{x}{x}", "ab", "abab"),
        ("a.#", "b.#", "a.c.d", "b.c.d"),
        ("a.#", "b.#", "a", "b"),
        ("a.#", "#", "a.c.d", "c.d"),
        ("#", "eu.#", "c.d", "eu.c.d"),
        ("{x}.#", "{x}-all.#", "a.b.c", "a-all.b.c"),
        ("a.#", "b", "a.c.d", "b"),
    ],
)
def test_a_topic_is_made_of_what_the_pattern_matched(match: str, topic: str, address: str, made: str) -> None:
    assert parse_template(topic, parse(match)).fill(address.split(".")) == made


def test_a_template_is_texts_and_numbers() -> None:
    assert parse_template("t-{y}.{x}", parse("{x}.{y}")) == Template(("t-", 1, ".", 0), rest=None)


@pytest.mark.parametrize(
    ("topic", "clause"),
    [
        ("{sit}", "match names no segment {sit}; did you mean {site}?"),
        ("{x}", "match names no segment {x} (it names {site})"),
        ("{}", "match names no segment {} (it names {site})"),
        ("a.#", "'a.#' ends in '#', and the pattern of match does not"),
        ("a.#.b", "'a.#.b' has '#', which no topic of Kafka has: '#' can only be the whole last segment"),
        ("a#", "'a#' has '#', which no topic of Kafka has: '#' can only be the whole last segment"),
        ("a.*", "'a.*' has '*', which no topic of Kafka has: give the segment a name in match"),
        ("a/{site}", "'a/{site}' has '/', which no topic of Kafka has: write '.'"),
        ("a{", "'a{' has '{', which no topic of Kafka has: braces stand around one name"),
        ("a}", "'a}' has '}', which no topic of Kafka has: braces stand around one name"),
        ("a b", "'a b' has ' ', which no topic of Kafka has: a topic has letters"),
        ("a" * 250, "has 250 characters at least; Kafka allows 249 in a topic"),
        (".", "Kafka allows no topic named '.'"),
        ("..", "Kafka allows no topic named '..'"),
    ],
)
def test_what_makes_no_topic_is_explained(topic: str, clause: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(clause)}"):
        parse_template(topic, parse("{site}"))


def test_without_names_there_is_nothing_to_use() -> None:
    with pytest.raises(ValueError, match=r"match names no segment {x} \(it names none\)"):
        parse_template("{x}", parse("*"))


@pytest.mark.parametrize(
    ("topic", "number"),
    [
        ("a.b", 1),
        ("a.c", 2),
        ("a", 4),
        ("a.b.c", 3),
        ("a.c.c", 4),
        ("b", None),
        ("", None),
        ("a.", 2),
    ],
)
def test_the_first_of_the_patterns_that_match_is_found(topic: str, number: int | None) -> None:
    index = Index()
    for at, pattern in enumerate(["x", "a.b", "a.*", "a.b.#", "a.#", "a.b", "a.*.c"]):
        index.add(parse(pattern), at)
    assert index.first(topic.split(".")) == number
    assert index.longest == 3
