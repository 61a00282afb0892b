"""Deduplicating links as the service would have them, and a process of them that can be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Producer

from bridge.kafka import ledger_transactions, settings
from bridge.kafka.deduplication import DeduplicatingProducers
from bridge.kafka.ledger_contract import LedgerSettings
from bridge.model.deduplication import Deduplication
from bridge.model.failures import Failure
from bridge.source.deduplication import Windows
from bridge.source.ledger import LinkName

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from bridge.kafka.deduplication import DeduplicatingProducer
    from bridge.source.deduplication import Ledger

LIMIT_SECONDS: Final = 90.0
BY_MESSAGE_ID: Final = Deduplication("message-id")
BY_DELIVERY_TAG: Final = Deduplication("delivery-tag")


def new_ledger() -> str:
    """Return a name for a ledger that no other test has."""
    return f"ledger-{uuid.uuid4().hex[:12]}"


def ledger_settings(servers: str, ledger: str, **changes: Any) -> LedgerSettings:  # noqa: ANN401 - passed on
    """Return the settings of a ledger of a few partitions."""

    def ignore(*_error: object) -> None:
        """Take no notice: what fails is told by outcomes."""

    return LedgerSettings(
        **{
            "producer": settings.producer(
                servers, {"log_level": "0"}, acks="all", message_max_bytes=1_000_000, on_error=ignore
            ),
            "client": settings.admin(servers, {"log_level": "0"}, on_error=ignore),
            "topic": ledger,
            "partitions": 2,
            "delivery_timeout_seconds": 60.0,
            "transaction_timeout_ms": 3000,
            **changes,
        }
    )


class Link:
    """What a source link does with its producer."""

    def __init__(self, producer: DeduplicatingProducer, ledger: Ledger, topic: str) -> None:
        self.producer = producer
        self.ledger = ledger
        self.topic = topic
        self.answers: dict[bytes, list[object]] = {}
        """The errors, or None, that were reported for each identity."""
        self.order: list[bytes] = []
        """Identities as they were reported."""
        self.on_answer: Callable[[bytes, object], None] | None = None
        self.is_ready = asyncio.Event()
        self.is_stolen = asyncio.Event()
        self.failure: Failure | None = None

    def ready(self) -> None:
        self.is_ready.set()

    def stolen(self) -> None:
        self.is_stolen.set()

    def failed(self, failure: Failure) -> None:
        self.failure = failure

    def send(
        self, identity: bytes, value: bytes | None = None, *, key: bytes | None = None
    ) -> Failure | None:
        """Send a message, whose value is its identity unless another is given."""
        return self.producer.produce(
            self.topic,
            identity if value is None else value,
            key,
            None,
            -1,
            0,
            lambda error, _message: self._answered(identity, error),
            identity,
        )

    def send_all(self, identities: Iterable[bytes]) -> None:
        for identity in identities:
            assert self.send(identity) is None

    async def answered(self, count: int) -> None:
        """Wait for so many answers in all."""
        await until(lambda: len(self.order) >= count)

    async def deliver(self, identities: Sequence[bytes]) -> None:
        """Send messages and wait for their answers."""
        before = len(self.order)
        self.send_all(identities)
        await self.answered(before + len(identities))

    async def deliver_until_accepted(self, identities: Sequence[bytes]) -> None:
        """Send messages, all of them again as long as one of them is not accepted."""
        deadline = time.monotonic() + LIMIT_SECONDS
        await self.deliver(identities)
        while any(self.answers[identity][-1] is not None for identity in identities):
            assert time.monotonic() < deadline
            await self.deliver(identities)

    async def end(self) -> None:
        self.producer.close()
        await asyncio.wait_for(asyncio.shield(self.producer.stopped), LIMIT_SECONDS)

    def _answered(self, identity: bytes, error: object) -> None:
        self.answers.setdefault(identity, []).append(error)
        self.order.append(identity)
        if self.on_answer is not None:
            self.on_answer(identity, error)


class Replica:
    """One bridge, as far as duplicates are concerned."""

    def __init__(self, ledger: LedgerSettings, options: Deduplication = BY_MESSAGE_ID) -> None:
        self.producers = DeduplicatingProducers(ledger)
        self.windows = Windows()
        self._options = options

    async def attach(self, topic: str, link: str = "link", *, container: str = "client") -> Link:
        """Attach a link and wait until it is ready."""
        attached = await self.begin(topic, link, container=container)
        await asyncio.wait_for(attached.is_ready.wait(), LIMIT_SECONDS)
        return attached

    async def begin(self, topic: str, link: str = "link", *, container: str = "client") -> Link:
        """Attach a link."""
        ledger = self.windows.ledger(LinkName(container, link, topic), self._options)
        producer = await self.producers.open(ledger)
        assert not isinstance(producer, Failure), producer
        attached = Link(producer, ledger, topic)
        producer.start(attached)
        return attached


async def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not happened():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), 3 * LIMIT_SECONDS)

    asyncio.run(bounded())


def send_and_die(
    servers: str, topic: str, ledger: str, link: str, death: str, identities: Sequence[bytes]
) -> set[bytes]:
    """Send messages from a process that kills itself, and return those that it was told are stored.

    `death`: `before:n` the n-th commit, `after:n` it, `timer:ms` after the link is ready, or `never`.
    """
    process = subprocess.run(  # noqa: S603 - this file
        [sys.executable, __file__, servers, topic, ledger, link, death],
        input=b"\n".join(identities),
        stdout=subprocess.PIPE,
        check=False,
        timeout=LIMIT_SECONDS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[1:3]))},
    )
    assert process.returncode in {0, -signal.SIGKILL}, process.returncode
    return set(process.stdout.split())


class _DyingProducer(Producer):
    """A producer whose process ends at one of its commits."""

    death = "never"
    at = 0

    def commit_transaction(self, timeout: float = -1) -> None:
        cls = type(self)
        cls.at -= 1
        if cls.death == "before" and cls.at == 0:
            self.flush(LIMIT_SECONDS)
            os.kill(os.getpid(), signal.SIGKILL)
        super().commit_transaction(timeout)
        if cls.death == "after" and cls.at == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def _main(servers: str, topic: str, ledger: str, name: str, death: str) -> None:
    identities = sys.stdin.buffer.read().split()
    kind, _, at = death.partition(":")
    _DyingProducer.death, _DyingProducer.at = kind, int(at or 0)
    vars(ledger_transactions)["Producer"] = _DyingProducer  # a process of its own
    link = await Replica(ledger_settings(servers, ledger)).attach(topic, name)

    def on_answer(identity: bytes, error: object) -> None:
        if error is None:
            os.write(1, identity + b"\n")

    link.on_answer = on_answer
    if kind == "timer":
        timer = threading.Timer(int(at) / 1000, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    waiting = list(reversed(identities))
    while waiting or link.producer.outstanding():  # a sender with a window of fifty
        while waiting and link.producer.outstanding() < 50:
            assert link.send(waiting.pop()) is None
        await asyncio.sleep(0.001)
    await link.end()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
