from __future__ import annotations

import asyncio
import socket
from typing import Any

from bridge.workers import channel as channels
from bridge.workers.channel import Channel


class End:
    """One end, with what it heard."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.is_lost = asyncio.Event()
        self.changed = asyncio.Event()
        self.channel: Channel

    async def open(self, end: socket.socket) -> None:
        self.channel = await Channel.open(end, self._received, self.is_lost.set)

    def _received(self, message: dict[str, Any]) -> None:
        self.heard.append(message)
        self.changed.set()

    async def until(self, count: int) -> list[dict[str, Any]]:
        async with asyncio.timeout(30):
            while len(self.heard) < count:
                self.changed.clear()
                await self.changed.wait()
        return self.heard


async def pair() -> tuple[End, End]:
    ends = End(), End()
    for end, made in zip(ends, socket.socketpair(), strict=True):
        await end.open(made)
    return ends


def test_what_one_end_sends_the_other_hears_in_order_whatever_its_size() -> None:
    async def test() -> None:
        ours, theirs = await pair()
        messages = [{"kind": "answer", "number": number, "text": "ä\n" * size} for number, size in SIZES]
        for message in messages:
            ours.channel.send(message)
        theirs.channel.send({"kind": "hello"})
        assert await theirs.until(len(messages)) == messages
        assert await ours.until(1) == [{"kind": "hello"}]
        await ours.channel.close()
        await theirs.channel.close()

    SIZES = list(enumerate([0, 1, 100_000, 3, 1_000_000]))  # noqa: N806 - a constant
    asyncio.run(test())


def test_all_is_heard_that_was_sent_before_the_end() -> None:
    async def test() -> None:
        ours, theirs = await pair()
        for number in range(1000):
            ours.channel.send({"number": number})
        await ours.channel.close()
        async with asyncio.timeout(30):
            await theirs.is_lost.wait()
        assert [message["number"] for message in theirs.heard] == list(range(1000))
        theirs.channel.send({"kind": "nobody hears this"})

    asyncio.run(test())


def test_an_end_that_sends_no_lines_is_given_up() -> None:
    async def test() -> None:
        ours, theirs = socket.socketpair()
        end = End()
        await end.open(ours)
        loop = asyncio.get_running_loop()
        theirs.settimeout(0)
        piece = b"x" * (1 << 20)
        with theirs:
            async with asyncio.timeout(30):
                for _ in range(channels.LINE_BYTES_MAX // len(piece) + 2):
                    try:
                        await loop.sock_sendall(theirs, piece)
                    except ConnectionError:
                        break
                await end.is_lost.wait()
        assert end.heard == []

    asyncio.run(test())
