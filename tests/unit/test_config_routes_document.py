from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.config import routes_document
from bridge.config.problems import FileLine
from bridge.config.routes_document import DEPTH_MAX, FILE_BYTES_MAX, Document, read

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.config.problems import Problem


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "routes.yaml"


def _read(file: Path, text: str | bytes) -> Document:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    problems: list[Problem] = []
    document = read(file, problems)
    assert problems == []
    assert document is not None
    return document


def _problems(file: Path, text: str | bytes) -> list[str]:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    problems: list[Problem] = []
    read(file, problems)
    return [str(problem).removeprefix(str(file)).strip() for problem in problems]


def test_values_are_those_of_json_and_nothing_is_guessed(file: Path) -> None:
    text = """\
        [text, "1", 'true', 12, -3, true, False, null, ~, , yes, off, 012, 0x10, 1_000, 1:30, 1.5,
         2024-01-01, !!str 7, .inf, <<, 1234567890123456789]
    """.replace(", ,", ', "",')
    assert _read(file, text).content == [
        *["text", "1", "true", 12, -3, True, False, None, None, "", "yes", "off", 12, "0x10", "1_000"],
        *["1:30", "1.5", "2024-01-01", "7", ".inf", "<<", "1234567890123456789"],
    ]


def test_keys_are_text(file: Path) -> None:
    assert _read(file, "1: a\ntrue: b\nnull: c\n").content == {"1": "a", "true": "b", "null": "c"}


def test_each_value_and_each_key_has_its_place(file: Path) -> None:
    document = _read(file, "\ufeff# first\na:\n  - b: 1\n    c:\n  - [x,\n     y]\n")
    assert document.places == {
        (): FileLine(file, 2, 1),
        ("a",): FileLine(file, 3, 3),
        ("a", 0): FileLine(file, 3, 5),
        ("a", 0, "b"): FileLine(file, 3, 8),
        ("a", 0, "c"): FileLine(file, 4, 7),
        ("a", 1): FileLine(file, 5, 5),
        ("a", 1, 0): FileLine(file, 5, 6),
        ("a", 1, 1): FileLine(file, 6, 6),
    }
    assert document.key_places == {
        ("a",): FileLine(file, 2, 1),
        ("a", 0, "b"): FileLine(file, 3, 5),
        ("a", 0, "c"): FileLine(file, 4, 5),
    }


def test_an_alias_is_what_it_stands_for_with_the_place_where_it_is_written(file: Path) -> None:
    document = _read(file, "a: &w {time: 1h}\nb: *w\n")
    assert document.content == {"a": {"time": "1h"}, "b": {"time": "1h"}}
    assert document.places["b", "time"] == FileLine(file, 1, 14)


def test_merged_keys_are_defaults(file: Path) -> None:
    text = """\
a: &a {x: 1, y: 1}
b: &b {<<: *a, y: 2, z: 2}
c: {<<: [*b, *a], z: 3}
d: {z: 4, <<: [*a, *b]}
"""
    content = _read(file, text).content
    assert content["b"] == {"x": 1, "y": 2, "z": 2}
    assert content["c"] == {"x": 1, "y": 2, "z": 3}
    assert content["d"] == {"x": 1, "y": 1, "z": 4}


def test_a_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    problems: list[Problem] = []
    assert read(tmp_path / "none.yaml", problems) is None
    assert [str(problem) for problem in problems] == [
        f"cannot read {tmp_path}/none.yaml: No such file or directory"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: is empty; it begins with: routes:"),
        ("# only this\n", "line 1: is empty; it begins with: routes:"),
        (b"a\nb: \xff\n", "line 2: this is not UTF-8"),
        ("a: 1\nb: \x00\n", "line 2: has a character that YAML does not allow"),
        ("a: 1\nb: 2\na: 3\n", "line 3 column 1: a: is set already, in line 1; keep one"),
        ("a: 1\n---\nb: 2\n", "line 2 column 1: a second document begins here;"),
        ("a:\n\t- b\n", "line 2 column 1: there is a tab;"),
        ("a:\n  b: \t x\n", "line 2 column 6: there is a tab;"),
        ('a:\n  b: "x\n  c: 1\n', "line 2 column 6: the quotes that begin here are not closed"),
        ("a:\n  - match: *.x\n", "line 2 column 13: this is not YAML: expected alphabetic"),
        ("a:\n  - match: *x\n", "line 2 column 12: this is not YAML: found undefined alias 'x'; a value"),
        ("a:\n  - match: {x}.y\n", "line 2 column 15: this is not YAML: expected <block end>"),
        ("a:\n  b: 1\n   c: 2\n", "line 3 column 5: this is not YAML: mapping values are not allowed here"),
        (
            "a: !!python/name:os.system x\n",
            "line 1 column 4: the tag 'tag:yaml.org,2002:python/name:os.system'",
        ),
        ("a: !x {}\n", "line 1 column 4: the tag '!x' has no meaning here; leave it out"),
        ("a: !!set [b]\n", "line 1 column 4: the tag 'tag:yaml.org,2002:set' has no meaning"),
        ("a: !!int x\n", "line 1 column 4: the tag 'tag:yaml.org,2002:int' has no meaning"),
        ("a:\n  ? [b]\n  : c\n", "line 2 column 5: a key is one word"),
        ("a: {<<: 1}\n", "line 1 column 9: <<: takes an alias of a mapping"),
        ("a: {<<: [{}, x]}\n", "line 1 column 14: <<: takes an alias of a mapping"),
        ("a: &a [*a]\n", "line 1 column 4: an alias contains itself, or values are nested too deep"),
        ("a: &a {b: *a}\n", "line 1 column 4: an alias contains itself, or values are nested too deep"),
        ("a: &a {<<: *a}\n", "line 1 column 4: a merged mapping contains itself"),
        ("[" * (DEPTH_MAX + 1), f"line 1 column {DEPTH_MAX + 1}: values are nested too deep"),
        ("[" * 100_000, f"line 1 column {DEPTH_MAX + 1}: values are nested too deep"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(file: Path, text: str | bytes, problem: str) -> None:
    [found] = _problems(file, text)
    assert found.startswith(problem)


@pytest.mark.parametrize("text", ["match: *.x", "match: *x", "match: {x}.y", "match: `x`", "match: @x"])
def test_what_wants_quotes_is_told_so(file: Path, text: str) -> None:
    [found] = _problems(file, text)
    assert found.endswith('has to be in quotes, as in match: "*.orders"')


def test_what_is_indented_wrong_is_told_so(file: Path) -> None:
    [found] = _problems(file, "a:\n  b: 1\n c: 2\n")
    assert found.startswith("line 3 column 2: this is not YAML: expected <block end>")
    assert found.endswith("; look at the indentation: the keys of one route begin in one column")


def test_a_problem_that_an_alias_repeats_is_told_once(file: Path) -> None:
    assert len(_problems(file, "a: &a {b: 1, b: 2}\nc: *a\nd: {<<: *a}\n")) == 1


@pytest.mark.parametrize("how", ["lists", "merges"])
def test_aliases_of_aliases_do_not_fill_the_memory(file: Path, how: str) -> None:
    bomb = ["a0: &a0 {x: 1}"]
    for level in range(1, 10):
        ten = ", ".join([f"*a{level - 1}"] * 10)
        bomb.append(f"a{level}: &a{level} " + (f"[{ten}]" if how == "lists" else f"{{<<: [{ten}]}}"))
    [found] = _problems(file, "\n".join(bomb))
    assert "the file has more than 100000 values; write less" in found


def test_a_file_of_unlikely_size_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _problems(file, b"#" * (FILE_BYTES_MAX + 1)) == [
        f"has more than {FILE_BYTES_MAX} bytes; it cannot be meant"
    ]
    monkeypatch.setattr(routes_document, "NODES_MAX", 3)
    assert _read(file, "[a, b]").content == ["a", "b"]
    assert _problems(file, "[a, b,\n c]") == [
        "line 2 column 2: with what its aliases repeat, the file has more than 3 values; write less"
    ]
