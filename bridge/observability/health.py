"""The management port: is the process alive, is it ready, what does it count.

`/healthz` answers as long as the event loop turns; Kafka's health is not its business, since a
restart of the bridge would not repair Kafka. `/readyz` says whether clients should be sent here, and
if not, why. `/metrics` is for Prometheus.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

from bridge.observability.metrics import exposition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.observability.metrics import Family


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether clients should be sent here; `problems` are for people, and may be there in either case."""

    ready: bool
    problems: Sequence[str] = ()
    details: Mapping[str, object] = field(default_factory=dict)


class Managed(Protocol):
    """What is asked through the management port."""

    def health(self) -> Mapping[str, object]:
        """Say what there is to say beside being alive."""

    def readiness(self) -> Readiness:
        """Tell whether clients should be sent here."""

    async def metrics(self) -> Sequence[Family]:
        """Read all metrics."""


class ManagementServer:
    """Serves the probes and the metrics over HTTP."""

    def __init__(self, managed: Managed) -> None:
        self._managed = managed
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; gives the port, which the system chose if 0 was asked for.

        Raises OSError, which names the options.
        """
        application = web.Application()
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise OSError(f"management.host and management.port (BRIDGE_MANAGEMENT_PORT): {error}") from error
        bound: int = self._runner.addresses[0][1]
        return bound

    async def stop(self) -> None:
        """Listen no more."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "alive", **self._managed.health()})

    async def _readyz(self, _request: web.Request) -> web.Response:
        found = self._managed.readiness()
        answer: dict[str, object] = {"status": "ready" if found.ready else "not ready"}
        if found.problems:
            answer["problems"] = list(found.problems)
        return web.json_response(answer | dict(found.details), status=200 if found.ready else 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        text, content_type = exposition(await self._managed.metrics(), request.headers.get("Accept", ""))
        # With its parameters (version, escaping), which aiohttp's own argument does not take.
        return web.Response(body=text, headers={"Content-Type": content_type})
