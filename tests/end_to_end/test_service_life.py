from __future__ import annotations

import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from proton import ConnectionException, LinkException, Message
from proton.utils import BlockingConnection
from support import load
from support.clients import data, receive, send, values
from support.processes import await_end, children
from support.service import LIMIT_SECONDS, Service, running_service, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from end_to_end.conftest import StartService
    from support.kafka import RealKafka


def test_sigterm_in_the_middle_of_a_run_loses_nothing(kafka: RealKafka, start_service: StartService) -> None:
    topic = kafka.create_topic()
    service = start_service(kafka)
    sender = load.Sender(service.amqp_port, topic, count=1_000_000)
    sender.run(until=lambda: sender.answered >= 5_000)

    service.signal(signal.SIGTERM)
    with pytest.raises(load.PeerClosedError) as raised:
        sender.run()
    sender.drop()

    assert raised.value.condition == "amqp:connection:forced"
    assert service.exit_code() == 0
    accepted = sender.with_state(load.ACCEPTED)
    assert len(accepted) >= 5_000
    assert [record.value() for record in kafka.records(topic)] == accepted
    (stopped,) = service.events("service stopped")
    assert stopped["unacknowledged_records"] == 0


def test_sigterm_answers_a_sender_that_waits_for_each_outcome(
    kafka: RealKafka, start_service: StartService
) -> None:
    topic = kafka.create_topic()
    service = start_service(kafka)
    connection = BlockingConnection(f"amqp://127.0.0.1:{service.amqp_port}", timeout=LIMIT_SECONDS)
    sender = connection.create_sender(topic)
    accepted: list[bytes] = []

    def send_one_after_the_other() -> None:
        while True:
            body = b"%d" % len(accepted)
            sender.send(Message(body=body, inferred=True))
            accepted.append(body)

    with ThreadPoolExecutor(1) as thread:
        sending = thread.submit(send_one_after_the_other)
        wait_until(lambda: len(accepted) >= 100, "the first accepted messages")
        service.signal(signal.SIGTERM)
        with pytest.raises((ConnectionException, LinkException)):
            sending.result(LIMIT_SECONDS)

    assert service.exit_code() == 0
    assert [record.value() for record in kafka.records(topic)] == accepted, "nothing is stored and not told"
    (stopped,) = service.events("service stopped")
    assert stopped["unacknowledged_records"] == 0


def test_sigterm_commits_what_receivers_accepted(kafka: RealKafka, start_service: StartService) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"%d" % number for number in range(100)])
    address = f"{topic}/group.id/{topic}"
    service = start_service(kafka, sink_commit_interval_ms="3600000")
    receiver = load.Receiver(service.amqp_port, address, count=100, accepts=40)
    receiver.run()
    send(service.amqp_port, topic, data(b"it is read after the outcomes"))

    service.signal(signal.SIGTERM)
    assert service.exit_code() == 0
    receiver.drop()

    assert kafka.committed(topic, topic) == {0: 40}
    other = start_service(kafka)
    messages, _ = receive(other.amqp_port, address, 61)
    assert values(messages)[:60] == [b"%d" % number for number in range(40, 100)]


def test_new_clients_are_turned_away_during_the_shutdown(
    kafka: RealKafka, start_service: StartService
) -> None:
    service = start_service(kafka)

    service.stop()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", service.amqp_port))


def test_it_brings_a_kafka_along_if_told_so(tmp_path: Path) -> None:
    arguments = ("--embedded", "--topic", "orders")
    with running_service(tmp_path / "service.log", {}, *arguments) as service:
        kafka_processes = children(service.process_id)
        assert kafka_processes
        answers = send(service.amqp_port, "orders", data(b"one coffee"))
        assert [answer.state for answer in answers.values()] == ["ACCEPTED"]
        wait_until(lambda: service.probe("/readyz")[0] == 200, "readiness")
        service.stop()

    for process in kafka_processes:
        await_end(process)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({}, 2, "kafka.bootstrap.servers is not set"),
        ({"amqp.prt": "5672"}, 2, "did you mean BRIDGE_AMQP_PORT"),
        ({"amqp.port": "many"}, 2, "BRIDGE_AMQP_PORT"),
        ({"kafka.acks": "0"}, 2, "BRIDGE_KAFKA_ACKS"),
        ({"kafka.producer.transactional.id": "mine"}, 2, "transactional.id"),
        ({"kafka.producer.foo": "1"}, 1, 'No such configuration property: "foo"'),
        ({"kafka.consumer.foo": "1"}, 1, 'No such configuration property: "foo"'),
        ({"kafka.foo": "1"}, 1, 'No such configuration property: "foo"'),
        ({"kafka.producer.linger.ms": "soon"}, 1, "Invalid value"),
    ],
)
def test_a_wrong_configuration_is_refused_at_the_start(
    tmp_path: Path, options: dict[str, str], code: int, words: str
) -> None:
    # Nobody listens there: what is wrong is found before Kafka is needed.
    servers = {"kafka.bootstrap.servers": "127.0.0.1:1"} if options else {}
    service = Service(tmp_path / "service.log", {**servers, **options})
    try:
        assert service.exit_code() == code
    finally:
        service.kill()

    said = service.log.read_text()
    assert words in said
    assert "Traceback" not in said


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        options = {"kafka.bootstrap.servers": "127.0.0.1:1", "amqp.port": str(port)}
        service = Service(tmp_path / "service.log", options)
        try:
            assert service.exit_code() == 1
        finally:
            service.kill()

    said = service.log.read_text()
    assert str(port) in said
    assert "Traceback" not in said
