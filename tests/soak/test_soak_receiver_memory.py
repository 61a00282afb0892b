"""Memory and threads of receivers: what each link takes, and that none can take more than its bounds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from support.processes import resident_bytes
from support.receiver_rack import Rack
from support.service import running_service
from support.soak import LIMIT_SECONDS, cases, scaled

if TYPE_CHECKING:
    from support.kafka import RealKafka
    from support.service import Service

MIB: Final = 1 << 20
KIB: Final = 1 << 10

LINKS: Final = scaled(1000, 50)
LINKS_EACH: Final = 50
"""Of each connection."""
TRICKLE: Final = scaled(20, 5)
LINK_BYTES: Final = 2 * MIB
LINK_THREADS: Final = 8

UNSETTLED_BYTES: Final = scaled(64, 8) * MIB
BUFFER_BYTES: Final = 4 * MIB
LARGE_BYTES: Final = 50_000
LARGE_RECORDS: Final = 2 * UNSETTLED_BYTES // LARGE_BYTES
CREDIT: Final = 12_000
ALLOWANCE_BYTES: Final = UNSETTLED_BYTES // 2 + 32 * MIB
"""For what the bound does not count: that proton keeps messages in blocks of powers of two; answers of
brokers that are in hand; what the allocator cannot use between two."""

FAST: Final = scaled(50, 10)
FAST_RECORDS: Final = scaled(2000, 200)


class Use:
    """What a service uses, over what it used when this was made."""

    def __init__(self, service: Service) -> None:
        self._process_id = service.process_id
        self._base_bytes = resident_bytes(self._process_id)
        self._base_threads = self._threads()

    @property
    def resident(self) -> int:
        """Bytes of memory."""
        return resident_bytes(self._process_id) - self._base_bytes

    @property
    def threads(self) -> int:
        """Threads of the process."""
        return self._threads() - self._base_threads

    def _threads(self) -> int:
        return len(list(Path(f"/proc/{self._process_id}/task").iterdir()))


def stands_still(rack: Rack, use: Use, seconds: float) -> int:
    """Let a rack work until nothing more has come for so long; gives the most bytes in use meanwhile."""
    most = 0
    seen, since = -1, time.monotonic()

    def still() -> bool:
        nonlocal most, seen, since
        most = max(most, use.resident)
        received = sum(sum(each.received) for each in rack.connections)
        if received != seen:
            seen, since = received, time.monotonic()
        return time.monotonic() - since >= seconds

    rack.run(still, seconds=LIMIT_SECONDS / 2)
    return most


def test_many_links_in_one_process(kafka: RealKafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    options = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
    with running_service(tmp_path / "service.log", options) as service, Rack() as rack:
        use = Use(service)
        rows = [("no link", use.resident, use.threads)]
        kafka.produce(topic, [b"first"])
        for first in range(0, LINKS, LINKS_EACH):
            addresses = [f"{topic}/group.id/{topic}-{first + number}" for number in range(LINKS_EACH)]
            rack.connect(service.amqp_port, addresses, credit=100)
            _await_all(rack, 1)
        idle = use.resident
        rows.append((f"{LINKS} links, one record each", idle, use.threads))
        for number in range(TRICKLE):
            kafka.produce(topic, [b"%d" % number * 50])
            _await_all(rack, number + 2)
        trickled = use.resident
        rows.append((f"{LINKS} links, {TRICKLE} more each", trickled, use.threads))
        threads = use.threads
        rack.close(seconds=LIMIT_SECONDS / 2)
    for what, resident, count in rows:
        print(f"{what:40} {resident / MIB:8.1f} MiB {count:6} threads")  # noqa: T201 - for pytest -s
    assert max(idle, trickled) <= LINKS * LINK_BYTES
    assert threads <= LINKS * LINK_THREADS


def _await_all(rack: Rack, count: int) -> None:
    rack.run(
        lambda: all(min(connection.received) >= count for connection in rack.connections),
        seconds=LIMIT_SECONDS / 2,
    )


@pytest.mark.parametrize(
    "reads",
    cases(
        [pytest.param(True, id="answers-nothing"), pytest.param(False, id="reads-nothing")],
        sample=[pytest.param(True, id="answers-nothing")],
    ),
)
def test_one_receiver_takes_no_more_than_its_bounds(kafka: RealKafka, tmp_path: Path, *, reads: bool) -> None:
    topic = kafka.create_topic()
    large = b"x" * LARGE_BYTES
    for _ in range(LARGE_RECORDS // 100):
        kafka.produce(topic, [large] * 100)
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "sink.unsettled.bytes": str(UNSETTLED_BYTES),
        "sink.buffer.bytes": str(BUFFER_BYTES),
    }
    with running_service(tmp_path / "service.log", options) as service, Rack() as rack:
        use = Use(service)
        address = f"{topic}/group.id/{topic}"
        connection = rack.connect(service.amqp_port, [address], credit=CREDIT, answers=False)
        rack.run(connection.is_attached, seconds=LIMIT_SECONDS / 2)
        connection.reads = reads
        most = stands_still(rack, use, seconds=scaled(10.0, 2.0))
        received = connection.received[0]
        print(f"{received} of {LARGE_RECORDS} came; at most {most / MIB:.1f} MiB over the base")  # noqa: T201 - for pytest -s
        if reads:
            # Each counts twice: as the record, and as the message that was made of it.
            assert UNSETTLED_BYTES // 3 <= received * LARGE_BYTES <= UNSETTLED_BYTES // 2 + LARGE_BYTES
        assert most <= UNSETTLED_BYTES + BUFFER_BYTES + ALLOWANCE_BYTES
    assert kafka.committed(topic, topic).get(0, 0) == 0, "nothing was answered"


def test_a_receiver_that_does_not_read_holds_up_nobody(kafka: RealKafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"x" * 10_000] * FAST_RECORDS)
    options = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
    with running_service(tmp_path / "service.log", options) as service, Rack() as rack:
        use = Use(service)
        slow = rack.connect(service.amqp_port, [f"{topic}/group.id/slow-{topic}"], credit=CREDIT)
        rack.run(slow.is_attached, seconds=LIMIT_SECONDS / 2)
        slow.reads = False
        began = time.monotonic()
        fast = [
            rack.connect(service.amqp_port, [f"{topic}/group.id/{topic}-{number}"], credit=100)
            for number in range(FAST)
        ]
        rack.run(lambda: all(each.received == [FAST_RECORDS] for each in fast), seconds=LIMIT_SECONDS / 2)
        seconds, resident = time.monotonic() - began, use.resident
        behind = slow.received[0]
        slow.reads = True
        rack.run(lambda: slow.received == [FAST_RECORDS], seconds=LIMIT_SECONDS / 2)
        rack.close(seconds=LIMIT_SECONDS / 2)
    print(  # noqa: T201 - for pytest -s
        f"{FAST} receivers got {FAST_RECORDS} records each in {seconds:.1f} s, the slow one {behind};"
        f" {resident / MIB:.1f} MiB over the base"
    )
    assert behind < FAST_RECORDS
    assert resident <= (FAST + 1) * (LINK_BYTES + 2 * BUFFER_BYTES), "librdkafka reads ahead as much again"
