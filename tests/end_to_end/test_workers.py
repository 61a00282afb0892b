"""A service of two workers on one port: its clients do not notice, its operator sees one service."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest
from proton import ConnectionException, Message
from support import load
from support.blocking import Client
from support.clients import data, receive, send, values
from support.metrics import scrape
from support.processes import await_end, children
from support.service import Service, running_service, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from proton.utils import BlockingSender
    from support.kafka import RealKafka

WORKERS: Final = 2
CONNECTIONS_MAX: Final = 64
"""So many connections the system does not deal out to one of two listeners alone."""


class Sender:
    """A connection with a sender, and which worker serves it."""

    def __init__(self, service: Service, topic: str, number: int) -> None:
        self._container = f"container-{number}"
        self.client = Client(service.amqp_port, self._container)
        self.sender: BlockingSender = self.client.sender(topic)
        # The log has it before the link is attached.
        [opened] = [
            event for event in service.events("connection opened") if event["container"] == self._container
        ]
        self.worker: int = opened["worker"]

    def send(self, body: bytes) -> None:
        """Return when it is accepted."""
        self.sender.send(Message(body=body, inferred=True))


def senders_on_both(service: Service, topic: str, first: int = 0) -> dict[int, Sender]:
    """Connect until each worker has a connection; gives one of each."""
    found: dict[int, Sender] = {}
    for number in range(first, first + CONNECTIONS_MAX):
        sender = Sender(service, topic, number)
        if found.setdefault(sender.worker, sender) is not sender:
            sender.client.connection.close()
        if len(found) == WORKERS:
            return found
    raise AssertionError(f"all connections went to worker {list(found)}")


def workers(service: Service) -> dict[int, dict[str, Any]]:
    status, answer = service.probe("/healthz")
    assert (status, answer["status"]) == (200, "alive")
    return {worker["worker"]: worker for worker in answer["workers"]}


def is_ready(service: Service) -> bool:
    status, answer = service.probe("/readyz")
    return status == 200 and not answer.get("problems")


@pytest.fixture(scope="module")
def two(kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service of two workers that the tests share."""
    log = tmp_path_factory.mktemp("workers") / "service.log"
    with running_service(log, options(kafka)) as service:
        wait_until(lambda: is_ready(service), "readiness")
        yield service


def options(kafka: RealKafka, **more: str) -> dict[str, str]:
    given = {name.replace("_", "."): value for name, value in more.items()}
    return {"kafka.bootstrap.servers": kafka.bootstrap_servers, "bridge.workers": str(WORKERS), **given}


def test_both_serve_and_their_counts_are_one(kafka: RealKafka, two: Service) -> None:
    topic = kafka.create_topic()
    before = scrape(two)
    found = senders_on_both(two, topic)
    for worker, sender in found.items():
        for number in range(10 * (worker + 1)):
            sender.send(b"%d/%d" % (worker, number))

    wait_until(lambda: scrape(two)["bridge_connections",] == WORKERS, "the connections that are left")
    after = scrape(two)
    accepted = "bridge_messages_total", "source", "accepted"
    assert after[accepted] - before[accepted] == 30
    assert after["bridge_links", "source"] == WORKERS
    assert after["bridge_workers",] == after["bridge_workers_running",] == WORKERS
    for label in map(str, range(WORKERS)):
        assert after["process_resident_memory_bytes", label] > 0
        assert after["bridge_kafka_available", label] == 1
    assert after["process_cpu_seconds_total", "supervisor"] > 0

    for sender in found.values():
        sender.client.connection.close()
    send(two.amqp_port, topic, data(*[b"settled"] * 7), mode="settled")
    for mode in ("unsettled", "settled"):
        messages, _ = receive(two.amqp_port, f"{topic}/group.id/{mode}", 37, mode)
        assert sorted(values(messages)) == sorted(record.value() or b"" for record in kafka.records(topic))
    # The links' last counts are theirs to tell when they end.
    wait_until(lambda: scrape(two)["bridge_connections",] == 0, "the end of all connections")
    after = scrape(two)
    totals = {sample: after[sample] - before[sample] for sample in after if "_messages_total" in sample[0]}
    assert {sample: count for sample, count in totals.items() if count} == {
        ("bridge_messages_total", "source", "accepted"): 30,
        ("bridge_messages_total", "source", "settled"): 7,
        ("bridge_messages_total", "sink", "accepted"): 37,
        ("bridge_messages_total", "sink", "settled"): 37,
    }


def test_a_killed_worker_comes_back_and_the_others_clients_notice_nothing(
    kafka: RealKafka, two: Service
) -> None:
    topic = kafka.create_topic()
    found = senders_on_both(two, topic, CONNECTIONS_MAX)
    for sender in found.values():
        sender.send(b"before")
    before = scrape(two)
    restarts = len(two.events("worker restarted"))
    killed = workers(two)[0]["process"]

    os.kill(killed, signal.SIGKILL)
    with pytest.raises(ConnectionException):
        found[0].client.wait(lambda: False, "the end of the connection")
    with suppress(ConnectionException):  # it is closed, and proton cleans up
        found[0].client.connection.close()
    found[1].send(b"meanwhile")
    [*_, ended] = two.await_events("worker ended")
    assert (ended["worker"], ended["by"], ended["restart_in_seconds"]) == (0, "SIGKILL", 0)
    two.await_events("worker restarted", restarts + 1)

    again = senders_on_both(two, topic, 2 * CONNECTIONS_MAX)
    again[0].send(b"after")
    found[1].send(b"after all")
    wait_until(lambda: is_ready(two), "readiness of both")
    assert workers(two)[0] | {"process": 0} == {
        "worker": 0,
        "state": "running",
        "process": 0,
        "restarts": 1,
        "last_end": "SIGKILL",
    }
    assert workers(two)[0]["process"] != killed
    after = scrape(two)
    totals = {sample for sample in before if sample[0].startswith("bridge") and sample[0].endswith("_total")}
    assert all(after[sample] >= before[sample] for sample in totals)
    accepted = "bridge_messages_total", "source", "accepted"
    assert after[accepted] - before[accepted] == 3
    assert after["bridge_worker_restarts_total", "0"] == 1
    stored = [record.value() for record in kafka.records(topic)]
    assert sorted(stored, key=repr) == sorted(
        [b"before"] * 2 + [b"meanwhile", b"after", b"after all"], key=repr
    )
    for sender in (found[1], *again.values()):
        sender.client.connection.close()


def has_a_thousand(sender: load.Sender) -> bool:
    return sender.answered >= 1_000


def test_sigterm_under_load_loses_nothing_that_was_accepted(kafka: RealKafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    with running_service(tmp_path / "service.log", options(kafka)) as service:
        senders = [
            load.Sender(service.amqp_port, topic, count=1_000_000, first=number * 1_000_000)
            for number in range(4)
        ]
        for sender in senders:
            assert not sender.run(until=partial(has_a_thousand, sender))
        service.signal(signal.SIGTERM)
        for sender in senders:
            with pytest.raises(load.PeerClosedError) as raised:
                sender.run()
            assert raised.value.condition == "amqp:connection:forced"
            sender.drop()
        assert service.exit_code() == 0
        [stopped] = service.events("service stopped")
        assert stopped["unacknowledged_records"] == 0
        assert {event["worker"] for event in service.events("worker stopped")} == set(range(WORKERS))

    accepted = [body for sender in senders for body in sender.with_state(load.ACCEPTED)]
    assert len(accepted) >= 4_000
    assert sorted(record.value() or b"" for record in kafka.records(topic)) == sorted(accepted)


def test_workers_end_when_their_supervisor_is_killed(kafka: RealKafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    service = Service(tmp_path / "service.log", options(kafka))
    try:
        service.await_start()
        processes = children(service.process_id)
        assert processes == {worker["process"] for worker in workers(service).values()}
        answers = send(service.amqp_port, topic, data(b"stored"))
        assert [answer.state for answer in answers.values()] == ["ACCEPTED"]
    finally:
        service.kill()
    for process in processes:
        await_end(process)
    stopped = service.events("worker stopped")
    assert len(stopped) == WORKERS, "they end as after SIGTERM"
    assert {event["reason"] for event in service.events("worker stopping")} == {"the supervisor is gone"}


def test_what_no_worker_can_do_ends_the_service_with_its_code_and_one_message(
    kafka: RealKafka, tmp_path: Path
) -> None:
    service = Service(tmp_path / "service.log", options(kafka, kafka_producer_foo="1"))
    try:
        assert service.exit_code() == 1
    finally:
        service.kill()
    said = service.log.read_text()
    assert said.count('No such configuration property: "foo"') == 1
    assert "Traceback" not in said
