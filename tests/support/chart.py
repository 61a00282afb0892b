"""The Helm chart as the tests see it: values in, manifests out. Runs helm, and no cluster."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

CHART: Final = Path(__file__).parents[2] / "helm" / "amqp-kafka-bridge"
Manifest: TypeAlias = dict[str, Any]


class RefusedError(Exception):
    """Helm did not accept the chart with the given values; the message is helm's."""


class Chart:
    """The chart of this repository, rendered by the `helm` at the given path."""

    def __init__(self, helm: Path) -> None:
        self._helm = helm

    def lint(self, values: Mapping[str, Any]) -> str:
        """Return what `helm lint --strict` says, or raise RefusedError with it."""
        return self._run("lint", "--strict", str(CHART), values=values)

    def manifests(self, values: Mapping[str, Any], *, release: str = "demo") -> dict[str, list[Manifest]]:
        """Render the chart; gives the manifests by kind. Raises RefusedError."""
        rendered = self._run("template", release, str(CHART), values=values)
        by_kind: dict[str, list[Manifest]] = {}
        for manifest in yaml.safe_load_all(rendered):
            by_kind.setdefault(manifest["kind"], []).append(manifest)
        return by_kind

    def _run(self, *arguments: str, values: Mapping[str, Any]) -> str:
        done = subprocess.run(  # noqa: S603 - our own arguments
            [self._helm, *arguments, "--values", "-"],
            input=yaml.safe_dump(dict(values)),
            capture_output=True,
            check=False,
            text=True,
        )
        if done.returncode:
            raise RefusedError(done.stdout + done.stderr)
        return done.stdout
