"""The management port: is the process alive, is it ready.

`/healthz` answers as long as the event loop turns; Kafka's health is not its business, since a
restart of the bridge would not repair Kafka. `/readyz` says whether clients should be sent here, and
if not, why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable


class ManagementServer:
    """Serves the two probes over HTTP. `problems` gives why the service is not ready: none is ready."""

    def __init__(self, problems: Callable[[], list[str]]) -> None:
        self._problems = problems
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; gives the port, which the system chose if 0 was asked for. Raises OSError."""
        application = web.Application()
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        bound: int = self._runner.addresses[0][1]
        return bound

    async def stop(self) -> None:
        """Listen no more."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "alive"})

    async def _readyz(self, _request: web.Request) -> web.Response:
        problems = self._problems()
        if problems:
            return web.json_response({"status": "not ready", "problems": problems}, status=503)
        return web.json_response({"status": "ready"})
