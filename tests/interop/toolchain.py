"""Builds the clients that are no Python, once: into the folder of caches, named by their sources' hash.

The versions are those of package-lock.json, go.sum and pom.xml; the registries are those that the tools
are configured for. Nothing is written into the repository.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bridge.devkafka.cache import cache_root
from bridge.devkafka.jars import publish

SOURCES: Final = Path(__file__).parent / "clients"
_BUILD_SECONDS: Final = 240.0


class MissingToolError(Exception):
    """A tool that builds or runs a client is not there."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How a client is built and run; in `command`, `{}` is the folder in which it was built."""

    name: str
    tools: tuple[str, ...]
    builds: tuple[str, ...]
    command: tuple[str, ...]
    keeps: tuple[str, ...]


TOOLCHAINS: Final = (
    Toolchain(
        "rhea",
        ("node", "npm"),
        ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"),
        ("node", "{}/client.js"),
        ("client.js", "messages.js", "talk.js", "package.json", "node_modules"),
    ),
    Toolchain(
        "go", ("go",), ("go", "build", "-mod=readonly", "-o", "client", "."), ("{}/client",), ("client",)
    ),
    Toolchain(
        "jms",
        ("java", "javac", "mvn"),
        ("mvn", "-q", "-B", "--strict-checksums", "compiler:compile", "dependency:copy-dependencies"),
        # It lives for a second: what the optimising compiler would do comes too late.
        (
            "java",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            "{0}/target/classes:{0}/target/lib/*",
            "Client",
        ),
        ("target",),
    ),
)


def build(toolchain: Toolchain) -> list[str]:
    """Return the command that runs a client; build it if these sources were not built before.

    Raises MissingToolError, or AssertionError with what the tool said.
    """
    missing = [tool for tool in toolchain.tools if shutil.which(tool) is None]
    if missing:
        raise MissingToolError(f"the client {toolchain.name} needs {', '.join(missing)}")
    sources = SOURCES / toolchain.name
    folder = cache_root() / f"interop-{toolchain.name}-{_fingerprint(sources)}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
            work = Path(temporary, "work")
            shutil.copytree(sources, work)
            _run(toolchain.builds, work)
            built = Path(temporary, "built")
            built.mkdir()
            for name in toolchain.keeps:
                (work / name).rename(built / name)
            publish(built, folder)
    return [part.format(folder) for part in toolchain.command]


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder)}:{len(content)}:".encode() + content)
    return digest.hexdigest()[:16]


def _run(command: tuple[str, ...], folder: Path) -> None:
    done = subprocess.run(  # noqa: S603 - the suite's own command
        command,
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=_BUILD_SECONDS,
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
