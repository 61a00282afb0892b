"""The command `bridge check`: says what would run, or all that is wrong. It starts nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bridge.config.check import RouteRow, Row, route_rows, rows
from bridge.config.problems import ConfigError
from bridge.config.resolve import resolve
from bridge.config.routes_file import configured_routes
from bridge.config.routes_schema import text as schema_text

EXIT_CONFIGURATION: Final = 2

_PLAIN_WIDTH: Final = 1000
"""Columns where no terminal sets them: enough that no line is folded in a file or a pipe."""


@click.command()
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="BRIDGE_CONFIG",
    show_envvar=True,
    help="A bridge.properties file. Without one, defaults and BRIDGE_* variables are used.",
)
@click.option(
    "--routes-schema",
    is_flag=True,
    help="Print the JSON schema of the routes file, for editors, and do nothing else.",
)
def check(config_file: Path | None, *, routes_schema: bool) -> None:
    """Validate the configuration and print what would run.

    Lists every option with its value and where it comes from: a default, a line of the file or an
    environment variable, which overrides the file. Values of secrets are not shown. The routes of the
    file that routes.file names are read and listed, too. Nothing is started and Kafka is not asked;
    values for librdkafka are judged by it when the bridge starts.

    \b
    Examples:
      bridge check
      bridge check --config bridge.properties
      BRIDGE_AMQP_PORT=5673 bridge check --config bridge.properties
      BRIDGE_ROUTES_FILE=routes.yaml bridge check
      bridge check --routes-schema > routes.schema.json

    Exit codes: 0 if the configuration is valid, 2 if not: then standard error has every problem,
    with its line.
    """  # noqa: D301 - it is the help text, and \b marks a paragraph for click
    if routes_schema:
        click.echo(schema_text(), nl=False)
        return
    try:
        resolution = resolve(config_file, os.environ)
        routes = configured_routes(resolution.settings)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_CONFIGURATION)
    _print(rows(resolution))
    if routes.rules:
        click.echo()
        _print_routes(route_rows(routes))
    for doubt in resolution.doubts:
        click.echo(f"warning: {doubt}", err=True)
    if resolution.settings.kafka.bootstrap_servers is None:
        click.echo("warning: kafka.bootstrap.servers is not set; the bridge needs it", err=True)


def _print(all_rows: list[Row]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("option", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for row in all_rows:
        # Text, as values are not to be read as rich's markup.
        cells = (Text(row.key), Text(row.value), Text(row.origin))
        table.add_row(*cells, style="dim" if row.is_default else "")
    _put(table)


def _print_routes(all_rows: list[RouteRow]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("route", "topic", "says", "from"):
        table.add_column(heading, overflow="fold")
    for row in all_rows:
        table.add_row(Text(row.match), Text(row.topic), Text(row.says), Text(row.origin))
    _put(table)


def _put(table: Table) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())  # of the blanks that fill the last column
