from __future__ import annotations

import random
from collections import defaultdict
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest
from support.crowd import Crowd
from support.outbox import Outbox, identity
from support.service import Service, running_service
from support.soak import cases, scaled

if TYPE_CHECKING:
    from pathlib import Path

    from support.kafka import RealKafka

COUNT: Final = 20_000
KILLS: Final = scaled(10, 3)
LINKS: Final = 2
SEED: Final = 20_260_101


class Replicas:
    """Bridges on one Kafka, all with the same route; killed ones are replaced."""

    def __init__(self, stack: ExitStack, folder: Path, options: dict[str, str]) -> None:
        self._stack = stack
        self._folder = folder
        self._options = options
        self._started = 0

    def start(self) -> Service:
        """Start one more."""
        self._started += 1
        log = self._folder / f"service-{self._started}.log"
        service = Service(log, self._options)
        self._stack.callback(service.kill)
        service.await_start()
        return service


@pytest.mark.parametrize(
    ("identity_by", "replicas"),
    cases(
        [(by, replicas) for by in ("message-id", "delivery-tag") for replicas in (1, 2)],
        sample=[("message-id", 2), ("delivery-tag", 1)],
    ),
)
def test_what_is_sent_again_after_a_kill_of_the_bridge_is_stored_once(
    kafka: RealKafka, tmp_path: Path, identity_by: str, replicas: int
) -> None:
    topic = kafka.create_topic(partitions=2)
    routes = tmp_path / "routes.yaml"
    routes.write_text(f'routes:\n  - match: "{topic}"\n    deduplicate: {identity_by}\n', "utf-8")
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "routes.file": str(routes),
        "deduplication.topic": f"{topic}-ledger",
    }
    outboxes = [
        Outbox(number, topic, count=COUNT // LINKS, named=identity_by == "message-id")
        for number in range(LINKS)
    ]
    with ExitStack() as stack:
        bridges = Replicas(stack, tmp_path, options)
        running = [bridges.start() for _ in range(replicas)]
        _send_while_bridges_are_killed(bridges, running, outboxes)
        for service in running:
            service.stop()

    resent = sum(len(outbox.resent) for outbox in outboxes)
    print(f"{COUNT} messages, {resent} of them sent again after {KILLS} kills")  # noqa: T201 - for pytest -s
    assert resent > 0
    assert all(len(outbox.accepted) == COUNT // LINKS for outbox in outboxes)
    stored: defaultdict[tuple[int, int | None], list[int]] = defaultdict(list)
    for record in kafka.each_record(topic):
        owner, number = identity(record.value())
        stored[owner, record.partition()].append(number)
    for owner in range(LINKS):
        numbers = [stored[place] for place in stored if place[0] == owner]
        assert sorted(sum(numbers, [])) == list(range(COUNT // LINKS)), "one record for each message"  # noqa: RUF017 - two lists
        assert all(each == sorted(each) for each in numbers), "in order, also when sent again"


def _send_while_bridges_are_killed(bridges: Replicas, running: list[Service], outboxes: list[Outbox]) -> None:
    """Send everything; at random moments the bridge that has the connection is killed.

    The client then turns to the next replica, at once, and the killed one is replaced.
    """
    chance = random.Random(SEED)  # noqa: S311 - no secret
    marks = sorted(chance.randrange(COUNT // 50, COUNT - COUNT // 50) for _ in range(KILLS))
    with Crowd() as crowd:
        for mark in marks:
            service = running.pop(0)
            connection = crowd.connect(service.amqp_port, outboxes, container="soak")
            crowd.run(lambda mark=mark: sum(len(outbox.accepted) for outbox in outboxes) >= mark)  # type: ignore[misc] # mypy knows no defaults here
            service.kill()
            crowd.drop(connection)
            crowd.links.clear()
            running.append(bridges.start())
        crowd.connect(running[0].amqp_port, outboxes, container="soak")
        crowd.run(crowd.is_done)


def test_what_is_sent_again_to_another_replica_while_the_first_one_lives_is_stored_once(
    kafka: RealKafka, tmp_path: Path
) -> None:
    topic = kafka.create_topic(partitions=2)
    routes = tmp_path / "routes.yaml"
    routes.write_text(f'routes:\n  - match: "{topic}"\n    deduplicate: message-id\n', "utf-8")
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "routes.file": str(routes),
        "deduplication.topic": f"{topic}-ledger",
    }
    outbox = Outbox(0, topic, count=COUNT, named=True)
    with (
        running_service(tmp_path / "service-1.log", options) as first,
        running_service(tmp_path / "service-2.log", options) as second,
        Crowd() as crowd,
    ):
        for turn in range(KILLS):
            service = first if turn % 2 else second
            connection = crowd.connect(service.amqp_port, [outbox], container="soak")
            crowd.run(lambda turn=turn: len(outbox.accepted) >= COUNT * (turn + 1) // (KILLS + 1))  # type: ignore[misc] # mypy knows no defaults here
            crowd.drop(connection)
            crowd.links.clear()
        crowd.connect(first.amqp_port, [outbox], container="soak")
        crowd.run(crowd.is_done)

    assert outbox.resent
    stored = [identity(record.value())[1] for record in kafka.each_record(topic)]
    assert sorted(stored) == list(range(COUNT))
