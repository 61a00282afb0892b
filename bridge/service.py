"""The composition root: builds the parts, starts them in order, and takes them down without loss.

Shutdown: readiness off, no new connections, no more credit; what was taken is waited for and its
outcomes are sent; links and connections are closed with a reason; consumers commit and leave their
groups. All of it within the grace period. Nothing that was accepted is missing in Kafka, and
nothing that Kafka did not acknowledge was accepted.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bridge import __version__
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
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.observability import events
from bridge.observability.connections import ConnectionReporter
from bridge.observability.health import ManagementServer
from bridge.observability.kafka import KafkaErrorReporter
from bridge.source.budget import ByteBudget
from bridge.throttle import Throttle

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.config.routes import Routes

POLL_SECONDS: Final = 3.0
"""How often errors and logs of the catalog's client are served."""
LAST_FRAMES_SECONDS: Final = 0.2
"""How long peers have to take the last frames before the process ends."""


class Service:
    """One bridge process.

    `start` raises OSError when a port is taken and ValueError when librdkafka refuses an option;
    `run` returns when a signal ended it.
    """

    def __init__(self, settings: Settings, bootstrap_servers: str, routes: Routes) -> None:
        self._settings = settings
        self._bootstrap_servers = bootstrap_servers
        self._loop = asyncio.get_running_loop()
        self._stop_asked = self._loop.create_future()
        self._stopping = False
        self._reload: asyncio.Task[None] | None = None
        self._watches: list[asyncio.Task[None]] = []
        self._management: ManagementServer | None = None
        self._kafka_errors = KafkaErrorReporter()
        self._clients = self._make_clients()
        # A quarter is for what settled senders sent: it waits in a queue of its own.
        budget = ByteBudget(settings.source.budget_bytes * 3 // 4)
        self._endpoints = Endpoints(settings, self._clients, routes, budget, self._kafka_said)
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
            ConnectionReporter(),
            self._endpoints.attach,
        )
        self._throttle = Throttle(budget, self._listener)

    # ------------------------------------------------------------------ life

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then shut down."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.stop, number.name)
        self._loop.add_signal_handler(signal.SIGHUP, self.reload)
        await self.start()
        reason = await self._stop_asked
        await self._shut_down(reason)

    def stop(self, reason: str) -> None:
        """Ask for the shutdown."""
        if not self._stop_asked.done():
            self._stop_asked.set_result(reason)

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

    async def start(self) -> None:
        """Open the ports: clients may connect."""
        clients, settings = self._clients, self._settings
        clients.pump.start()
        try:
            amqp_port = await self._listener.start(settings.amqp.host, settings.amqp.port)
        except OSError as error:
            raise OSError(f"amqp.host and amqp.port (BRIDGE_AMQP_PORT): {error}") from error
        management = None
        if settings.management.enabled:
            self._management = ManagementServer(self._problems)
            try:
                port = await self._management.start(settings.management.host, settings.management.port)
            except OSError as error:
                raise OSError(
                    f"management.host and management.port (BRIDGE_MANAGEMENT_PORT): {error}"
                ) from error
            management = f"{settings.management.host}:{port}"
        self._watches = [
            self._loop.create_task(clients.availability.watch()),
            self._loop.create_task(self._poll_catalog()),
        ]
        events.service_started(
            __version__, f"{settings.amqp.host}:{amqp_port}", management, self._bootstrap_servers
        )

    async def _shut_down(self, reason: str) -> None:
        grace_seconds = self._settings.shutdown.grace_ms / 1000
        deadline = self._loop.time() + grace_seconds
        self._stopping = True
        events.service_stopping(reason, grace_seconds)
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
        events.service_stopped(unanswered)

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

    async def _poll_catalog(self) -> None:
        while True:
            self._clients.catalog.poll()
            self._clients.offsets.poll()
            await asyncio.sleep(POLL_SECONDS)

    # ------------------------------------------------------------------ health

    def _problems(self) -> list[str]:
        problems = []
        if self._stopping:
            problems.append("the service is shutting down")
        if not self._clients.availability.available:
            problems.append(f"no broker of {self._bootstrap_servers} answers")
        return problems
