"""`bridge run`: the service as a process."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import click
import uvloop

from bridge.config import ConfigError, Settings, resolve
from bridge.observability import logging
from bridge.service import Service

EXIT_CONFIGURATION = 2
EXIT_START = 1


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
def run(config_file: Path | None, *, embedded: bool) -> None:
    """Run the bridge until SIGTERM or SIGINT.

    Every option can be set in the file (amqp.port=5672) or by an environment variable
    (BRIDGE_AMQP_PORT=5672), which wins. `bridge check` shows them all.

    \b
    Examples:
      bridge run --config bridge.properties
      BRIDGE_KAFKA_BOOTSTRAP_SERVERS=kafka:9092 bridge run
      bridge run --embedded

    Exit codes: 0 after a clean shutdown, 1 if the service could not start, 2 if the configuration
    is wrong.
    """  # noqa: D301 - it is the help text, and \b marks a paragraph for click
    try:
        resolution = resolve(config_file, os.environ)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_CONFIGURATION)
    settings = resolution.settings
    logging.configure(settings.log.level, settings.log.format)
    servers = settings.kafka.bootstrap_servers
    if servers is None and not embedded:
        click.echo(
            "kafka.bootstrap.servers is not set: name your cluster in the configuration file or in"
            " BRIDGE_KAFKA_BOOTSTRAP_SERVERS, or try --embedded",
            err=True,
        )
        sys.exit(EXIT_CONFIGURATION)
    if servers is not None and embedded:
        click.echo(
            f"--embedded and kafka.bootstrap.servers={servers} contradict each other: leave one out",
            err=True,
        )
        sys.exit(EXIT_CONFIGURATION)
    with contextlib.ExitStack() as stack:
        if servers is None:
            # Not needed by a service that has its Kafka.
            from bridge.devkafka import DevKafka  # noqa: PLC0415

            servers = stack.enter_context(DevKafka()).bootstrap_servers
        try:
            uvloop.run(_serve(settings, servers))
        except (OSError, ValueError) as error:
            click.echo(f"the bridge could not start: {error}", err=True)
            for doubt in resolution.doubts:
                click.echo(str(doubt), err=True)
            sys.exit(EXIT_START)


async def _serve(settings: Settings, bootstrap_servers: str) -> None:
    await Service(settings, bootstrap_servers).run()
