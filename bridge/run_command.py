"""`bridge run`: the service as a process."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import uvloop

from bridge import allocator
from bridge.config import ConfigError, Resolution, Settings, resolve
from bridge.config.routes_file import configured_routes
from bridge.observability import logging
from bridge.workers.contract import StartError

if TYPE_CHECKING:
    from bridge.config.routes import Routes

EXIT_CONFIGURATION = 2
EXIT_START = 1
EMBEDDED_PARTITIONS = 3


@click.command()
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="BRIDGE_CONFIG",
    help="A bridge.properties file. Without one, defaults and BRIDGE_* variables are used.",
)
@click.option(
    "--embedded",
    is_flag=True,
    help="Bring up a real Kafka of one broker for as long as the bridge runs (development only).",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME",
    help="With --embedded: make this topic. May be repeated.",
)
def run(config_file: Path | None, *, embedded: bool, topics: tuple[str, ...]) -> None:
    """Run the bridge until SIGTERM or SIGINT.

    Every option can be set in the file (amqp.port=5672) or by an environment variable
    (BRIDGE_AMQP_PORT=5672), which wins. `bridge check` shows them all.

    With bridge.workers=N this process starts N others, which serve the AMQP port together, watches
    them, and answers for all of them on the management port (docs/operations.md).

    \b
    Examples:
      bridge run --config bridge.properties
      BRIDGE_KAFKA_BOOTSTRAP_SERVERS=kafka:9092 bridge run
      bridge run --embedded --topic orders
      BRIDGE_BRIDGE_WORKERS=4 bridge run --config bridge.properties

    Exit codes: 0 after a clean shutdown, 1 if the service could not start, 2 if the configuration
    is wrong.
    """  # noqa: D301 - it is the help text, and \b marks a paragraph for click
    try:
        resolution = resolve(config_file, os.environ)
        settings = resolution.settings
        routes = configured_routes(settings)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_CONFIGURATION)
    logging.configure(settings.log.level, settings.log.format)
    servers = settings.kafka.bootstrap_servers
    contradiction = _contradiction(servers, embedded=embedded, topics=topics)
    if contradiction:
        click.echo(contradiction, err=True)
        sys.exit(EXIT_CONFIGURATION)
    allocator.prepare()
    with contextlib.ExitStack() as stack:
        try:
            if servers is None:
                servers = _embedded_kafka(stack, topics)
            code = uvloop.run(_serve(settings, servers, routes))
        except StartError as error:
            _tell(error, resolution)
            sys.exit(error.exit_code)
        except (OSError, RuntimeError, ValueError) as error:
            _tell(error, resolution)
            sys.exit(EXIT_START)
    sys.exit(code)


def _tell(error: Exception, resolution: Resolution) -> None:
    """Say why the bridge could not start, and which options may be the reason."""
    click.echo(f"the bridge could not start: {error}", err=True)
    for doubt in resolution.doubts:
        click.echo(str(doubt), err=True)


def _contradiction(servers: str | None, *, embedded: bool, topics: tuple[str, ...]) -> str:
    """Say what does not go together, nothing if all does."""
    if servers is None and not embedded:
        return (
            "kafka.bootstrap.servers is not set: name your cluster in the configuration file or in"
            " BRIDGE_KAFKA_BOOTSTRAP_SERVERS, or try --embedded"
        )
    if servers is not None and embedded:
        return f"--embedded and kafka.bootstrap.servers={servers} contradict each other: leave one out"
    if topics and not embedded:
        return "--topic is for --embedded: topics of your own Kafka are made there"
    return ""


def _embedded_kafka(stack: contextlib.ExitStack, topics: tuple[str, ...]) -> str:
    """Start a Kafka that ends with the stack. Raises OSError or RuntimeError if that fails."""
    # Not needed by a service that has its Kafka.
    from bridge.devkafka import DevKafka, DevKafkaError  # noqa: PLC0415
    from bridge.kafka import inspect  # noqa: PLC0415

    try:
        servers = stack.enter_context(DevKafka()).bootstrap_servers
    except DevKafkaError as error:
        raise RuntimeError(str(error)) from error
    if topics:
        inspect.create_topics(servers, topics, EMBEDDED_PARTITIONS)
    return servers


async def _serve(settings: Settings, bootstrap_servers: str, routes: Routes) -> int:
    """Run the service in this process, or in several that this one watches; gives the exit code."""
    # Each needs what the other does not: a supervisor has neither Proton nor Kafka's client in memory.
    if settings.bridge.workers > 1:
        from bridge.workers.supervisor import Supervisor  # noqa: PLC0415

        return await Supervisor(settings, bootstrap_servers).run()
    from bridge.service import Service  # noqa: PLC0415

    await Service(settings, bootstrap_servers, routes).run()
    return 0
