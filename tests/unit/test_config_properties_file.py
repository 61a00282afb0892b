from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.config.problems import FileLine, Problem
from bridge.config.properties_file import read

if TYPE_CHECKING:
    from pathlib import Path


def _read(path: Path, content: str | bytes) -> tuple[list[tuple[int, str, str]], list[str]]:
    """Write a file, read it, and give (line, key, value) of its entries, and the problems."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    problems: list[Problem] = []
    entries = []
    for entry in read(path, problems):
        assert isinstance(entry.place, FileLine)
        assert entry.place.path == path
        assert entry.written == entry.key
        entries.append((entry.place.line, entry.key, entry.value))
    return entries, [str(problem).replace(str(path), "FILE") for problem in problems]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bridge.properties"


def test_entries_know_their_lines(path: Path) -> None:
    text = "# comment\n\na=1\n  b : 2\n! comment\nc 3\nd\n"
    assert _read(path, text) == ([(3, "a", "1"), (4, "b", "2"), (6, "c", "3"), (7, "d", "")], [])


def test_an_entry_over_several_lines_is_at_its_first(path: Path) -> None:
    text = "a = 1,\\\n    2,\\\n    3\nb=4\n"
    assert _read(path, text) == ([(1, "a", "1,2,3"), (4, "b", "4")], [])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_java_has_it_and_nowhere_else(path: Path, end: str) -> None:
    text = f"a=\u20281\x0b{end}b=2{end}{end}c=3"
    assert _read(path, text) == ([(1, "a", "\u20281\x0b"), (2, "b", "2"), (4, "c", "3")], [])


def test_utf_8_with_or_without_a_mark_and_escapes(path: Path) -> None:
    for content in ("a=Grüße", b"\xef\xbb\xbf" + "a=Grüße".encode(), "a=Gr\\u00fc\\u00DFe"):
        assert _read(path, content) == ([(1, "a", "Grüße")], [])


def test_repeated_keys_are_all_there(path: Path) -> None:
    assert _read(path, "a=1\na=2\n")[0] == [(1, "a", "1"), (2, "a", "2")]


def test_a_broken_escape_is_told_by_its_line_without_what_it_says(path: Path) -> None:
    text = "a=1\nsasl.password=\\uhunter2 \\\n more\nb=2\nc=\\u12\nd=3\n"
    entries, problems = _read(path, text)
    assert entries == [(1, "a", "1"), (4, "b", "2"), (6, "d", "3")]
    assert [problem.split(": ")[0] for problem in problems] == ["FILE line 2", "FILE line 5"]
    assert "hunt" not in "".join(problems)


def test_other_encodings_are_told_by_line(path: Path) -> None:
    entries, problems = _read(path, b"a=1\nb=Gr\xfc\xdfe\n")
    assert entries == []
    assert problems == ["FILE line 2: this is not UTF-8"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    problems: list[Problem] = []
    assert read(tmp_path / "nowhere", problems) == []
    assert [str(p) for p in problems] == [f"cannot read {tmp_path / 'nowhere'}: No such file or directory"]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    problems: list[Problem] = []
    assert read(tmp_path, problems) == []
    assert [str(p) for p in problems] == [f"cannot read {tmp_path}: Is a directory"]
