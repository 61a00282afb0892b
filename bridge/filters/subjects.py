"""The bindings of former AMQP versions, as filters on a message's subject.

`apache.org:legacy-amqp-direct-binding:string` and `apache.org:legacy-amqp-topic-binding:string`, as
the Apache filters for AMQP 1.0 define them (section 1, "Legacy AMQP Exchange Binding Support").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.filters.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.filters.contract import Predicate
    from bridge.filters.view import View

LONGEST_PATTERN: Final = 255
"""Characters, as former AMQP versions allow a binding key."""

_ONE_WORD: Final = "*"
_ANY_WORDS: Final = "#"


def direct(subject: str) -> Predicate:
    """Make the predicate that wants this very subject; a message without one is not wanted."""

    def is_wanted(view: View) -> bool:
        return _subject(view) == subject

    return is_wanted


def topic(pattern: str) -> Predicate:
    """Make the predicate that wants the subjects of a pattern.

    Words are what dots part; `*` stands for one word, `#` for any number of words or none. A message
    without a subject is wanted by the pattern `#` alone. Raises FilterError for a pattern that is longer
    than a binding key can be.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise FilterError(f"the pattern has {len(pattern)} characters; {LONGEST_PATTERN} are allowed")
    words = tuple(pattern.split("."))
    if not {_ONE_WORD, _ANY_WORDS} & set(words):
        return direct(pattern)
    if words == (_ANY_WORDS,):
        return _anything
    stretches = _stretches(words)

    def is_wanted(view: View) -> bool:
        subject = _subject(view)
        return subject is not None and _matches(stretches, subject.split("."))

    return is_wanted


def _subject(view: View) -> str | None:
    subject = view.properties("subject")
    return subject if isinstance(subject, str) else None


def _anything(_view: View) -> bool:
    return True


def _stretches(pattern: Sequence[str]) -> list[list[str]]:
    """Cut a pattern at each `#`."""
    stretches: list[list[str]] = [[]]
    for word in pattern:
        if word == _ANY_WORDS:
            stretches.append([])
        else:
            stretches[-1].append(word)
    return stretches


def _stands_at(stretch: Sequence[str], words: Sequence[str], at: int) -> bool:
    return all(
        wanted in (_ONE_WORD, word)
        for wanted, word in zip(stretch, words[at : at + len(stretch)], strict=True)
    )


def _matches(stretches: Sequence[Sequence[str]], words: Sequence[str]) -> bool:
    """Match words with the stretches between `#`, the leftmost place for each: none is tried again."""
    first, last = stretches[0], stretches[-1]
    if len(stretches) == 1:
        return len(words) == len(first) and _stands_at(first, words, 0)
    at, stop = len(first), len(words) - len(last)
    if stop < at or not _stands_at(first, words, 0) or not _stands_at(last, words, stop):
        return False
    for stretch in stretches[1:-1]:
        while at + len(stretch) <= stop and not _stands_at(stretch, words, at):
            at += 1
        at += len(stretch)
        if at > stop:
            return False
    return True
