from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import pytest
from proton import Delivery
from proton.utils import LinkDetached
from support import load
from support.blocking import Client, Received
from support.clients import annotation, receive, values
from support.service import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from end_to_end.conftest import StartService
    from support.blocking import Receiver
    from support.kafka import RealKafka
    from support.service import Service

MESSAGES: Final = 350
CREDIT: Final = 100


def bodies(count: int) -> list[bytes]:
    return [b"record %d" % number for number in range(count)]


def take(receiver: Receiver, count: int) -> list[bytes]:
    """Take so many messages, accept them, and return their bodies."""
    taken = receiver.take(count)
    for each in taken:
        each.answer(Delivery.ACCEPTED)
    return values([each.message for each in taken])


def offsets(records: Sequence[Received]) -> list[int]:
    return [annotation(each.message, "x-opt-bridge.offset") for each in records]


@pytest.mark.parametrize("mode", ["settled", "unsettled", "mixed", "second"])
def test_records_arrive_in_order_and_are_committed(service: Service, kafka: RealKafka, mode: str) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(MESSAGES))

    messages, settled = receive(service.amqp_port, f"{topic}/group.id/{topic}", MESSAGES, mode, credit=CREDIT)

    assert values(messages) == bodies(MESSAGES)
    assert settled == [mode == "settled"] * MESSAGES
    wait_until(lambda: kafka.committed(topic, topic) == {0: MESSAGES}, "the commit")


@pytest.mark.parametrize("ends", ["link", "connection", "service"])
def test_what_a_settled_receiver_had_no_credit_for_is_there_for_the_next(
    start_service: StartService, kafka: RealKafka, ends: str
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(50))
    address = f"{topic}/group.id/{topic}"
    service = start_service(kafka)
    with Client(service.amqp_port) as client:
        receiver = client.receiver(address, 5, "settled")
        assert values([each.message for each in receiver.take(5)]) == bodies(5)
        wait_until(lambda: kafka.committed(topic, topic)[0] > 5, "the commit of what waits")
        if ends == "link":
            receiver.close()
        elif ends == "service":
            service.signal(signal.SIGTERM)
            assert service.exit_code() == 0
    wait_until(lambda: kafka.committed(topic, topic) == {0: 5}, "the commit that gives back")
    if ends == "service":
        service = start_service(kafka)

    messages, _ = receive(service.amqp_port, address, 45, "settled", credit=CREDIT)

    assert values(messages) == bodies(50)[5:]


def test_a_receiver_gets_no_more_than_its_credit(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(20))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", credit=5)

        assert take(receiver, 5) == bodies(20)[:5]
        client.receiver(f"{topic}/group.id/others", credit=1).take(1)  # time for more, were there more
        assert not receiver.inbox.waiting
        receiver.link.flow(15)
        assert take(receiver, 15) == bodies(20)[5:]


def test_drain_gives_unused_credit_back(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(5))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", credit=100)
        assert take(receiver, 5) == bodies(5)

        assert receiver.drain() == []
        assert receiver.link.credit == 0

        receiver.link.flow(1)
        kafka.produce(topic, [b"later"])
        assert take(receiver, 1) == [b"later"]


def test_accepted_in_any_order_exactly_the_rest_comes_again(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(10))
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        taken = client.receiver(address, credit=10).take(10)
        for number in (4, 1, 0, 3, 2):
            taken[number].answer(Delivery.ACCEPTED)

    messages, _ = receive(service.amqp_port, address, 5)

    assert values(messages) == bodies(10)[5:]
    wait_until(lambda: kafka.committed(topic, topic) == {0: 10}, "the commit")


def test_what_was_not_accepted_holds_the_commit_back(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(10))
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        taken = client.receiver(address, credit=10).take(10)
        for number in (9, 0, 7, 1, 4):
            taken[number].answer(Delivery.ACCEPTED)

    # Kafka knows one position of a partition: everything from the first gap on comes again.
    messages, _ = receive(service.amqp_port, address, 8)

    assert values(messages) == bodies(10)[2:]


def test_released_comes_again_and_is_not_counted(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(3))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", credit=100)
        taken = receiver.take(3)
        assert [each.message.delivery_count for each in taken] == [0, 0, 0]
        assert [each.message.first_acquirer for each in taken] == [True, True, True]
        taken[0].answer(Delivery.ACCEPTED)
        taken[1].answer(Delivery.RELEASED)
        taken[2].answer(Delivery.ACCEPTED)

        (again,) = receiver.take(1)

        assert values([again.message]) == [b"record 1"]
        assert again.message.delivery_count == 0
        assert not again.message.first_acquirer
        assert offsets([again]) == [1]
        again.answer(Delivery.ACCEPTED)
    wait_until(lambda: kafka.committed(topic, topic) == {0: 3}, "the commit")


def test_modified_counts_the_attempts_that_failed(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(1))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", credit=100)
        counts = []
        for failed in (True, False, True):
            (taken,) = receiver.take(1)
            counts.append((taken.message.delivery_count, taken.message.first_acquirer))
            taken.answer(Delivery.MODIFIED, failed=failed)
        (taken,) = receiver.take(1)
        counts.append((taken.message.delivery_count, taken.message.first_acquirer))
        taken.answer(Delivery.ACCEPTED)

    assert counts == [(0, True), (1, False), (1, False), (2, False)]
    wait_until(lambda: kafka.committed(topic, topic) == {0: 1}, "the commit")


def test_settled_without_an_outcome_counts_as_released(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(1))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", credit=100)
        receiver.take(1)[0].delivery.settle()

        assert take(receiver, 1) == [b"record 0"]


@pytest.mark.parametrize("undeliverable", [False, True])
def test_rejected_is_passed_over_and_logged(
    service: Service, kafka: RealKafka, *, undeliverable: bool
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(3))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", credit=100)
        taken = receiver.take(3)
        taken[0].answer(Delivery.ACCEPTED)
        if undeliverable:
            taken[1].answer(Delivery.MODIFIED, failed=True, undeliverable=True)
        else:
            taken[1].answer(Delivery.REJECTED)
        taken[2].answer(Delivery.ACCEPTED)

        wait_until_committed(client, kafka, topic, 3)
        assert not receiver.inbox.waiting
    skipped = [event for event in service.events("record skipped") if event["topic"] == topic]
    assert [(event["partition"], event["offset"]) for event in skipped] == [(0, 1)]


def test_rejected_ends_the_link_if_told_so(kafka: RealKafka, start_service: StartService) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(3))
    service = start_service(kafka, sink_rejected="detach")
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", credit=100)
        taken = receiver.take(3)
        taken[0].answer(Delivery.ACCEPTED)
        wait_until_committed(client, kafka, topic, 1)

        taken[1].answer(Delivery.REJECTED)
        client.wait(lambda: bool(receiver.inbox.error), "the detach")

    assert receiver.inbox.error == "amqp:precondition-failed"
    service.stop()
    assert kafka.committed(topic, topic) == {0: 1}


def test_an_unknown_topic_is_refused_to_a_receiver(service: Service) -> None:
    with Client(service.amqp_port) as client, pytest.raises(LinkDetached) as raised:
        client.receiver("no-such-topic/group.id/readers", credit=1)

    assert raised.value.condition == "amqp:not-found"


@pytest.mark.parametrize("address", ["orders", "orders/group.id/", "a topic/group.id/readers"])
def test_a_bad_address_is_refused_to_a_receiver(service: Service, address: str) -> None:
    with Client(service.amqp_port) as client, pytest.raises(LinkDetached) as raised:
        client.receiver(address, credit=1)

    assert raised.value.condition == "amqp:invalid-field"


def test_a_client_that_crashes_loses_nothing(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, bodies(10))
    address = f"{topic}/group.id/{topic}"
    receiver = load.Receiver(service.amqp_port, address, count=10, accepts=4)
    receiver.run()
    wait_until(lambda: kafka.committed(topic, topic) == {0: 4}, "the commit")
    receiver.drop()

    messages, _ = receive(service.amqp_port, address, 6)

    assert values(messages) == bodies(10)[4:]


def wait_until_committed(client: Client, kafka: RealKafka, topic: str, offset: int) -> None:
    """Serve the connection until the group has committed an offset."""

    def is_committed() -> bool:
        client.serve(0.05)
        return kafka.committed(topic, topic) == {0: offset}

    wait_until(is_committed, f"the commit of offset {offset}")
