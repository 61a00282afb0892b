"""Compiles what the bridge has in C, where there is a compiler. hatchling calls it for each wheel.

Such a wheel is for one version of Python and one platform. Where nothing can be compiled, one line says so,
and the wheel is pure Python: the bridge does the same and takes longer for it (docs/decisions/0022). With
REQUIRE_COMPILED=1 there is no wheel then. For an editable installation the module goes into the source tree.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Any, Final

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE: Final = "bridge.mapping.compiled_layout"
PACKAGE: Final = "bridge/mapping"
REASON_LENGTH: Final = 120


class Compile(BuildHookInterface[BuilderConfig]):
    """Adds the compiled module to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, for a wheel of hatchling's version `standard` or `editable`."""
        self._folder = TemporaryDirectory()
        package = Path(self.root, PACKAGE)
        if version == "editable":
            # What was compiled of another state of the sources must not be taken for this one's.
            for former in package.glob("*.so"):
                former.unlink()
        try:
            module = compiled(self._folder.name)
        except Exception as error:
            if os.environ.get("REQUIRE_COMPILED", "0") not in {"", "0"}:
                raise
            reason = shorten(str(error), REASON_LENGTH)
            self.app.display_warning(f"{MODULE} is not compiled, and the bridge does without it: {reason}")
            return
        if version == "editable":
            shutil.copy(module, package)
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"][str(module)] = f"{PACKAGE}/{module.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Remove what was needed on the way."""
        self._folder.cleanup()


def compiled(folder: str) -> Path:
    """Compile the module in a folder, from the project's root; gives its file.

    Raises what the tools raise that are missing, or fail.
    """
    # Whoever has neither of them gets a wheel all the same.
    from Cython.Build import cythonize  # noqa: PLC0415
    from setuptools import Distribution, Extension  # type: ignore[import-untyped]  # noqa: PLC0415

    source = f"{MODULE.replace('.', '/')}.pyx"
    extension = Extension(MODULE, [source], extra_compile_args=["-g0"])
    extensions = cythonize([extension], build_dir=folder, force=True, quiet=True)  # type: ignore[no-untyped-call]
    command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_temp = command.build_lib = folder
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(MODULE))
