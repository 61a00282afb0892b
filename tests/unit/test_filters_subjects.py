from __future__ import annotations

import pytest
from support.filtering import view

from bridge.codec import Int, Symbol
from bridge.filters.errors import FilterError
from bridge.filters.subjects import direct, topic


def test_a_direct_binding_wants_one_subject() -> None:
    wanted = direct("usd.stock")
    assert wanted(view(properties={"subject": "usd.stock"}))
    assert wanted(view(properties={"subject": Symbol("usd.stock")}))
    assert not wanted(view(properties={"subject": "usd.stock.db"}))
    assert not wanted(view(properties={}))
    assert not wanted(view())


@pytest.mark.parametrize(
    ("pattern", "subjects", "others"),
    [
        ("*.stock.#", ["usd.stock", "eur.stock.db", "a.stock.b.c"], ["stock.nasdaq", "stock", "a.b.stock"]),
        ("usd.stock", ["usd.stock"], ["usd", "usd.stock.db"]),
        ("#", ["", "a", "a.b"], []),
        ("*", ["a", ""], ["a.b"]),
        ("#.a", ["a", "b.a", "b.a.a"], ["a.b", ""]),
        ("a.#.b", ["a.b", "a.x.b", "a.x.y.b"], ["a", "b", "a.b.c"]),
        ("#.a.#", ["a", "x.a", "a.x", "x.a.x"], ["x", "aa"]),
        ("#.*.#", ["a", "a.b", ""], []),
        ("a.*.#.b.#.c", ["a.x.b.c", "a.x.y.b.y.c"], ["a.b.c", "a.x.c"]),
        ("#.#", ["", "a.b"], []),
        ("a*.b", ["a*.b"], ["ax.b"]),
    ],
)
def test_a_topic_binding_wants_a_pattern(pattern: str, subjects: list[str], others: list[str]) -> None:
    wanted = topic(pattern)
    assert [each for each in subjects if not wanted(view(properties={"subject": each}))] == []
    assert [each for each in others if wanted(view(properties={"subject": each}))] == []


@pytest.mark.parametrize("subject", [None, Int(5), b"a"])
def test_only_a_single_hash_wants_messages_without_a_subject(subject: object) -> None:
    seen = view(properties={"subject": subject})
    assert topic("#")(seen)
    assert not topic("#.#")(seen)
    assert not topic("*")(seen)
    assert not topic("a")(seen)


def test_a_pattern_is_no_longer_than_a_binding_key() -> None:
    assert not topic("a." * 127 + "#")(view())
    with pytest.raises(FilterError, match="255 are allowed"):
        topic("a" * 256)
