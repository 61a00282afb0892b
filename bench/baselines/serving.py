"""How the baselines are started and ended as servers: their arguments, the line "ready", SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from typing import TYPE_CHECKING, Final

import uvloop
from proton.reactor import Container

if TYPE_CHECKING:
    from collections.abc import Callable

    from proton.handlers import MessagingHandler

HOST: Final = "127.0.0.1"
BACKLOG: Final = 1024


def arguments(description: str) -> argparse.ArgumentParser:
    """Make a parser of what every server of this folder is told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bootstrap", required=True, help="Kafka's bootstrap servers")
    parser.add_argument("--port", required=True, type=int, help="the port to listen on, on 127.0.0.1")
    return parser


def ready() -> None:
    """Say that connections are taken."""
    print("ready", flush=True)


def serve(
    port: int, make_protocol: Callable[[], asyncio.BaseProtocol], begin: Callable[[], None] = lambda: None
) -> None:
    """Serve connections on uvloop until SIGTERM or Ctrl-C; both functions are called in the loop."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        server = await loop.create_server(make_protocol, HOST, port, backlog=BACKLOG)
        begin()
        ready()
        await ended.wait()
        server.close()

    uvloop.run(run())


def run_container(handler: MessagingHandler) -> None:
    """Run proton's own event loop until SIGTERM or Ctrl-C."""
    # Proton's loop calls back from C, where an exception (SystemExit, say) is only printed.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    Container(handler).run()
