from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.compiled import compiled

from bridge.mapping.compiled import find
from bridge.model.compiled import PURE_PYTHON

CHOICES = """
from bridge.mapping.compiled import COMPILED
from bridge.mapping.layout import layout
from bridge.mapping.native import MappingOptions, message_to_record

to_record = message_to_record(MappingOptions())
print(COMPILED, layout.__defaults__[0].__name__ == "compiled_layout", type(to_record).__name__ != "function")
"""


@pytest.mark.parametrize(("value", "chosen"), [(None, True), ("0", True), ("", True), ("1", False)])
def test_it_is_used_unless_a_variable_forbids_it(value: str | None, *, chosen: bool) -> None:
    compiled()
    environment = {name: text for name, text in os.environ.items() if name != PURE_PYTHON}
    if value is not None:
        environment[PURE_PYTHON] = value
    done = subprocess.run(  # noqa: S603 - our own arguments
        [sys.executable, "-c", CHOICES], capture_output=True, check=True, env=environment, text=True
    )
    assert done.stdout.split() == 3 * [str(chosen)]


@pytest.mark.parametrize("missing", ["compiled_layout", "compiled_shape"])
def test_where_a_part_is_missing_nothing_compiled_is_used(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, f"bridge.mapping.{missing}", None)
    assert find() is None
