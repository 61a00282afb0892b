"""The composition root: builds the parts, starts them in order, and takes them down without loss.

It is one process, complete in itself: the whole service, or one of its workers (`bridge.workers`), which
share nothing but the port.

Shutdown: readiness off, no new connections, no more credit; what was taken is waited for and its
outcomes are sent; links and connections are closed with a reason; consumers commit and leave their
groups. All of it within the grace period. Nothing that was accepted is missing in Kafka, and
nothing that Kafka did not acknowledge was accepted.
"""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bridge import __version__, collector
from bridge.allocator import Allocator
from bridge.amqp import usual_path
from bridge.amqp.contract import EngineSettings
from bridge.amqp.listener import Listener
from bridge.config import ConfigError
from bridge.config.routes_file import load_routes
from bridge.endpoints import Endpoints, KafkaClients
from bridge.kafka import consumer
from bridge.kafka import settings as kafka_settings
from bridge.kafka.asking import OffsetAsker
from bridge.kafka.availability import KafkaAvailability
from bridge.kafka.catalog import Catalog
from bridge.kafka.pool import PoolSettings, ProducerPool
from bridge.kafka.producers import ReportPump
from bridge.mapping import compiled
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.observability import events
from bridge.observability.connections import ConnectionReporter
from bridge.observability.health import ManagementServer, Readiness
from bridge.observability.kafka import KafkaErrorReporter
from bridge.observability.metrics_merging import FormerTotals, merged
from bridge.observability.metrics_service import service_families, serving_families
from bridge.source.budget import ByteBudget
from bridge.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.config import Settings
    from bridge.config.routes import Routes
    from bridge.observability.metrics import Family

COMPILED: Final = compiled.COMPILED and usual_path.COMPILED
"""Whether all that can be compiled is in use so."""
POLL_SECONDS: Final = 3.0
"""How often errors and logs of the catalog's client are served."""
LAST_FRAMES_SECONDS: Final = 0.2
"""How long peers have to take the last frames before the process ends."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a process listens: host:port; `management` is None if it is switched off."""

    amqp: str
    management: str | None


class Service:
    """One bridge process.

    Raises ValueError when librdkafka refuses an option; `start` raises OSError when a port is taken.
    """

    def __init__(self, settings: Settings, bootstrap_servers: str, routes: Routes) -> None:
        self._settings = settings
        self._bootstrap_servers = bootstrap_servers
        self._loop = asyncio.get_running_loop()
        self._stop_asked: asyncio.Future[str] = self._loop.create_future()
        self._stopping = False
        self._reload: asyncio.Task[None] | None = None
        self._watches: list[asyncio.Task[None]] = []
        self._management: ManagementServer | None = None
        self._kafka_errors = KafkaErrorReporter()
        self._clients = self._make_clients()
        # A quarter is for what settled senders sent: it waits in a queue of its own.
        self._budget = ByteBudget(settings.source.budget_bytes * 3 // 4)
        self._endpoints = Endpoints(settings, self._clients, routes, self._budget, self._kafka_said)
        self._connections = ConnectionReporter()
        amqp = settings.amqp
        self._listener = Listener(
            EngineSettings(
                container_id=amqp.container_id,
                product_version=__version__,
                max_frame_size_bytes=amqp.max_frame_size_bytes,
                channel_max=amqp.channel_max,
                idle_timeout_ms=amqp.idle_timeout_ms,
                session_window_bytes=amqp.session_window_bytes,
                dialect=settings.errors.dialect,
            ),
            self._connections,
            self._endpoints.attach,
        )
        self._throttle = Throttle(self._budget, self._listener)
        self._allocator = Allocator(self._budget_held)

    # ------------------------------------------------------------------ life

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then shut down. Raises OSError when a port is taken."""
        self.heed_signals()
        addresses = await self.start()
        events.service_started(
            __version__, addresses.amqp, addresses.management, self._bootstrap_servers, compiled=COMPILED
        )
        reason = await self.stop_asked()
        events.service_stopping(reason, self.grace_seconds)
        events.service_stopped(await self.shut_down())

    def heed_signals(self) -> None:
        """Stop on SIGTERM and SIGINT, read the routes again on SIGHUP."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.stop, number.name)
        self._loop.add_signal_handler(signal.SIGHUP, self.reload)

    def stop(self, reason: str) -> None:
        """Ask for the shutdown."""
        if not self._stop_asked.done():
            self._stop_asked.set_result(reason)

    async def stop_asked(self) -> str:
        """Wait until somebody asks for the shutdown; gives the reason."""
        return await self._stop_asked

    @property
    def grace_seconds(self) -> float:
        """How long the shutdown may take."""
        return self._settings.shutdown.grace_ms / 1000

    def reload(self) -> None:
        """Read the routes again; those in force stay if the file is wrong."""
        file = self._settings.routes.file
        if file is None:
            events.routes_refused("", ["routes.file is not set: there is nothing to read again"])
        else:
            # One after the other: the last signal finds the newest file.
            self._reload = self._loop.create_task(self._load_routes(file, self._reload))

    async def _load_routes(self, file: str, former: asyncio.Task[None] | None) -> None:
        if former is not None:
            await asyncio.wait([former])
        try:
            # A thousand routes take most of a second.
            routes = await asyncio.to_thread(load_routes, Path(file), self._settings)
        except ConfigError as error:
            events.routes_refused(file, [str(problem) for problem in error.problems])
        else:
            events.routes_loaded(file, len(routes.rules), self._endpoints.reroute(routes))

    async def start(self) -> Addresses:
        """Open the ports: clients may connect. Raises OSError, which names the options."""
        clients, settings = self._clients, self._settings
        clients.pump.start()
        try:
            amqp_port = await self._listener.start(
                settings.amqp.host, settings.amqp.port, reuse_port=settings.bridge.workers > 1
            )
        except OSError as error:
            raise OSError(f"amqp.host and amqp.port (BRIDGE_AMQP_PORT): {error}") from error
        management = None
        if settings.management.enabled:
            self._management = ManagementServer(self)
            port = await self._management.start(settings.management.host, settings.management.port)
            management = f"{settings.management.host}:{port}"
        self._watches = [
            self._loop.create_task(clients.availability.watch()),
            self._loop.create_task(self._poll_catalog()),
            self._loop.create_task(self._allocator.watch()),
        ]
        collector.tune()
        return Addresses(f"{settings.amqp.host}:{amqp_port}", management)

    async def shut_down(self) -> int:
        """End all that was begun; gives how many records had no answer from Kafka."""
        grace_seconds = self.grace_seconds
        deadline = self._loop.time() + grace_seconds
        self._stopping = True
        self._listener.stop_accepting()
        self._endpoints.stop()
        clients = self._clients
        # A part of the grace is kept for what comes after. Senders have credit left and may use it: the
        # connections are closed in the very moment in which nothing that was taken waits for Kafka.
        until = self._loop.time() + grace_seconds * 0.8
        while self._endpoints.unanswered() or clients.pump.busy():
            if self._loop.time() > until:
                break
            await asyncio.sleep(0.001)
        unanswered = self._endpoints.unanswered()
        # Nothing is taken from here on; peers read the last outcomes before they read of the end.
        self._listener.end_links()
        await asyncio.sleep(LAST_FRAMES_SECONDS)
        self._listener.close(
            Condition(conditions.CONNECTION_FORCED, "the bridge is shutting down; connect again")
        )
        await self._endpoints.stopped(max(1.0, deadline - self._loop.time()))
        await asyncio.sleep(LAST_FRAMES_SECONDS)
        for watch in self._watches:
            watch.cancel()
        self._throttle.close()
        if self._management is not None:
            await self._management.stop()
        clients.pump.close()
        return unanswered

    # ------------------------------------------------------------------ parts

    def _make_clients(self) -> KafkaClients:
        kafka, servers, settings = self._settings.kafka, self._bootstrap_servers, self._settings
        pump = ReportPump(events.report_handling_failed)
        budget_bytes = settings.source.budget_bytes
        pool = ProducerPool(
            PoolSettings(
                servers,
                {**kafka.common, **kafka.producer},
                settings.amqp.max_message_size_bytes,
                {"all": budget_bytes, "1": budget_bytes, "0": budget_bytes // 4},
            ),
            pump,
            self._kafka_said,
            events.producer_rebuilt,
        )
        for acks in (kafka.acks, "0"):
            pool.get(acks)
        consumer.check(
            kafka_settings.consumer(
                servers,
                {**kafka.common, **kafka.consumer},
                group="amqp-kafka-bridge",
                queue_bytes=settings.sink.buffer_bytes,
                on_error=self._kafka_said,
            )
        )
        catalog = Catalog(
            kafka_settings.admin(servers, kafka.common, on_error=self._kafka_said),
            kafka.metadata_timeout_ms,
            events.topic_limits_unknown,
        )
        availability = KafkaAvailability(catalog.reachable)
        availability.subscribe(lambda available: events.kafka_reachable(reachable=available))
        offsets = OffsetAsker(
            kafka_settings.asking(servers, {**kafka.common, **kafka.consumer}, on_error=self._kafka_said),
            kafka.metadata_timeout_ms / 1000,
        )
        return KafkaClients(servers, pool, pump, catalog, availability, offsets)

    def _kafka_said(self, client: str, name: str, description: str, fatal: bool) -> None:  # noqa: FBT001 - ErrorSink
        self._kafka_errors.report(client, name, description, fatal)
        if client == "producer":
            self._clients.availability.kafka_said(client, name, description, fatal)

    def _budget_held(self) -> float:
        """Tell which part of the budget is held."""
        return self._budget.held_bytes / self._budget.total_bytes

    async def _poll_catalog(self) -> None:
        while True:
            self._clients.catalog.poll()
            self._clients.offsets.poll()
            await asyncio.sleep(POLL_SECONDS)

    # ------------------------------------------------------------------ what operators ask

    def health(self) -> Mapping[str, object]:
        """Say nothing more: that it answers is all."""
        return {}

    def readiness(self) -> Readiness:
        """Tell whether clients should be sent here."""
        problems = self.problems()
        return Readiness(not problems, problems)

    async def metrics(self) -> Sequence[Family]:
        """Read the metrics of a service that is this process alone."""
        own = {"0": self.families()}
        return [*service_families(workers=1, running=1, restarts={"0": 0}), *merged(own, FormerTotals())]

    def problems(self) -> list[str]:
        """Say why clients should not be sent here; nothing if they should."""
        problems = []
        if self._stopping:
            problems.append("the service is shutting down")
        if not self._clients.availability.available:
            problems.append(f"no broker of {self._bootstrap_servers} answers")
        return problems

    def families(self) -> list[Family]:
        """Read the metrics of this process."""
        return serving_families(
            self._connections,
            self._endpoints.source_totals,
            self._endpoints.sink_totals,
            self._budget,
            kafka_available=self._clients.availability.available,
        )
