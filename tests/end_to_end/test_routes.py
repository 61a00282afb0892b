"""Routes and link properties: what differs by address, seen by clients and in Kafka."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from proton import Link, Message, symbol
from proton.reactor import LinkOption
from proton.utils import LinkDetached
from support.blocking import Client
from support.clients import Answer, body_of, data, send
from support.service import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from end_to_end.conftest import StartService
    from proton.utils import BlockingSender
    from support.kafka import RealKafka
    from support.service import Service

ACCEPTED = Answer("ACCEPTED")


class Properties(LinkOption):
    """Attaches with link properties."""

    def __init__(self, **properties: object) -> None:
        self._properties: Any = {
            symbol(name.replace("__", ".").replace("_", "-")): v for name, v in properties.items()
        }

    def apply(self, link: Link) -> None:
        link.properties = self._properties


class Null(Message):
    """A message whose body is an explicit null, which proton does not send by itself."""

    def encode(self) -> bytes:
        return b"\x00Sw\x40"


def routed(start_service: StartService, kafka: RealKafka, file: Path, text: str) -> Service:
    file.write_text(text, "utf-8")
    return start_service(kafka, routes_file=str(file))


def send_until_detached(client: Client, sender: BlockingSender) -> None:
    """Send on; librdkafka sees within seconds that a topic is gone, perhaps after a failure that may pass."""
    for _ in range(300):
        sender.send(data(b"2")[0], error_states=[])
        client.serve(0.1)


def headers(kafka: RealKafka, topic: str) -> list[dict[str, bytes | None]]:
    return [dict(record.headers() or []) for record in kafka.records(topic)]  # type: ignore[arg-type]


def attach(client: Client, address: str, option: LinkOption) -> Any:  # noqa: ANN401 - proton's sender
    return client.connection.create_sender(address, name=client.link_name(), options=option)


def test_a_route_leads_to_another_topic_for_senders_and_receivers(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    service = routed(
        start_service,
        kafka,
        tmp_path / "routes.yaml",
        f'routes:\n  - {{match: "plant.*", topic: "{topic}"}}\n',
    )

    assert send(service.amqp_port, "plant/line1", data(b"1")) == {0: ACCEPTED}

    with Client(service.amqp_port) as client:
        (received,) = client.receiver(f"plant/line2/group.id/{topic}", credit=1).take(1)
        assert body_of(received.message) == b"1"
        received.answer(0x24)
    assert [record.value() for record in kafka.records(topic)] == [b"1"]


def test_a_mapping_is_chosen_by_the_route_or_by_the_link(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    hubs, fixed = kafka.create_topic(), kafka.create_topic()
    service = routed(
        start_service,
        kafka,
        tmp_path / "routes.yaml",
        "routes:\n"
        f'  - {{match: "{fixed}", mapping: eventhubs, mapping_override: deny}}\n'
        f'  - {{match: "{hubs}", mapping: eventhubs}}\n',
    )
    message = Message(body=b"body", inferred=True, subject="s", properties={"count": 5})

    assert send(service.amqp_port, hubs, [message]) == {0: ACCEPTED}
    with Client(service.amqp_port) as client:
        attach(client, hubs, Properties(x_opt_bridge__mapping="native")).send(message)
        attach(client, hubs, Properties(x_opt_bridge__mapping="raw")).send(message)
        for refused, condition in (("nonsense", "amqp:invalid-field"), ("raw", "amqp:not-allowed")):
            address = fixed if refused == "raw" else hubs
            with pytest.raises(LinkDetached) as raised:
                attach(client, address, Properties(x_opt_bridge__mapping=refused))
            assert raised.value.condition == condition

    by_route, native, raw = headers(kafka, hubs)
    assert by_route["AMQPheaders"] is not None
    assert native["count"] == b"5"
    assert "amqp-types" in native
    assert "amqp.raw" in raw


def test_limits_of_a_route_hold_for_its_links_alone(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    narrow, wide = kafka.create_topic(), kafka.create_topic()
    service = routed(
        start_service,
        kafka,
        tmp_path / "routes.yaml",
        f'routes:\n  - {{match: "{narrow}", max_message_size: 1KiB, headers_max: 3,'
        " credit: 7, tombstones: deny}\n",
    )
    many = Message(body=b"x", inferred=True, properties={f"p{number}": "v" for number in range(9)})
    null = Null()

    assert send(service.amqp_port, wide, [many, null, *data(b"x" * 2000)]) == dict.fromkeys(
        range(3), ACCEPTED
    )
    assert send(service.amqp_port, narrow, [many, null, *data(b"x")]) == {
        0: Answer("REJECTED", "amqp:resource-limit-exceeded"),
        1: Answer("REJECTED", "amqp:not-allowed"),
        2: ACCEPTED,
    }
    with Client(service.amqp_port) as client:
        sender = client.sender(narrow)
        assert (sender.link.remote_max_message_size, sender.link.credit) == (1024, 7)
        with pytest.raises(LinkDetached) as raised:
            sender.send(data(b"x" * 2000)[0])
    assert raised.value.condition == "amqp:link:message-size-exceeded"
    # On a link to the anonymous terminus the message is refused alone.
    to_narrow = [Message(address=narrow, body=b"x" * size, inferred=True) for size in (2000, 10)]
    assert send(service.amqp_port, "", to_narrow) == {
        0: Answer("REJECTED", "amqp:link:message-size-exceeded"),
        1: ACCEPTED,
    }


def test_a_record_is_stamped_with_its_messages_creation_where_the_route_says_so(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    created, arrived = kafka.create_topic(), kafka.create_topic()
    service = routed(
        start_service,
        kafka,
        tmp_path / "routes.yaml",
        f'routes:\n  - {{match: "{created}", timestamp: creation-time, max_skew: 1h}}\n',
    )
    now = int(time.time())
    messages = [Message(body=b"x", creation_time=at) for at in (now - 600, now - 86_400)]

    for topic in (created, arrived):
        assert send(service.amqp_port, topic, messages) == dict.fromkeys(range(2), ACCEPTED)

    own, too_old = [record.timestamp()[1] for record in kafka.records(created)]
    assert own == (now - 600) * 1000
    assert abs(too_old - now * 1000) < 600_000
    assert all(abs(record.timestamp()[1] - now * 1000) < 600_000 for record in kafka.records(arrived))


def test_a_link_is_bound_to_a_partition_by_a_property(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=3)
    with Client(service.amqp_port) as client:
        attach(client, topic, Properties(event_streams_partition=2)).send(Message(body="a"))
        attach(client, topic, Properties(x_opt_bridge__partition="1")).send(Message(body="b"))
        for properties, address in (
            (Properties(x_opt_bridge__partition=7), topic),
            (Properties(x_opt_bridge__partition="first"), topic),
            (Properties(x_opt_bridge__partition=1), f"{topic}/Partitions/2"),
        ):
            with pytest.raises(LinkDetached) as raised:
                attach(client, address, properties)
            assert raised.value.condition == "amqp:invalid-field"
    assert {record.value(): record.partition() for record in kafka.records(topic)} == {b"a": 2, b"b": 1}


def test_a_reload_touches_the_links_whose_route_changed_and_no_others(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    moved, stays, target = kafka.create_topic(), kafka.create_topic(), kafka.create_topic()
    file = tmp_path / "routes.yaml"
    service = routed(start_service, kafka, file, f'routes:\n  - {{match: "{stays}", headers_max: 50}}\n')
    with Client(service.amqp_port) as client:
        first, second = client.sender(moved), client.sender(stays)
        first.send(data(b"before")[0])

        file.write_text("routes:\n  - {match: 5}\n", "utf-8")
        service.signal(signal.SIGHUP)
        (refused,) = service.await_events("routes refused")
        assert "line 2" in str(refused["problems"]) or ":2" in str(refused["problems"])
        first.send(data(b"still")[0])

        file.write_text(
            f'routes:\n  - {{match: "{stays}", headers_max: 50}}\n'
            f'  - {{match: "{moved}", topic: "{target}"}}\n',
            "utf-8",
        )
        service.signal(signal.SIGHUP)
        (loaded,) = service.await_events("routes loaded")
        assert (loaded["routes"], loaded["links_detached"]) == (2, 1)
        with pytest.raises(LinkDetached) as raised:
            first.send(data(b"never")[0])
        assert raised.value.condition == "amqp:link:detach-forced"
        second.send(data(b"on the same link")[0])
        client.sender(moved).send(data(b"after")[0])

    assert [record.value() for record in kafka.records(moved)] == [b"before", b"still"]
    assert [record.value() for record in kafka.records(stays)] == [b"on the same link"]
    assert [record.value() for record in kafka.records(target)] == [b"after"]


def test_a_compacted_topic_needs_keys_and_a_message_without_one_is_rejected_alone(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(config={"cleanup.policy": "compact"})
    key = {symbol("x-opt-bridge.key"): "k"}
    messages = [Message(body=b"%d" % number, inferred=True, annotations=key) for number in range(20)]
    messages[7].annotations = None

    answers = send(service.amqp_port, topic, messages)

    assert answers.pop(7) == Answer("REJECTED", "amqp:precondition-failed")
    assert set(answers.values()) == {ACCEPTED}
    assert len(kafka.records(topic)) == 19


def test_one_record_that_kafka_refuses_does_not_take_its_batch_with_it(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic(config={"message.timestamp.before.max.ms": "60000"})
    text = f'routes:\n  - {{match: "{topic}", timestamp: creation-time, max_skew: 30d}}\n'
    service = routed(start_service, kafka, tmp_path / "routes.yaml", text)
    now = int(time.time())
    messages = [Message(body=b"%d" % number, inferred=True, creation_time=now) for number in range(20)]
    messages[7].creation_time = now - 86_400

    answers = send(service.amqp_port, topic, messages)

    assert answers.pop(7) == Answer("REJECTED", "amqp:precondition-failed")
    assert set(answers.values()) == {ACCEPTED}
    assert {record.value() for record in kafka.records(topic)} == {b"%d" % n for n in range(20) if n != 7}


def test_a_topic_that_is_deleted_ends_its_links(service: Service, kafka: RealKafka) -> None:
    topic, other = kafka.create_topic(), kafka.create_topic()
    with Client(service.amqp_port) as client:
        sender, unharmed = client.sender(topic), client.sender(other)
        sender.send(data(b"1")[0])

        kafka.delete_topic(topic)
        with pytest.raises(LinkDetached) as raised:
            send_until_detached(client, sender)
        assert raised.value.condition == "amqp:resource-deleted"
        unharmed.send(data(b"3")[0])


def test_conditions_have_their_former_names_in_the_dialect_of_the_bridge_before(
    kafka: RealKafka, start_service: StartService
) -> None:
    service = start_service(kafka, errors_dialect="strimzi")
    topic = kafka.create_topic(config={"max.message.bytes": "20000"})

    answers = send(service.amqp_port, topic, data(b"x" * 30_000, b"y"))

    assert answers == {0: Answer("REJECTED", "io.strimzi:error-to-kafka"), 1: ACCEPTED}
    with Client(service.amqp_port) as client, pytest.raises(LinkDetached) as raised:
        client.receiver(topic, credit=1)
    assert raised.value.condition == "io.strimzi:no-group-id"


def test_what_waits_for_kafka_is_accepted_when_it_is_back(
    own_kafka: Any,  # noqa: ANN401 - the factory of a fixture
    start_service: StartService,
) -> None:
    kafka = own_kafka()
    topic = kafka.create_topic()
    service = start_service(kafka, amqp_manual_credit="5")
    with Client(service.amqp_port) as client:
        sender = client.sender(topic, "unsettled")
        kafka.cluster.kill()
        wait_until(lambda: service.probe("/readyz")[0] == 503, "the service to notice")
        deliveries: list[Any] = [
            sender.link.send(message) for message in data(*[b"%d" % n for n in range(5)])
        ]
        client.serve(2)
        assert sender.link.credit == 0, "no credit while Kafka is away"
        assert not any(delivery.settled for delivery in deliveries)
        kafka.cluster.restart()
        client.wait(lambda: all(delivery.settled for delivery in deliveries), "the outcomes")
        assert {delivery.remote_state for delivery in deliveries} == {0x24}
        client.wait(lambda: sender.link.credit == 5, "the credit")
