"""Reads a Java properties file into entries that know their lines.

It touches that file and nothing else, and judges no key.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import javaproperties

from bridge.config.problems import Entry, FileLine, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def read(path: Path, problems: list[Problem]) -> list[Entry]:
    """Return the entries of a UTF-8 file, in its order, repeated keys included.

    What cannot be read goes into `problems`. Some of Java's own readers take Latin-1; ASCII with
    escapes for other characters means the same to all of them.
    """
    try:
        octets = path.read_bytes()
    except OSError as error:
        problems.append(Problem(f"cannot read {path}: {error.strerror or 'I/O error'}"))
        return []
    try:
        text = octets.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = octets.count(b"\n", 0, error.start) + 1
        problems.append(Problem("this is not UTF-8", place=FileLine(path, line)))
        return []
    return list(_entries(path, text, problems))


def _entries(path: Path, text: str, problems: list[Problem]) -> Iterator[Entry]:
    line_at = _line_numbers(text)
    source = io.StringIO(text, newline="")
    at_end = False
    while not at_end:
        line = line_at[source.tell()]
        try:
            for element in javaproperties.parse(source):
                if isinstance(element, javaproperties.KeyValue):
                    yield Entry(element.key, element.value, FileLine(path, line), element.key)
                line = line_at[source.tell()]
            at_end = True
        except javaproperties.InvalidUEscapeError:
            # Which characters they were is not told: the value may be a secret. The parser has
            # ended itself; another one goes on with the next line.
            problems.append(
                Problem(
                    "\\u is not followed by four hexadecimal digits (a backslash is written \\\\)",
                    place=FileLine(path, line),
                )
            )


def _line_numbers(text: str) -> dict[int, int]:
    """Return the number of each line by the offset at which it begins, in characters."""
    numbers = {0: 1}
    offset = 0
    for number, line in enumerate(io.StringIO(text, newline=""), 2):
        offset += len(line)
        numbers[offset] = number
    return numbers
