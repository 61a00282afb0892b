"""`receive`: takes messages on any number of links until so many have come, and measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from bench.load.connection import Inbox
from bench.load.loop import Loop
from bench.load.receiver import Arrivals, Receiver, ReceivingLink

if TYPE_CHECKING:
    from bench.load.blocks import Mode

_NO_LIMIT: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class ReceiveOptions:
    """What to receive: so many messages on all links of all connections together.

    A single link gets credit for no more than that. Several may get some more between them, since nobody
    knows on which of them messages come; the result says how many it were.
    """

    port: int
    address: str
    messages: int
    mode: Mode = "unsettled"
    credit: int = 1000
    connections: int = 1
    links: int = 1


class Receiving:
    """One run. Raises LoadError when something does not go as asked."""

    def __init__(self, options: ReceiveOptions) -> None:
        self._options = options
        self._loop = Loop()
        self._arrivals = Arrivals()

    def run(self) -> dict[str, Any]:
        """Receive everything and give what was measured, from the first message on."""
        with self._loop:
            return self._run()

    def problems(self) -> list[str]:
        """Say what did not go as asked: nothing that does not end the run."""
        return []

    def _run(self) -> dict[str, Any]:
        options, arrivals = self._options, self._arrivals
        receivers = self._connect()
        self._loop.run(lambda: arrivals.messages >= options.messages, "messages")
        if arrivals.clock is None:
            raise AssertionError("messages came without a transfer")
        times, messages = arrivals.clock.stop(), arrivals.messages
        self._loop.close()
        return {
            "messages": messages,
            "bytes": arrivals.body_bytes,
            **times,
            "outcomes": {"accepted": messages} if options.mode == "unsettled" else {},
            "latency_ms": None,
            "rate": messages / times["seconds"],
            "first_message_seconds": arrivals.first_at - min(each.attach_sent_at for each in receivers),
        }

    def _connect(self) -> list[Receiver]:
        options, inbox = self._options, Inbox()
        most = options.messages if options.connections * options.links == 1 else _NO_LIMIT
        receivers = [
            Receiver(
                options.port,
                inbox,
                f"load-receive-{index}",
                [ReceivingLink(f"receiver-{uuid4()}", handle, most) for handle in range(options.links)],
                address=options.address,
                mode=options.mode,
                credit=options.credit,
                arrivals=self._arrivals,
            )
            for index in range(options.connections)
        ]
        for receiver in receivers:
            self._loop.add(receiver)
        return receivers
