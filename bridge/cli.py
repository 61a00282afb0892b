"""The command line: `bridge COMMAND`. Arguments in, exit code out; what commands do is elsewhere.

Commands are imported when they are called, so that `bridge --help` is instant and the service starts
without what only others need (Spark, the demo's client).
"""

from __future__ import annotations

import importlib
from typing import Final

import click

from bridge import __version__

_COMMANDS: Final = {
    "run": ("bridge.run_command", "Run the bridge."),
    "check": ("bridge.config.command", "Validate a configuration and show what would run."),
    "devkafka": ("bridge.devkafka.command", "Run a real Apache Kafka for development."),
    "demo": ("bridge.demo.command", "Show AMQP, Kafka and Spark working together."),
    "ingest": ("bridge.spark.command", "Write bridged topics to Parquet with Spark."),
}


class _LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="bridge")
def main() -> None:
    """An AMQP 1.0 endpoint for Apache Kafka.

    AMQP clients talk to it as if it were a broker; Kafka is the storage.

    \b
    Try it without a Kafka of your own:
      bridge run --embedded
    With one:
      BRIDGE_KAFKA_BOOTSTRAP_SERVERS=kafka:9092 bridge run
    """  # noqa: D301, D401 - it is the help text, and \b marks a paragraph for click


if __name__ == "__main__":
    main()
