"""Whether modules in C are to be used, where they were built: all of it is in Python too, and slower."""

from __future__ import annotations

import os
from typing import Final

PURE_PYTHON: Final = "BRIDGE_PURE_PYTHON"
"""The environment variable that does without; 0 is as if it were not there."""


def is_wanted() -> bool:
    """Tell whether compiled modules are to be used."""
    return os.environ.get(PURE_PYTHON, "0") in {"", "0"}
