"""The repository as the tests of the project itself see it. Reads files and runs nothing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
_LEFT_BY_TOOLS: Final = {"results", "__pycache__", "build", "dist", "metastore_db", "spark-warehouse"}
_HIDDEN_BUT_OURS: Final = {".ci", ".dockerignore", ".gitignore", ".helmignore"}


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Give the files that belong to the project: not hidden ones, and not what tools have left."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in _HIDDEN_BUT_OURS
        if hidden or path.name in _LEFT_BY_TOOLS:
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def sources(*folders: str) -> Iterator[Path]:
    """Give the Python files in these folders."""
    for folder in folders:
        if (ROOT / folder).is_dir():
            yield from (path for path in files(ROOT / folder) if path.suffix == ".py")


def read(name: str) -> str:
    """Return the text of a file, which is named from the root."""
    return (ROOT / name).read_text("utf-8")


def project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads(read("pyproject.toml"))


def pinned(name: str) -> dict[str, str]:
    """Return the versions by name in a requirements file."""
    pin = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
    return {normalized(found[1]): found[2] for found in pin.finditer(read(name))}


def normalized(distribution: str) -> str:
    """Return a distribution's name in the one form that stands for all its spellings (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()
