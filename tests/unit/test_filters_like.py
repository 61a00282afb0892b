from __future__ import annotations

import pytest

from bridge.filters.like import LONGEST_TEXT, like


@pytest.mark.parametrize(
    ("pattern", "like_it", "unlike_it"),
    [
        ("12%3", ["123", "12993", "1233"], ["1234", "13", "12", "x123"]),
        ("l_se", ["lose", "l\nse"], ["loose", "lse"]),
        ("abc", ["abc"], ["ABC", "abcd", "", "xabc"]),
        ("", [""], ["a"]),
        ("%", ["", "a", "a\nb"], []),
        ("%%", ["", "a"], []),
        ("_", ["a", "%", "é"], ["", "ab"]),
        ("%b%", ["b", "abc", "ab"], ["ac", ""]),
        ("a%a", ["aa", "aba"], ["a"]),
        ("%a_c%d_", ["xabcyydz", "abcdc"], ["abcd", "acdc"]),
        ("a.c", ["a.c"], ["abc"]),
        ("%_", ["a", "ab"], [""]),
        ("[a]%", ["[a]b"], ["ab"]),
        ("%ab%ab", ["abab", "abxab"], ["ab", "aab"]),
    ],
)
def test_wildcards(pattern: str, like_it: list[str], unlike_it: list[str]) -> None:
    matches = like(pattern)
    assert [text for text in like_it if not matches(text)] == []
    assert [text for text in unlike_it if matches(text)] == []


def test_an_escape_takes_the_meaning_from_the_next_character() -> None:
    matches = like(r"\_%", "\\")
    assert matches("_foo")
    assert not matches("bar")
    assert like("100!%", "!")("100%")
    assert like("!!%", "!")("!x")
    assert like("!a", "!")("a")
    assert like("%%a", "%")("%a")


@pytest.mark.parametrize(("pattern", "escape"), [("a!", "!"), ("a", ""), ("a", "ab")])
def test_an_escape_that_is_none(pattern: str, escape: str) -> None:
    with pytest.raises(ValueError, match=r"escape|ESCAPE"):
        like(pattern, escape)


def test_long_texts_are_gone_over_once() -> None:
    text = "a" * LONGEST_TEXT
    matches = like("%_" + "a" * 1500 + "b%")
    assert not matches(text)
    assert matches(text[:2000] + "b" + text[:2000])
    assert like("%_b" + "_" * 1500 + "c%d")("a" * 100 + "xb" + "y" * 1500 + "c" + "z" * 100 + "d")
    assert not like("%a" * 1000 + "b")(text)
