"""`send`: gives messages to senders, as fast as they go or at a fixed rate, and measures."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import numpy as np

from bench.load.connection import Inbox
from bench.load.loop import SELECT_MAX, Loop
from bench.load.messages import template
from bench.load.outcomes import Tally
from bench.load.results import Clock, percentiles
from bench.load.sender import Cargo, Sender, SendingLink

if TYPE_CHECKING:
    from bench.load.blocks import Mode

_BURST_SECONDS: Final = 0.001
"""How much of a second is sent at once at a fixed rate, when that is more than one message."""


@dataclass(frozen=True, slots=True)
class SendOptions:
    """What to send. `size` is in bytes of the body, `rate` in messages a second; 0 is no limit.

    `connections` each have `links` links; messages are dealt out evenly, `warm_up` ones first.
    """

    port: int
    address: str
    messages: int
    size: int = 100
    mode: Mode = "unsettled"
    shape: str = "bare"
    connections: int = 1
    links: int = 1
    rate: float = 0.0
    warm_up: int = 0


class Sending:
    """One run. Raises LoadError when something does not go as asked."""

    def __init__(self, options: SendOptions) -> None:
        self._options = options
        self._loop = Loop(exact=options.rate > 0 and options.connections <= SELECT_MAX)
        self._tally = Tally()
        self._senders: list[Sender] = []
        self._starved = 0

    def run(self) -> dict[str, Any]:
        """Send everything and give what was measured."""
        with self._loop:
            return self._run()

    def problems(self) -> list[str]:
        """Say what did not go as asked although the run has come to its end."""
        problems = []
        if refusal := self._tally.refusal:
            problems.append(f"not all messages were accepted: {dict(self._tally.outcomes)}, first: {refusal}")
        if self._starved:
            problems.append(f"the rate was not kept: credit was missing at {self._starved} moments")
        return problems

    def _run(self) -> dict[str, Any]:
        options, tally = self._options, self._tally
        self._connect()
        self._await_credit()
        if options.warm_up:
            self._warm_up()
        for sender in self._senders:
            sender.start_clock()
        tally.outcomes.clear()
        clock = Clock()
        if options.rate:
            self._send_paced(options.messages)
        else:
            self._send_all(options.messages)
        if options.mode == "settled":
            self._detach()
        times = clock.stop()
        self._loop.close()
        return self._result(times)

    def _connect(self) -> None:
        options, inbox = self._options, Inbox()
        message = template(options.shape, options.size)
        total = options.connections * options.links
        per_link = -(-options.warm_up // total) - (-options.messages // total)
        cargo = Cargo(options.address, options.mode, message, per_link * options.links)
        for index in range(options.connections):
            name = f"load-send-{index}"
            sender = Sender(options.port, inbox, name, self._links(), cargo, self._tally)
            self._senders.append(sender)
            self._loop.add(sender)

    def _links(self) -> list[SendingLink]:
        return [SendingLink(f"sender-{uuid4()}", handle) for handle in range(self._options.links)]

    def _await_credit(self) -> None:
        self._loop.run(lambda: all(sender.ready for sender in self._senders), "links with credit")

    def _warm_up(self) -> None:
        """Send messages that do not count, and wait until they are handled."""
        self._send_all(self._options.warm_up)
        if self._options.mode != "settled":
            return
        # Nothing but the end of its link says that a settled message has been handled.
        self._detach()
        for sender in self._senders:
            sender.attach(self._links())
            self._loop.send(sender)
        self._await_credit()

    def _send_all(self, messages: int) -> None:
        """Send so many, dealt out evenly, as fast as they go; wait for what comes of them."""
        each, extra = divmod(messages, self._options.connections * self._options.links)
        for place, (sender, link) in enumerate(self._turns()):
            sender.give(link, each + (place < extra))
        for sender in self._senders:
            self._loop.send(sender)
        self._await_outcomes()

    def _send_paced(self, messages: int) -> None:
        """Send so many at the rate asked for, one link after another."""
        rate, loop = self._options.rate, self._loop
        burst = max(1, int(rate * _BURST_SECONDS))
        turns = itertools.cycle(self._turns())
        given, started = 0, time.perf_counter()
        while given < messages:
            due = min(messages, int((time.perf_counter() - started) * rate) + 1)
            if due - given >= min(burst, messages - given):
                given_to = list(itertools.islice(turns, due - given))
                for sender, link in given_to:
                    sender.give(link, 1)
                for sender in {sender for sender, _ in given_to}:
                    loop.send(sender)
                self._starved += any(link.left and link.credit <= 0 for _, link in given_to)
                given = due
            loop.turn(max(0.0, started + (given + burst - 1) / rate - time.perf_counter()))
        self._await_outcomes()

    def _await_outcomes(self) -> None:
        tally = self._tally
        self._loop.run(lambda: not (tally.left or tally.awaited), "outcomes")

    def _detach(self) -> None:
        """Close all links; each answer says that what was sent on the link has been handled."""
        for sender in self._senders:
            for link in sender.links:
                sender.detach(link)
            self._loop.send(sender)
        self._loop.run(lambda: all(sender.all_detached for sender in self._senders), "links to be closed")

    def _turns(self) -> list[tuple[Sender, SendingLink]]:
        """Give all links, the first ones of all connections first."""
        rounds = zip(*(sender.links for sender in self._senders), strict=True)
        return list(zip(itertools.cycle(self._senders), itertools.chain.from_iterable(rounds)))

    def _result(self, times: dict[str, float]) -> dict[str, Any]:
        options = self._options
        latencies = np.concatenate([sender.latencies() for sender in self._senders])
        return {
            "messages": options.messages,
            "bytes": options.messages * options.size,
            **times,
            "outcomes": dict(self._tally.outcomes),
            "latency_ms": percentiles(latencies),
            "rate": options.messages / times["seconds"],
        }
