"""docs/tables.md names a test for each row of the tables of promises; this is what keeps it true."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Final

import pytest
from support.repository import ROOT, read

TABLES: Final = "docs/tables.md"
CONDITIONS: Final = "docs/conditions.md"
TEST: Final = re.compile(r"`(tests/[a-z_/]+\.py)::(\w+)(?:\[([^`]+)\])?`")
NOT_OFFERED: Final = "not offered yet"
CONDITION: Final = re.compile(r"^\| ((?:attach|detach|message|close)-[a-z-]+) \|", re.MULTILINE)


def tables(text: str) -> dict[str, list[list[str]]]:
    """Return the cells of each row, by the heading that a table stands under."""
    found: dict[str, list[list[str]]] = {}
    for part in text.split("\n## ")[1:]:
        heading, _, rest = part.partition("\n")
        lines = [line for line in rest.splitlines() if line.startswith("|")]
        found[heading] = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    return found


ROWS: Final = [
    (f"{heading}: {cells[0].lstrip('| ')}", cells[-1])
    for heading, rows in tables(read(TABLES)).items()
    for cells in rows
]
"""What each row is called, and its last cell."""


@cache
def module(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of a module's tests, and all text in it, among it the names of cases."""
    tree = ast.parse(read(name))
    tests = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            tests.add(node.name)
        elif isinstance(node, ast.Assign):  # of hypothesis: TestRules = RulesMachine.TestCase
            tests |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    texts = {
        str(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return frozenset(each for each in tests if each.startswith(("test_", "Test"))), frozenset(texts)


def missing(cell: str) -> list[str]:
    """Return the tests of a cell that are not there."""
    gone = []
    for path, test, case in TEST.findall(cell):
        tests, texts = module(path) if (ROOT / path).is_file() else (frozenset(), frozenset())
        if test not in tests or (case and case not in texts):
            gone.append(f"{path}::{test}" + (f"[{case}]" if case else ""))
    return gone


def test_all_tables_were_found() -> None:
    assert len(tables(read(TABLES))) == read(TABLES).count("\n## ") > 5
    assert len(ROWS) > 150


@pytest.mark.parametrize(("row", "cell"), ROWS, ids=[row for row, _ in ROWS])
def test_a_row_names_tests_that_are_there(row: str, cell: str) -> None:
    if cell == NOT_OFFERED:
        return
    assert TEST.search(cell), f"{row} names no test"
    assert TEST.sub("", cell).strip() == "", f"{row} says more than the names of tests"
    assert missing(cell) == []


def test_what_is_not_there_is_found() -> None:
    here = "tests/unit/test_project_tables.py"
    there = "tests/properties/test_source_link_rules.py"
    assert missing(f"`{here}::test_all_tables_were_found` `{there}::TestSourceLink`") == []
    assert missing(f"`{here}::test_that_nobody_wrote`") == [f"{here}::test_that_nobody_wrote"]
    assert missing(f"`{here}::TABLES`") == [f"{here}::TABLES"]
    assert missing("`tests/unit/nowhere.py::test_a`") == ["tests/unit/nowhere.py::test_a"]
    wrong = "tests/wire/test_wire_closes.py::test_a_peer_that_breaks_the_protocol_is_told_how[no such case]"
    assert missing(f"`{wrong}`") == [wrong]


def test_each_row_of_the_conditions_is_here_and_no_other() -> None:
    assert sorted(CONDITION.findall(read(TABLES))) == sorted(CONDITION.findall(read(CONDITIONS)))
