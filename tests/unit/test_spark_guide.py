from __future__ import annotations

import ast
import re

import pytest
from support.repository import read

import bridge.spark
from bridge.spark.columns import COLUMNS
from bridge.spark.command import ingest

GUIDE = read("docs/spark.md")


def test_the_table_of_columns_is_the_one_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)`(†?) \| `([A-Z<>:, a-z]+)` \| (.+) \|$", GUIDE, re.MULTILINE)
    expected = [(c.name, "†" if c.derived else "", c.type, c.meaning) for c in COLUMNS]
    assert rows == expected


def test_the_functions_are_all_named() -> None:
    named = re.findall(r"^\| `(\w+)\(", GUIDE, re.MULTILINE)
    assert sorted(named) == sorted(bridge.spark.__all__)


def test_the_options_that_are_named_exist() -> None:
    options = {name for parameter in ingest.params for name in parameter.opts}
    named = set(re.findall(r"`(--[a-z-]+)", GUIDE)) - {"--help"}
    assert named
    assert named <= options


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL))
def test_the_recipes_import_what_there_is(code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module == "bridge.spark":
            assert {alias.name for alias in node.names} <= set(bridge.spark.__all__)
