"""What is compiled. In CI, REQUIRE_COMPILED=1 turns the skip of a test that needs it into a failure."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import pytest

from bridge.mapping.compiled import find

if TYPE_CHECKING:
    from types import ModuleType

    from bridge.mapping.compiled import Compiled


def compiled() -> Compiled:
    """Give what the mapping has in C, or skip the test."""
    found = find()
    if found is None:
        _missing()
    return found


def module(name: str) -> ModuleType:
    """Give a compiled module, or skip the test."""
    try:
        return import_module(name)
    except ImportError:
        _missing()


def _missing() -> NoReturn:
    reason = "not all is compiled: `make compiled` tells why"
    if os.environ.get("REQUIRE_COMPILED"):
        pytest.fail(reason)
    pytest.skip(reason)
