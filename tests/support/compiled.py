"""What is compiled, for tests of it. In CI, REQUIRE_COMPILED=1 turns a skip for want of it into a failure."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


def module(name: str) -> ModuleType:
    """Give a compiled module."""
    try:
        return import_module(name)
    except ImportError:
        reason = f"there is no {name}: `make compiled` tells why"
        if os.environ.get("REQUIRE_COMPILED"):
            pytest.fail(reason)
        pytest.skip(reason)
