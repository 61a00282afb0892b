"""Memory with Kafka away: what all senders push must not be more than what the bridge may hold.

The bound is base + budget + allowance. `base` is the process with all connections and links attached. The
allowance is for what the budget does not count, as measured with 64 MiB and 500 connections:

- What a connection has once messages came, up to 192 KiB with frames of 64 KiB: buffers for input and
  output, and a delivery's or two, which proton frees at the connection's end. Messages of 10 kB leave
  55 KiB, those of all sizes 150.
- Half of the budget: pieces of input that are in hand when the budget is exceeded, large messages being put
  together from their frames, requests to Kafka, and what the allocator cannot use between two blocks.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from support.crowd import Crowd
from support.outbox import ACCEPTED, Outbox, identity
from support.processes import resident_bytes
from support.service import running_service
from support.soak import cases, scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.kafka import OwnKafka
    from support.service import Service

MIB: Final = 1 << 20
BUDGET_BYTES: Final = 64 * MIB
SENDERS: Final = scaled(500, 100)
STOP_SECONDS: Final = scaled(300.0, 10.0)
"""How long Kafka is away. It is the length of the test, and nothing is expected to be done within it."""

CONNECTION_BYTES: Final = 192 * 1024
ALLOWANCE_BYTES: Final = BUDGET_BYTES // 2

IDLE_TIMEOUT_MS: Final = 4000
"""After so much silence both ends take each other for dead, so heartbeats have to come more often."""

MIXED_SIZES: Final = (100, 10_000, 1000, 100_000, 100, 1_000_000)
"""In bytes, one after the other."""


def ten_kilobytes(_number: int) -> int:
    return 10_000


def all_sizes(number: int) -> int:
    return MIXED_SIZES[number % len(MIXED_SIZES)]


class Memory:
    """Samples the memory of a service every second."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._next = 0.0
        self.base_bytes = resident_bytes(service.process_id)
        self.samples: list[int] = []
        """Bytes over the base."""

    def watch(self, until: Callable[[], bool]) -> Callable[[], bool]:
        """Give a condition that holds when this one does, and samples whenever it is asked."""

        def sampled() -> bool:
            now = time.monotonic()
            if now >= self._next:
                self._next = now + 1
                self.sample()
            return until()

        return sampled

    def sample(self) -> None:
        """Take a sample now."""
        self.samples.append(resident_bytes(self._service.process_id) - self.base_bytes)


@contextmanager
def without_kafka(kafka: OwnKafka, way: str, crowd: Crowd) -> Iterator[None]:
    """Freeze the broker, or kill it, for as long as the block runs; the crowd goes on while it comes back."""
    process = kafka.cluster.process_ids[1]
    if way == "freeze":
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)
    else:
        kafka.cluster.kill()
        yield
        with ThreadPoolExecutor(1) as executor:
            restarted = executor.submit(kafka.cluster.restart)
            crowd.run(restarted.done)
            restarted.result()


@contextmanager
def attached(service: Service, outboxes: list[Outbox], connections: int) -> Iterator[Crowd]:
    """Attach a link for each outbox, spread evenly; none sends before it is told to."""
    with Crowd(idle_timeout_ms=IDLE_TIMEOUT_MS) as crowd:
        each = len(outboxes) // connections
        for number in range(connections):
            crowd.connect(service.amqp_port, outboxes[number * each : (number + 1) * each])
        crowd.run(lambda: all(connection.is_attached() for connection in crowd.connections))
        yield crowd


def stop_for(seconds: float) -> Callable[[], bool]:
    """Give a condition that holds after so many seconds."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


FROZEN: Final = pytest.param("freeze", SENDERS, ten_kilobytes, 0, id="frozen")
KILLED_SHARED: Final = pytest.param("kill", SENDERS // 10, ten_kilobytes, 0, id="killed-shared-connections")
FROZEN_MIXED: Final = pytest.param("freeze", SENDERS, all_sizes, 5, id="frozen-mixed")
KILLED_MIXED: Final = pytest.param("kill", SENDERS, all_sizes, 5, id="killed-mixed")


@pytest.mark.parametrize(
    ("way", "connections", "size", "settled"),
    cases(
        [FROZEN, KILLED_SHARED, FROZEN_MIXED, KILLED_MIXED],
        sample=[KILLED_SHARED, FROZEN_MIXED],
    ),
)
def test_memory_stays_within_the_budget_while_kafka_is_away(
    own_kafka: Callable[..., OwnKafka],
    tmp_path: Path,
    way: str,
    connections: int,
    size: Callable[[int], int],
    settled: int,
) -> None:
    """Every `settled`th link sends settled messages; 0: none does."""
    kafka = own_kafka()
    topic = kafka.create_topic(partitions=4)
    outboxes = [
        Outbox(owner, topic, size=size, mode="settled" if settled and owner % settled == 0 else "unsettled")
        for owner in range(SENDERS)
    ]
    for outbox in outboxes:
        outbox.pause()
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "kafka.reconnect.backoff.max.ms": "500",
        "kafka.producer.message.timeout.ms": "3600000",  # nothing is given up, however long Kafka is away
        "source.budget.bytes": str(BUDGET_BYTES),
        "amqp.idle.timeout.ms": str(IDLE_TIMEOUT_MS),
    }
    with running_service(tmp_path / "service.log", options) as service:
        with attached(service, outboxes, connections) as crowd:
            memory = Memory(service)
            with without_kafka(kafka, way, crowd):
                for outbox in outboxes:
                    outbox.resume()
                crowd.run(memory.watch(stop_for(STOP_SECONDS / 2)), seconds=STOP_SECONDS)
                heard = [connection.frames_received for connection in crowd.connections]
                crowd.run(memory.watch(stop_for(STOP_SECONDS / 2)), seconds=STOP_SECONDS)
                assert all(
                    connection.frames_received > before
                    for connection, before in zip(crowd.connections, heard, strict=True)
                ), "heartbeats come, whatever is not read"
                for outbox in outboxes:
                    outbox.stop()
                waiting, stopped = crowd.waiting(), max(memory.samples)
            crowd.run(memory.watch(crowd.is_done))
            memory.sample()
            crowd.close()
        assert service.events("connection failed") == []
        dropped = sum(ended["dropped"] for ended in service.await_events("link ended", SENDERS))

    print(  # noqa: T201 - for pytest -s
        f"{connections} connections, {waiting} messages waiting;"
        f" over the base of {memory.base_bytes / MIB:.1f} MiB: {stopped / MIB:.1f} without Kafka,"
        f" {max(memory.samples) / MIB:.1f} at most,"
        f" {memory.samples[-1] / MIB:.1f} at the end; {len(memory.samples)} samples; {dropped} dropped"
    )
    _check_stored(kafka, topic, outboxes, dropped)
    allowed = BUDGET_BYTES + ALLOWANCE_BYTES + connections * CONNECTION_BYTES
    assert max(memory.samples) <= allowed


def _check_stored(kafka: OwnKafka, topic: str, outboxes: list[Outbox], dropped: int) -> None:
    """See that all unsettled messages are stored once, and all settled ones that were not dropped."""
    stored: list[Counter[int]] = [Counter() for _ in outboxes]
    for record in kafka.each_record(topic):
        owner, number = identity(record.value())
        stored[owner][number] += 1
    presettled = 0
    for outbox, numbers in zip(outboxes, stored, strict=True):
        if outbox.mode == "settled":
            presettled += numbers.total()
            assert set(numbers) <= set(range(outbox.numbers))
        else:
            assert outbox.outcomes == ({ACCEPTED: outbox.numbers} if outbox.numbers else {})
            assert numbers == Counter(range(outbox.numbers))
    sent = sum(outbox.numbers for outbox in outboxes if outbox.mode == "settled")
    # Without acknowledgements nobody tells of what was on its way when the broker died.
    assert presettled + dropped <= sent


def test_senders_that_stop_in_the_middle_of_large_messages_exhaust_nothing(
    own_kafka: Callable[..., OwnKafka], tmp_path: Path
) -> None:
    """What the first ones have sent of their messages fills the budget, and then nothing more comes of it."""
    kafka = own_kafka()
    topic = kafka.create_topic(partitions=4)
    budget_bytes = BUDGET_BYTES // 4
    part_bytes = 600_000
    stuck_count = 2 * budget_bytes // part_bytes
    outboxes = [
        Outbox(owner, topic, size=lambda _number: 900_000, count=1, may_end=owner < stuck_count)
        for owner in range(SENDERS)
    ]
    stuck, others = outboxes[:stuck_count], outboxes[stuck_count:]
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "source.budget.bytes": str(budget_bytes),
    }
    with running_service(tmp_path / "service.log", options) as service, Crowd() as crowd:
        memory = Memory(service)
        for outbox in stuck:
            crowd.connect(service.amqp_port, [outbox], part_bytes=part_bytes)
        crowd.run(memory.watch(lambda: bool(service.events("memory budget exceeded"))))
        for outbox in others:
            crowd.connect(service.amqp_port, [outbox], part_bytes=part_bytes)
        for link in crowd.links[stuck_count:]:
            link.finish()
        crowd.run(memory.watch(lambda: all(outbox.is_done() for outbox in others)))
        # Those that were not given up may go on as if nothing had been.
        for link in crowd.links[:stuck_count]:
            if not link.outbox.ended:
                link.finish()
        crowd.run(memory.watch(crowd.is_done))

    given_up = [outbox for outbox in stuck if outbox.ended]
    print(f"{len(given_up)} given up; {max(memory.samples) / MIB:.1f} MiB over the base without connections")  # noqa: T201 - for pytest -s
    assert {outbox.ended for outbox in given_up} == {"amqp:resource-limit-exceeded"}
    numbers = Counter(identity(record.value()) for record in kafka.each_record(topic))
    assert numbers == Counter((outbox.owner, 0) for outbox in outboxes if not outbox.ended)
    assert max(memory.samples) <= budget_bytes + ALLOWANCE_BYTES + SENDERS * CONNECTION_BYTES
