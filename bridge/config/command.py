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

from bridge.config.check import Row, rows
from bridge.config.problems import ConfigError
from bridge.config.resolve import resolve

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
def check(config_file: Path | None) -> None:
    """Validate the configuration and print what would run.

    Lists every option with its value and where it comes from: a default, a line of the file or an
    environment variable, which overrides the file. Values of secrets are not shown. Nothing is
    started and Kafka is not asked; values for librdkafka are judged by it when the bridge starts.

    \b
    Examples:
      bridge check
      bridge check --config bridge.properties
      BRIDGE_AMQP_PORT=5673 bridge check --config bridge.properties

    Exit codes: 0 if the configuration is valid, 2 if not: then standard error has every problem,
    with its line.
    """  # noqa: D301 - it is the help text, and \b marks a paragraph for click
    try:
        resolution = resolve(config_file, os.environ)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_CONFIGURATION)
    _print(rows(resolution))
    for doubt in resolution.doubts:
        click.echo(f"warning: {doubt}", err=True)
    if resolution.settings.kafka.bootstrap_servers is None:
        click.echo("warning: kafka.bootstrap.servers is not set; the bridge needs it", err=True)


def _print(all_rows: list[Row]) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("option", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for row in all_rows:
        # Text, as values are not to be read as rich's markup.
        cells = (Text(row.key), Text(row.value), Text(row.origin))
        table.add_row(*cells, style="dim" if row.is_default else "")
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())  # of the blanks that fill the last column
