"""Compiles what the bridge has in Cython, where there is a compiler. hatchling calls it for each wheel.

Such a wheel is for one version of Python and one platform. Where not all of it can be compiled, one line says
so, and the wheel is pure Python: the bridge does the same and takes longer for it (docs/decisions/0022). With
REQUIRE_COMPILED=1 there is no wheel then. For an editable installation the modules go into the source tree.
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

PACKAGE: Final = "bridge"
REASON_LENGTH: Final = 120


class Compile(BuildHookInterface[BuilderConfig]):
    """Adds the compiled modules to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, for a wheel of hatchling's version `standard` or `editable`."""
        self._folder = TemporaryDirectory()
        root = Path(self.root)
        if version == "editable":
            # What was compiled of another state of the sources must not be taken for this one's.
            for former in (root / PACKAGE).rglob("*.so"):
                former.unlink()
        try:
            modules = compiled(root, Path(self._folder.name))
        except Exception as error:
            if os.environ.get("REQUIRE_COMPILED", "0") not in {"", "0"}:
                raise
            reason = shorten(str(error), REASON_LENGTH)
            self.app.display_warning(f"The bridge is not compiled, and does without: {reason}")
            return
        if version == "editable":
            for place, module in modules.items():
                shutil.copy(module, root / place)
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"] |= {str(module): place for place, module in modules.items()}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Remove what was needed on the way."""
        self._folder.cleanup()


def compiled(root: Path, folder: Path) -> dict[str, Path]:
    """Compile all `.pyx` of the project in a folder; gives their places in the project, and the files.

    To be called in the project's root. Raises what the tools raise that are missing, or fail.
    """
    # Whoever has neither of them gets a wheel all the same.
    from Cython.Build import cythonize  # noqa: PLC0415
    from setuptools import Distribution, Extension  # type: ignore[import-untyped]  # noqa: PLC0415

    sources = sorted(path.relative_to(root) for path in (root / PACKAGE).rglob("*.pyx"))
    names = [".".join(source.with_suffix("").parts) for source in sources]
    extensions = [
        Extension(name, [str(source)], extra_compile_args=["-g0"])
        for name, source in zip(names, sources, strict=True)
    ]
    cythonized = cythonize(extensions, build_dir=str(folder), force=True, quiet=True)  # type: ignore[no-untyped-call]
    command = Distribution({"ext_modules": cythonized}).get_command_obj("build_ext")
    command.build_temp = command.build_lib = str(folder)
    command.ensure_finalized()
    command.run()
    made = [Path(command.get_ext_fullpath(name)) for name in names]
    return {str(path.relative_to(folder)): path for path in made}
