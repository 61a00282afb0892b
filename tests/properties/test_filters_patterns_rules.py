"""LIKE against regular expressions, topic bindings against a matcher that tries everything."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from support.filtering import view

from bridge.filters.like import LONGEST_TEXT, like
from bridge.filters.subjects import topic

ALPHABET = "ab\n."


@given(st.text(ALPHABET + "%_", max_size=10), st.text(ALPHABET, max_size=14))
@example("%_a%a_", "aaa")
def test_like_is_a_regular_expression(pattern: str, text: str) -> None:
    wildcards = {"%": ".*", "_": "."}
    expression = "".join(wildcards.get(each, re.escape(each)) for each in pattern)
    expected = re.fullmatch(expression, text, re.DOTALL) is not None
    assert like(pattern)(text) is expected
    assert like(pattern, "!")(text) is expected


@given(st.text("ab", min_size=40, max_size=60), st.integers(0, 39), st.integers(0, LONGEST_TEXT - 120))
def test_a_stretch_is_found_in_long_texts_too(stretch: str, gap: int, before: int) -> None:
    # So long that it is looked for bit by bit.
    pattern = f"%{stretch[:gap]}_{stretch[gap + 1 :]}%"
    filling = "abc" * (LONGEST_TEXT // 3)
    text = (filling[:before] + stretch + filling)[:LONGEST_TEXT]
    assert like(pattern)(text)
    assert not like(pattern)(text.replace(stretch[0], "x").replace(stretch[-1], "x") + "x")


@given(st.text("ab%_!", max_size=12))
def test_an_escaped_pattern_is_like_itself_alone(text: str) -> None:
    matches = like("".join("!" + each for each in text), "!")
    assert matches(text)
    assert not matches(text + "a")
    assert not matches("b" + text[1:] + "c")


def tried(pattern: list[str], words: list[str]) -> bool:
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(tried(pattern[1:], words[taken:]) for taken in range(len(words) + 1))
    return bool(words) and pattern[0] in {"*", words[0]} and tried(pattern[1:], words[1:])


@given(
    st.lists(st.sampled_from(["#", "*", "a", "b"]), min_size=1, max_size=6),
    st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=7),
)
def test_topics_are_matched_as_if_everything_were_tried(pattern: list[str], words: list[str]) -> None:
    seen = view(properties={"subject": ".".join(words)})
    assert topic(".".join(pattern))(seen) is tried(pattern, words)
