"""What becomes of a record by its receiver's outcome: again, later, elsewhere; and when its offset moves."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any, Final

import pytest
from proton import Condition, Delivery
from proton.reactor import Copy
from proton.utils import LinkDetached
from support.asking import Largest
from support.blocking import Client
from support.clients import annotation, body_of
from support.service import running_service, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from support.blocking import Received
    from support.kafka import RealKafka
    from support.service import Service

ATTEMPTS: Final = 3
RELEASES: Final = 2
AHEAD: Final = 4
BACKOFF_SECONDS: Final = 0.06
LONGEST_TOPIC: Final = 249
ROUTES: Final = """
routes:
  - {match: "passing.*", dead_letter: none}
  - {match: "ending.*", dead_letter: none, rejected: detach}
  - {match: "ahead.*", dead_letter: none, order: skip-ahead}
  - {match: "once.*", max_attempts: 1}
"""
FAILED: Final[dict[str, Any]] = {"state": Delivery.MODIFIED, "failed": True}
ELSEWHERE: Final[dict[str, Any]] = {"state": Delivery.MODIFIED, "undeliverable": True}


@pytest.fixture(scope="module")
def service(kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service with dead-letter topics that soon gives up, and routes that differ."""
    folder = tmp_path_factory.mktemp("service")
    routes = folder / "routes.yaml"
    routes.write_text(ROUTES, "utf-8")
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "routes.file": str(routes),
        "sink.dead.letter.topic": "{topic}.dlt",
        "sink.commit.interval.ms": "100",
        "sink.max.attempts": str(ATTEMPTS),
        "sink.max.releases": str(RELEASES),
        "sink.skip.ahead.records": str(AHEAD),
        "sink.redelivery.backoff.ms": str(round(BACKOFF_SECONDS * 1000)),
    }
    with running_service(folder / "service.log", options) as running:
        yield running


def topic_of(kafka: RealKafka, kind: str, values: Sequence[bytes]) -> str:
    """Create a topic that a route is for, with records."""
    topic = kafka.create_topic(f"{kind}.{uuid.uuid4().hex[:12]}")
    kafka.produce(topic, values)
    return topic


def bodies(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def taken_bodies(taken: Sequence[Received]) -> list[bytes]:
    return [body_of(each.message) for each in taken]


def letters(kafka: RealKafka, topic: str) -> list[tuple[bytes | None, dict[str, str]]]:
    """Return the records of a dead-letter topic, in its order: their values, and what their headers tell."""
    found = []
    for record in kafka.records(f"{topic}.dlt"):
        headers: Any = record.headers() or []
        told = {name.removeprefix("amqp.dlt."): value for name, value in headers if "annotations" not in name}
        found.append((record.value(), {name: value.decode() for name, value in told.items()}))
    return found


def wait_until_committed(client: Client, kafka: RealKafka, topic: str, offset: int) -> None:
    """Serve the connection until the group of the topic's name has committed an offset."""

    def is_committed() -> bool:
        client.serve(0.02)
        return kafka.committed(topic, topic) == {0: offset}

    wait_until(is_committed, f"the commit of offset {offset}")


# ---------------------------------------------------------------------- sent again


def test_failures_and_releases_in_a_row_are_counted_and_each_attempt_waits_longer(
    service: Service, kafka: RealKafka
) -> None:
    topic = topic_of(kafka, "passing", bodies(1))
    outcomes: list[dict[str, Any]] = [
        {"state": Delivery.RELEASED},
        FAILED,
        {"state": Delivery.RELEASED},
        {"state": Delivery.MODIFIED},
        {"state": Delivery.ACCEPTED},
    ]
    counts, pauses = [], []
    answered = 0.0
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 100)
        for outcome in outcomes:
            (taken,) = receiver.take(1)
            pauses.append(time.monotonic() - answered)
            counts.append(taken.message.delivery_count)
            answered = time.monotonic()
            taken.answer(**outcome)
        wait_until_committed(client, kafka, topic, 1)

    # A failure is counted, and so are two attempts in a row that end without one.
    assert counts == [0, 0, 1, 1, 2]
    assert all(pause >= BACKOFF_SECONDS * 2**tries for tries, pause in enumerate(pauses[1:]))


def test_annotations_of_modified_are_in_the_next_attempt_but_not_in_the_place_of_the_bridges_own(
    service: Service, kafka: RealKafka
) -> None:
    topic = topic_of(kafka, "passing", bodies(2))
    said: list[dict[str, object]] = [
        {"x-opt-why": "tired", "x-opt-who": 1, "x-opt-bridge.offset": 99},
        {"x-opt-why": "still"},
    ]
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 100)
        first, second = receiver.take(2)
        second.answer(Delivery.ACCEPTED)
        for annotations in said:
            first.answer(Delivery.MODIFIED, failed=True, annotations=annotations)
            (first,) = receiver.take(1)
        assert body_of(first.message) == b"0"
        assert annotation(first.message, "x-opt-why") == "still"
        assert annotation(first.message, "x-opt-who") == 1
        assert annotation(first.message, "x-opt-bridge.offset") == 0


def test_the_order_of_a_partition_is_kept_while_a_record_waits(service: Service, kafka: RealKafka) -> None:
    topic = topic_of(kafka, "passing", bodies(5))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 1)
        (first,) = receiver.take(1)
        first.answer(Delivery.RELEASED)
        receiver.link.flow(100)
        assert taken_bodies(receiver.take(5)) == bodies(5)


def test_others_go_ahead_where_that_is_set_as_far_as_they_may(service: Service, kafka: RealKafka) -> None:
    topic = topic_of(kafka, "ahead", bodies(10))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 1)
        (first,) = receiver.take(1)
        first.answer(**FAILED)
        receiver.link.flow(100)
        taken = receiver.take(AHEAD)
        assert taken_bodies(taken) == [b"1", b"2", b"3", b"0"]
        assert [each.message.delivery_count for each in taken] == [0, 0, 0, 1]
        for each in taken[:-1]:
            each.answer(Delivery.ACCEPTED)

        # Nothing goes beyond, and nothing is committed, as long as the first one has no answer.
        assert receiver.drain() == []
        assert kafka.committed(topic, topic) in ({}, {0: 0})
        receiver.link.flow(100)
        taken[-1].answer(Delivery.ACCEPTED)
        rest = receiver.take(AHEAD)
        assert taken_bodies(rest) == bodies(10)[AHEAD : 2 * AHEAD]
        for each in rest:
            each.answer(Delivery.ACCEPTED)
        for each in receiver.take(2):
            each.answer(Delivery.ACCEPTED)
        wait_until_committed(client, kafka, topic, 10)


# ---------------------------------------------------------------------- the dead-letter topic


def test_what_no_receiver_takes_is_committed_when_the_dead_letter_topic_has_it(
    service: Service, kafka: RealKafka
) -> None:
    topic = topic_of(kafka, "letters", bodies(5))
    kafka.create_topic(f"{topic}.dlt")
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 100)
        rejected, elsewhere, failing, bare, good = receiver.take(5)
        rejected.answer(Delivery.REJECTED, condition=Condition("example:broken", "it is broken"))
        elsewhere.answer(**ELSEWHERE)
        bare.answer(Delivery.REJECTED)
        good.answer(Delivery.ACCEPTED)
        counts = [failing.message.delivery_count]
        for _ in range(ATTEMPTS - 1):
            failing.answer(**FAILED)
            (failing,) = receiver.take(1)
            counts.append(failing.message.delivery_count)
        assert counts == list(range(ATTEMPTS))
        wait_until_committed(client, kafka, topic, 2)
        failing.answer(**FAILED)
        wait_until_committed(client, kafka, topic, 5)
        found = sorted(letters(kafka, topic), key=lambda letter: letter[1]["offset"])
        assert not receiver.inbox.waiting

    said = [(value, told["reason"], told["attempts"], told.get("condition", "")) for value, told in found]
    assert said == [
        (b"0", "rejected", "1", "example:broken"),
        (b"1", "undeliverable-here", "1", ""),
        (b"2", "max-attempts", str(ATTEMPTS), ""),
        (b"3", "rejected", "1", ""),
    ]
    assert found[0][1]["description"] == "it is broken"
    assert all((told["topic"], told["partition"], told["group"]) == (topic, "0", topic) for _, told in found)
    (ended,) = [event for event in service.events("link ended") if event["topic"] == topic]
    assert (ended["accepted"], ended["dead_lettered"], ended["unanswered"]) == (1, 4, 0)


def test_what_is_only_ever_released_goes_there_too_and_a_reader_of_no_group_names_none(
    service: Service, kafka: RealKafka
) -> None:
    topic = topic_of(kafka, "once", bodies(1))
    kafka.create_topic(f"{topic}.dlt")
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/Partitions/0", 100)
        for _ in range(RELEASES):
            receiver.take(1)[0].answer(Delivery.RELEASED)
        while not letters(kafka, topic):
            client.serve(0.02)
        assert not receiver.inbox.waiting

    ((value, told),) = letters(kafka, topic)
    assert (value, told["reason"], told["attempts"]) == (b"0", "max-attempts", str(RELEASES))
    assert "group" not in told


def test_what_the_dead_letter_topic_does_not_take_ends_the_link_and_its_offset_stays(
    service: Service, kafka: RealKafka
) -> None:
    topic = topic_of(kafka, "letters", [b"0", b"x" * 5000, b"2"])
    dead = kafka.create_topic(f"{topic}.dlt", config={"max.message.bytes": "2000"})
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        receiver = client.receiver(address, 100)
        first, large, last = receiver.take(3)
        first.answer(Delivery.REJECTED)
        last.answer(Delivery.ACCEPTED)
        wait_until_committed(client, kafka, topic, 1)
        large.answer(Delivery.REJECTED)

        assert receiver.ended() == "amqp:precondition-failed"
        info = receiver.inbox.info
        assert (info["topic"], int(info["partition"]), int(info["offset"])) == (topic, 0, 1)
        assert (info["kafka-error"], info["retriable"]) == ("MSG_SIZE_TOO_LARGE", False)

        again = client.receiver(address, 2).take(2)
        assert taken_bodies(again) == [b"x" * 5000, b"2"]
    assert kafka.committed(topic, topic) == {0: 1}
    assert [record.value() for record in kafka.records(dead)] == [b"0"]


def test_without_its_dead_letter_topic_a_receiver_is_refused(service: Service, kafka: RealKafka) -> None:
    topic = topic_of(kafka, "letters", bodies(1))
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            client.receiver(f"{topic}/group.id/{topic}", 1)
        assert raised.value.condition == "amqp:precondition-failed"
        assert f"--topic {topic}.dlt" in str(raised.value)

        kafka.create_topic(f"{topic}.dlt")
        # Whoever is told what to do can do it, and attach again.
        assert taken_bodies(client.receiver(f"{topic}/group.id/{topic}", 1).take(1)) == [b"0"]


def test_a_dead_letter_topic_that_kafka_cannot_have_refuses_a_receiver(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic((uuid.uuid4().hex * 8)[:LONGEST_TOPIC])
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            client.receiver(f"{topic}/group.id/readers", 1)
        assert raised.value.condition == "amqp:invalid-field"
        assert "dead-letter" in str(raised.value)
        # Who looks at copies has no use for one.
        assert client.receiver(topic, 1, "unsettled", Copy()).drain() == []


# ---------------------------------------------------------------------- without one


def test_without_a_dead_letter_topic_a_failing_record_is_sent_for_ever(
    service: Service, kafka: RealKafka
) -> None:
    topic = topic_of(kafka, "passing", bodies(1))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 100)
        for count in range(ATTEMPTS + 1):
            (taken,) = receiver.take(1)
            assert taken.message.delivery_count == count
            taken.answer(**FAILED)
    assert kafka.committed(topic, topic) in ({}, {0: 0})


@pytest.mark.parametrize("outcome", [{"state": Delivery.REJECTED}, ELSEWHERE])
@pytest.mark.parametrize("kind", ["passing", "ending"])
def test_without_a_dead_letter_topic_the_route_says_what_becomes_of_a_rejected_record(
    service: Service, kafka: RealKafka, kind: str, outcome: dict[str, Any]
) -> None:
    topic = topic_of(kafka, kind, bodies(3))
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 100)
        first, second, third = receiver.take(3)
        first.answer(Delivery.ACCEPTED)
        third.answer(Delivery.ACCEPTED)
        wait_until_committed(client, kafka, topic, 1)
        second.answer(**outcome)
        if kind == "passing":
            wait_until_committed(client, kafka, topic, 3)
            assert not receiver.inbox.error
        else:
            assert receiver.ended() == "amqp:precondition-failed"
            assert int(receiver.inbox.info["offset"]) == 1
            assert kafka.committed(topic, topic) == {0: 1}


# ---------------------------------------------------------------------- larger than the receiver takes


def test_what_is_larger_than_a_receiver_takes_goes_to_the_dead_letter_topic(
    service: Service, kafka: RealKafka
) -> None:
    topic = topic_of(kafka, "letters", [b"0", b"x" * 5000, b"2"])
    kafka.create_topic(f"{topic}.dlt")
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 100, "unsettled", Largest(4000))
        taken = receiver.take(2)
        assert taken_bodies(taken) == [b"0", b"2"]
        for each in taken:
            each.answer(Delivery.ACCEPTED)
        wait_until_committed(client, kafka, topic, 3)

    ((value, told),) = letters(kafka, topic)
    assert value == b"x" * 5000
    assert (told["reason"], told["condition"]) == ("message-size-exceeded", "amqp:link:message-size-exceeded")
    assert (told["offset"], told["attempts"]) == ("1", "0")


@pytest.mark.parametrize("mode", ["unsettled", "settled"])
def test_without_one_it_ends_the_link_unless_it_is_committed_already(
    service: Service, kafka: RealKafka, mode: str
) -> None:
    topic = topic_of(kafka, "passing", [b"0", b"x" * 5000, b"2"])
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        receiver = client.receiver(address, 1, mode, Largest(4000))
        if mode == "settled":
            receiver.link.flow(1)
            assert taken_bodies(receiver.take(2)) == [b"0", b"2"]
            wait_until_committed(client, kafka, topic, 3)
            return
        receiver.take(1)[0].answer(Delivery.ACCEPTED)
        wait_until_committed(client, kafka, topic, 1)
        receiver.link.flow(1)
        assert receiver.ended() == "amqp:link:message-size-exceeded"
        assert int(receiver.inbox.info["offset"]) == 1
        (rest,) = client.receiver(address, 1).take(1)
        assert len(body_of(rest.message)) == 5000
