"""One end of the pair of sockets between a supervisor and a worker: objects of JSON, one a line.

Sending never waits: what the other end does not read stays in memory. That is little, since a supervisor has
one question of a kind under way and kills a worker that does not answer, and a worker only answers.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

LINE_BYTES_MAX: Final = 1 << 24
"""No message is so long; whoever sends more is not the other end."""


class Channel(asyncio.Protocol):
    """Sends objects, and calls `received` with each that comes, `lost` once when the other end is gone."""

    def __init__(self, received: Callable[[dict[str, Any]], None], lost: Callable[[], None]) -> None:
        self._received = received
        self._lost = lost
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._closed = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(
        cls, end: socket.socket, received: Callable[[dict[str, Any]], None], lost: Callable[[], None]
    ) -> Channel:
        """Take over one end of a pair of stream sockets."""
        channel = cls(received, lost)
        await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=end)
        return channel

    def send(self, message: Mapping[str, Any]) -> None:
        """Send an object; nothing happens if the other end is gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def close(self) -> None:
        """Wait until what was sent is with the system, and close."""
        if self._transport is not None:
            self._transport.close()
            await self._closed

    # ------------------------------------------------------------------ asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        # A pair of stream sockets gives no other kind; uvloop's is none of asyncio's classes, though.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass whole lines on."""
        self._buffer += data
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = rest
        for line in lines:
            self._received(json.loads(line))
        if len(rest) > LINE_BYTES_MAX and self._transport is not None:
            self._transport.abort()

    def connection_lost(self, _error: Exception | None) -> None:
        """Pass the end on."""
        self._transport = None
        if not self._closed.done():
            self._closed.set_result(None)
        self._lost()
