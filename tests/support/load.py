"""An AMQP client that is fast enough to load the bridge: Proton's C library over a blocking socket.

One connection, one link, one thread. `Sender` sends numbered messages as credit allows and keeps the
state of each; `Receiver` takes messages and accepts them. A test drives them with `run` and decides
when the next thing happens. As a program it is the load generator of the benchmarks, which prints
one line of JSON:

    PYTHONPATH=tests python -m support.load send PORT ADDRESS --count 200000 --mode unsettled
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any, Final

from support.load_connection import BUFFER_BYTES, MODES, Connection, PeerClosedError, buffer, view

from cproton_ffi import ffi, lib

__all__ = ["ACCEPTED", "MODES", "SETTLED", "PeerClosedError", "Receiver", "Sender"]

NUMBER_BYTES: Final = 12
"""A message begins with its number in so many digits."""

ACCEPTED: Final = 0x24
SETTLED: Final = 1
"""What `Sender.states` has for a message that was sent settled; no descriptor has that code."""


class Sender(Connection):
    """Sends `count` messages of `size` bytes (the body: one data section), the first number `first`.

    With mode `mixed` every second message is sent settled.
    """

    def __init__(
        self, port: int, address: str, *, count: int, size: int = 100, mode: str = "unsettled", first: int = 0
    ) -> None:
        super().__init__(port)
        link = lib.pn_sender(self.session, b"load")
        lib.pn_terminus_set_address(lib.pn_link_target(link), address.encode())
        self.open_link(link, mode)
        self._count = count
        self._first = first
        self._filler = b"x" * (size - NUMBER_BYTES)
        length = NUMBER_BYTES + len(self._filler)
        one_byte = length < 1 << 8
        self._prefix = b"\0Su" + (b"\xa0%c" % length if one_byte else b"\xb0" + length.to_bytes(4, "big"))
        self._settles_all = mode == "settled"
        self._settles_odd = mode == "mixed"
        self._numbers: dict[Any, int] = {}
        self.sent = 0
        self.answered = 0
        self.states = bytearray(count)
        """The state of each message: 0, SETTLED, or the outcome's descriptor (0x24 is accepted)."""

    def __repr__(self) -> str:
        return f"{self.sent} of {self._count} sent, {self.answered} answered"

    def with_state(self, state: int) -> list[bytes]:
        """Return the bodies of the messages that are in a state now."""
        return [self.body(number) for number, found in enumerate(self.states) if found == state]

    def body(self, number: int) -> bytes:
        """Return the body of message `number`, counted from 0."""
        return b"%0*d" % (NUMBER_BYTES, self._first + number) + self._filler

    def is_done(self) -> bool:
        return self.sent == self._count and not self._numbers and not lib.pn_link_queued(self.link)

    def work(self) -> None:
        link, prefix, numbers = self.link, self._prefix, self._numbers
        credit = min(lib.pn_link_credit(link), self._count - self.sent)
        if credit > 0 and not self.started_at:
            self.started_at = time.perf_counter()
        for number in range(self.sent, self.sent + credit):
            tag = number.to_bytes(4, "big")
            delivery = lib.pn_delivery(link, (4, ffi.from_buffer(tag)))
            payload = prefix + self.body(number)
            lib.pn_link_send(link, payload, len(payload))
            if self._settles_all or (self._settles_odd and number & 1):
                self.states[number] = SETTLED
                lib.pn_delivery_settle(delivery)  # which advances the link, too
            else:
                numbers[delivery] = number
                lib.pn_link_advance(link)
        self.sent += max(credit, 0)
        self.flush()

    def handle(self, delivery: Any) -> None:  # noqa: ANN401 - a C pointer
        if not lib.pn_delivery_updated(delivery):
            return
        state = lib.pn_delivery_remote_state(delivery)
        if state >= ACCEPTED:
            number = self._numbers.pop(delivery)
            self.states[number] = state
            self.answered += 1
            lib.pn_delivery_settle(delivery)


class Receiver(Connection):
    """Receives `count` messages, `credit` ahead, and accepts them, or only the first so many.

    `keep` is for their encoded bytes, which are in `payloads` then.
    """

    def __init__(
        self,
        port: int,
        address: str,
        *,
        count: int,
        mode: str = "unsettled",
        credit: int = 1000,
        accepts: int | None = None,
        keep: bool = False,
    ) -> None:
        super().__init__(port)
        link = lib.pn_receiver(self.session, b"load")
        lib.pn_terminus_set_address(lib.pn_link_source(link), address.encode())
        self.open_link(link, mode)
        lib.pn_link_flow(link, credit)
        self._count = count
        self._credit = credit
        self._second = mode == "second"
        self._accepts = count if accepts is None else accepts
        self._keep = keep
        self._unsettled = 0
        self.received = 0
        self.payloads: list[bytes] = []

    def __repr__(self) -> str:
        return f"{self.received} of {self._count} received, {self._unsettled} not settled"

    def is_done(self) -> bool:
        return self.received >= self._count and not self._unsettled

    def handle(self, delivery: Any) -> None:  # noqa: ANN401 - a C pointer
        if not lib.pn_delivery_readable(delivery):
            if lib.pn_delivery_updated(delivery) and lib.pn_delivery_settled(delivery):
                self._unsettled -= 1
                lib.pn_delivery_settle(delivery)
            return
        if lib.pn_delivery_partial(delivery):
            return
        link = self.link
        if not self.started_at:
            self.started_at = time.perf_counter()
        self._take(lib.pn_delivery_pending(delivery))
        lib.pn_link_advance(link)
        self.received += 1
        settled = lib.pn_delivery_settled(delivery)
        if self.received > self._accepts:
            return
        if not settled:
            lib.pn_delivery_update(delivery, ACCEPTED)
        if self._second and not settled:
            self._unsettled += 1
        else:
            lib.pn_delivery_settle(delivery)
        missing = self._credit - lib.pn_link_credit(link)
        if missing * 2 >= self._credit:
            lib.pn_link_flow(link, missing)

    def _take(self, size: int) -> None:
        parts = []
        while size > 0:
            count = lib.pn_link_recv(self.link, buffer, min(size, BUFFER_BYTES))
            size -= count
            if self._keep:
                parts.append(view[:count])
        if self._keep:
            self.payloads.append(b"".join(parts))


def main() -> None:
    """Send or receive as the command line says, and print what was measured."""
    parser = argparse.ArgumentParser(description="Load an AMQP peer on the loopback address.")
    parser.add_argument("what", choices=["send", "receive"])
    parser.add_argument("port", type=int)
    parser.add_argument("address")
    parser.add_argument("--count", type=int, default=200_000, help="messages")
    parser.add_argument("--size", type=int, default=100, help="bytes of a body, at least 12")
    parser.add_argument("--mode", choices=list(MODES), default="unsettled")
    parser.add_argument("--credit", type=int, default=1000, help="of a receiver, in messages")
    given = parser.parse_args()
    cpu_before = time.process_time()
    client: Sender | Receiver
    if given.what == "send":
        client = Sender(given.port, given.address, count=given.count, size=given.size, mode=given.mode)
    else:
        client = Receiver(given.port, given.address, count=given.count, mode=given.mode, credit=given.credit)
    with client:
        client.run()
    cpu_seconds = time.process_time() - cpu_before
    result = {
        "messages_per_second": round(given.count / client.seconds),
        "seconds": round(client.seconds, 3),
        "client_cpu_us_per_message": round(cpu_seconds * 1e6 / given.count, 2),
    }
    if isinstance(client, Sender):
        result["accepted"] = client.states.count(ACCEPTED)
    print(json.dumps(result))  # noqa: T201 - the output of a program


if __name__ == "__main__":
    main()
