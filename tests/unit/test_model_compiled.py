"""When compiled modules are wanted, and what becomes of it where they do not fit."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.compiled import module

from bridge.model import compiled

OTHER_PROTON = """
import cproton_ffi

class Other:
    def __getattr__(self, name):
        return getattr(known, name)

    def addressof(self, lib, name):
        return known.addressof(lib, "pn_link_credit" if name == "pn_link_recv" else name)

known, cproton_ffi.ffi = cproton_ffi.ffi, Other()
"""
TELL = "from bridge.service import COMPILED; print(COMPILED)"


@pytest.mark.parametrize(
    ("given", "wanted"), [(None, True), ("", True), ("0", True), ("1", False), ("yes", False)]
)
def test_a_variable_does_without_them(
    monkeypatch: pytest.MonkeyPatch, given: str | None, *, wanted: bool
) -> None:
    monkeypatch.delenv(compiled.PURE_PYTHON, raising=False)
    if given is not None:
        monkeypatch.setenv(compiled.PURE_PYTHON, given)
    assert compiled.is_wanted() is wanted


@pytest.mark.parametrize(
    ("variable", "before", "told"), [("0", "", "True"), ("1", "", "False"), ("0", OTHER_PROTON, "False")]
)
def test_what_is_not_wanted_or_does_not_fit_is_not_used(
    monkeypatch: pytest.MonkeyPatch, variable: str, before: str, told: str
) -> None:
    module("bridge.amqp.compiled_path")
    monkeypatch.setenv(compiled.PURE_PYTHON, variable)
    done = subprocess.run([sys.executable, "-c", before + TELL], capture_output=True, check=True, text=True)  # noqa: S603 - our own arguments
    assert done.stdout.strip() == told
