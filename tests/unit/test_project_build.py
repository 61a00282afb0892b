"""The wheels that are built: with what is compiled, and without it where that cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
from typing import TYPE_CHECKING
from zipfile import ZipFile

from support.compiled import compiled
from support.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "bridge").rglob("*.pyx"))
MODULES = [source.replace(".pyx", sysconfig.get_config_var("EXT_SUFFIX")) for source in SOURCES]


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build a wheel of the sources as they are, with the tools of the environment."""
    others = {name: value for name, value in os.environ.items() if name not in {"CC", "REQUIRE_COMPILED"}}
    return subprocess.run(  # noqa: S603 - our own arguments
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=others | environment,
        text=True,
    )


def tag(wheel: ZipFile) -> str:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL")]
    [line] = [line for line in wheel.read(name).decode().splitlines() if line.startswith("Tag: ")]
    return line.removeprefix("Tag: ")


def test_a_wheel_with_what_is_compiled_is_for_one_python_and_platform(tmp_path: Path) -> None:
    compiled()
    done = build(tmp_path, REQUIRE_COMPILED="1")
    assert done.returncode == 0, done.stderr
    [path] = tmp_path.iterdir()
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    with ZipFile(path) as wheel:
        assert sorted(name for name in wheel.namelist() if name.endswith(".so")) == MODULES != []
        assert tag(wheel).startswith(f"{version}-{version}-")
        assert not tag(wheel).endswith("-any")
        assert f"-{tag(wheel)}.whl" in path.name


def test_without_a_compiler_the_wheel_is_pure_and_one_line_says_so(tmp_path: Path) -> None:
    done = build(tmp_path, CC="/bin/false")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("The bridge is not compiled") == 1, done.stderr
    [path] = tmp_path.iterdir()
    with ZipFile(path) as wheel:
        assert not [name for name in wheel.namelist() if name.endswith(".so")]
        assert tag(wheel) == "py3-none-any"
        assert path.name.endswith("-py3-none-any.whl")


def test_where_it_must_be_compiled_there_is_no_wheel_without(tmp_path: Path) -> None:
    assert build(tmp_path, CC="/bin/false", REQUIRE_COMPILED="1").returncode != 0
    assert not list(tmp_path.iterdir())


def test_the_source_distribution_has_the_sources_and_what_compiles_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(command, capture_output=True, check=True, cwd=ROOT)  # noqa: S603 - our own arguments
    [path] = tmp_path.iterdir()
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"hatch_build.py", "bridge/mapping/compiled_values.pxd", *SOURCES} <= names
    assert not [name for name in names if name.endswith((".so", ".c"))]
