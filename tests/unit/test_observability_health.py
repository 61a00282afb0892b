from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import aiohttp
import pytest

from bridge.observability.health import ManagementServer, Readiness
from bridge.observability.metrics import Family, counter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Managed:
    """Something to be asked, which answers as a test wants."""

    def __init__(self, readiness: Readiness, health: Mapping[str, object] | None = None) -> None:
        self._readiness = readiness
        self._health = health or {}

    def health(self) -> Mapping[str, object]:
        return self._health

    def readiness(self) -> Readiness:
        return self._readiness

    async def metrics(self) -> Sequence[Family]:
        return [counter("bridge_messages", "Messages.", ({"outcome": "accepted"}, 3))]


def ask(managed: Managed, path: str) -> tuple[int, str, str]:
    """Give status, content type and text of an answer."""

    async def get() -> tuple[int, str, str]:
        server = ManagementServer(managed)
        port = await server.start("127.0.0.1", 0)
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{port}{path}") as answer,
            ):
                return answer.status, answer.headers["Content-Type"], await answer.text()
        finally:
            await server.stop()

    return asyncio.run(get())


WORKERS = {"workers": [{"worker": 0, "state": "restarting"}]}


@pytest.mark.parametrize(
    ("managed", "path", "status", "text"),
    [
        (Managed(Readiness(ready=True)), "/healthz", 200, '{"status": "alive"}'),
        (Managed(Readiness(ready=True)), "/readyz", 200, '{"status": "ready"}'),
        (
            Managed(Readiness(ready=False, problems=["no broker answers"])),
            "/readyz",
            503,
            '{"status": "not ready", "problems": ["no broker answers"]}',
        ),
        (
            Managed(Readiness(ready=True, problems=["it ends"], details=WORKERS)),
            "/readyz",
            200,
            '{"status": "ready", "problems": ["it ends"], "workers": [{"worker": 0, "state": "restarting"}]}',
        ),
        (
            Managed(Readiness(ready=False), WORKERS),
            "/healthz",
            200,
            '{"status": "alive", "workers": [{"worker": 0, "state": "restarting"}]}',
        ),
    ],
)
def test_the_probes_say_how_it_is(managed: Managed, path: str, status: int, text: str) -> None:
    assert ask(managed, path) == (status, "application/json; charset=utf-8", text)


def test_metrics_are_there_for_prometheus() -> None:
    status, content_type, text = ask(Managed(Readiness(ready=False)), "/metrics")
    assert status == 200
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert 'bridge_messages_total{outcome="accepted"} 3.0\n' in text


def test_a_taken_port_is_told_by_its_option() -> None:
    async def start_twice() -> None:
        first, second = (ManagementServer(Managed(Readiness(ready=True))) for _ in range(2))
        port = await first.start("127.0.0.1", 0)
        try:
            with pytest.raises(OSError, match="BRIDGE_MANAGEMENT_PORT"):
                await second.start("127.0.0.1", port)
        finally:
            await second.stop()
            await first.stop()

    asyncio.run(start_twice())
