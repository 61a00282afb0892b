from __future__ import annotations

from typing import TYPE_CHECKING, Final

from support.crowd import Crowd
from support.outbox import Outbox
from support.processes import descriptors, resident_bytes
from support.service import running_service, wait_until
from support.soak import scaled

if TYPE_CHECKING:
    from pathlib import Path

    from support.kafka import RealKafka
    from support.service import Service

CONNECTIONS: Final = 30
LINKS: Final = 100
"""Of each connection."""
WARM_UP: Final = 3
ROUNDS: Final = scaled(40, 5)

LEAK_BYTES: Final = 500
"""What a link may leave behind, on average: less than any of the objects that make one up."""
NOISE_BYTES: Final = 4 << 20
"""What the allocator's free lists may have more of than after the warm-up."""


def test_links_that_come_and_go_leave_no_memory_and_no_descriptors(kafka: RealKafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    options = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
    with running_service(tmp_path / "service.log", options) as service:
        for _ in range(WARM_UP):
            _come_and_go(service, topic)
        service.await_events("connection ended", WARM_UP * CONNECTIONS)
        files, resident = descriptors(service.process_id), resident_bytes(service.process_id)
        grown = []
        for _ in range(ROUNDS):
            _come_and_go(service, topic)
            wait_until(lambda: descriptors(service.process_id) == files, "the end of the connections")
            grown.append(resident_bytes(service.process_id) - resident)
        print(f"{resident >> 10} KiB after the warm-up, then + {[each >> 10 for each in grown]}")  # noqa: T201 - for pytest -s
        assert grown[-1] <= NOISE_BYTES + ROUNDS * CONNECTIONS * LINKS * LEAK_BYTES


def _come_and_go(service: Service, topic: str) -> None:
    """Attach thousands of links, send a message on each, detach them, and leave."""
    with Crowd() as crowd:
        for number in range(CONNECTIONS):
            outboxes = [Outbox(number * LINKS + each, topic, count=1) for each in range(LINKS)]
            crowd.connect(service.amqp_port, outboxes, container=f"crowd-{number}")
        crowd.run(crowd.is_done)
        for connection in crowd.connections:
            connection.detach()
        crowd.run(lambda: all(connection.is_detached() for connection in crowd.connections))
