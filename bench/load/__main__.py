"""The command line: `python -m bench.load send|receive|crowd`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol, get_args

import click

from bench.load.blocks import Mode
from bench.load.crowd import Crowd, CrowdOptions
from bench.load.errors import LoadError
from bench.load.messages import DIGITS, SHAPES
from bench.load.receiving import ReceiveOptions, Receiving
from bench.load.sending import Sending, SendOptions

if TYPE_CHECKING:
    from collections.abc import Callable


class Run(Protocol):
    """One run of any kind."""

    def run(self) -> dict[str, Any]:
        """Do it, and give what was measured."""

    def problems(self) -> list[str]:
        """Say what did not go as asked."""


def _carry_out(run: Run) -> None:
    try:
        result = run.run()
    except (LoadError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    click.echo(json.dumps(result))
    problems = run.problems()
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    sys.exit(1 if problems else 0)


@click.group()
def main() -> None:
    """Load for an AMQP server on this machine."""


_POSITIVE: Final = click.IntRange(min=1)


def _peer(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all commands have."""
    for option in (
        click.option("--links", type=_POSITIVE, default=1, show_default=True, help="Of each connection."),
        click.option("--connections", type=_POSITIVE, default=1, show_default=True),
        click.option("--address", required=True, help="The links' source or target."),
        click.option("--port", type=click.IntRange(1, 65_535), required=True, help="On 127.0.0.1."),
    ):
        command = option(command)
    return command


@main.command()
@_peer
@click.option("--messages", type=_POSITIVE, required=True, help="On all links together.")
@click.option(
    "--size", type=click.IntRange(min=DIGITS), default=100, show_default=True, help="Bytes of a body."
)
@click.option("--mode", type=click.Choice(get_args(Mode)), default="unsettled", show_default=True)
@click.option("--shape", type=click.Choice(SHAPES), default="bare", show_default=True)
@click.option(
    "--rate", type=click.FloatRange(min=0), default=0.0, help="Messages a second. [default: no limit]"
)
@click.option(
    "--warm-up", type=click.IntRange(min=0), default=0, help="Messages sent before the clock starts."
)
def send(**options: Any) -> None:  # noqa: ANN401 - as SendOptions has them
    """Send messages and await what becomes of them.

    In mixed mode every second message goes settled. Bodies start with the message's number in 12 digits.
    """
    _carry_out(Sending(SendOptions(**options)))


@main.command()
@_peer
@click.option("--messages", type=_POSITIVE, required=True, help="On all links together.")
@click.option("--mode", type=click.Choice(["settled", "unsettled"]), default="unsettled", show_default=True)
@click.option("--credit", type=_POSITIVE, default=1000, show_default=True, help="Of each link.")
def receive(**options: Any) -> None:  # noqa: ANN401 - as ReceiveOptions has them
    """Receive messages, and accept those that are not settled."""
    _carry_out(Receiving(ReceiveOptions(**options)))


@main.command()
@_peer
@click.option("--seconds", type=click.FloatRange(min=0), required=True, help="How long to hold them.")
def crowd(**options: Any) -> None:  # noqa: ANN401 - as CrowdOptions has them
    """Attach idle connections with sender links, say "attached" on standard error, and hold them."""
    _carry_out(Crowd(CrowdOptions(**options)))


if __name__ == "__main__":
    main(prog_name="python -m bench.load")
