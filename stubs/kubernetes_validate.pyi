# The part of kubernetes-validate that the tests of the chart use; the package ships no types.

from collections.abc import Mapping
from typing import Any

def validate(data: Mapping[str, Any], desired_version: str, strict: bool = False) -> str: ...
def latest_version() -> str: ...
