"""Helm and the chart. In CI, REQUIRE_HELM=1 turns the skip into a failure."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from support.chart import Chart


@pytest.fixture(scope="session")
def chart() -> Chart:
    """Give the chart, for the helm that `make helm` built, or else for the one on the path."""
    own = Path(sys.prefix, "bin")
    helm = shutil.which("helm", path=f"{own}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    if helm is None:
        reason = "there is no helm: `make helm` builds it where Go is installed"
        if os.environ.get("REQUIRE_HELM"):
            pytest.fail(reason)
        pytest.skip(reason)
    return Chart(Path(helm))
