"""Each client takes hundreds of records and gives every outcome; Kafka tells what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from interop.contract import Answer, Attach
from interop.records import CREDIT, OTHERS, await_commit, bodies, filled, letters, seen

if TYPE_CHECKING:
    from interop.contract import Client
    from support.kafka import RealKafka
    from support.service import Service

RECORDS: Final = 320

ACCEPTED: Final = Answer()
RELEASED: Final = Answer("released")
FAILED: Final = Answer("modified", failed=True)
ANNOTATED: Final = Answer("modified", failed=True, annotations={"x-opt-why": "busy"})
UNDELIVERABLE: Final = Answer("modified", failed=True, undeliverable=True)
REJECTED: Final = Answer("rejected")
CONDEMNED: Final = Answer("rejected", condition="shop:no-such-customer", description="customer 7 is gone")


def test_every_outcome_is_what_becomes_of_its_record(
    name: str, client: Client, service: Service, kafka: RealKafka, dead_letters: str
) -> None:
    topic, address = filled(kafka, RECORDS)
    plain = name == "jms"
    plan = {
        1: RELEASED,
        3: FAILED if plain else ANNOTATED,
        5: UNDELIVERABLE,
        7: REJECTED if plain else CONDEMNED,
    }
    with client.attach(service.amqp_port, Attach(address)) as receiver:
        receiver.credit(CREDIT)
        first = receiver.take(RECORDS)
        for place in range(16):
            receiver.answer(first[place::16], plan.get(place, ACCEPTED))

        again = receiver.take(RECORDS // 8)

        receiver.answer(again, ACCEPTED)
        await_commit(kafka, topic, RECORDS)

    assert seen(first) == bodies(range(RECORDS))
    assert {each.count for each in first} == {0}
    came_back = [number for number in range(RECORDS) if number % 16 in {1, 3}]
    assert sorted(seen(again)) == sorted(bodies(came_back))
    for each in again:
        has_failed = int(str(each.body).removeprefix("record ")) % 16 == 3
        assert each.count == has_failed
        assert (each.annotations.get("x-opt-why") == "busy") == (has_failed and not plain)
    dead = letters(kafka, dead_letters, topic)
    put_away = {int(headers["amqp.dlt.offset"] or b""): headers["amqp.dlt.reason"] for headers in dead}
    assert len(dead) == len(put_away)
    assert put_away == {
        number: b"undeliverable-here" if number % 16 == 5 else b"rejected"
        for number in range(RECORDS)
        if number % 16 in {5, 7}
    }
    conditions = {
        (headers.get("amqp.dlt.condition"), headers.get("amqp.dlt.description"))
        for headers in dead
        if headers["amqp.dlt.reason"] == b"rejected"
    }
    assert conditions == {(None, None) if plain else (b"shop:no-such-customer", b"customer 7 is gone")}


def test_settled_records_are_committed_before_they_are_sent(
    client: Client, service: Service, kafka: RealKafka
) -> None:
    topic, address = filled(kafka, RECORDS)
    with client.attach(service.amqp_port, Attach(address, "settled")) as receiver:
        receiver.credit(CREDIT)

        assert seen(receiver.take(RECORDS)) == bodies(range(RECORDS))

        assert kafka.committed(topic, topic) == {0: RECORDS}


def test_what_was_not_answered_comes_again(client: Client, service: Service, kafka: RealKafka) -> None:
    topic, address = filled(kafka, 12)
    with client.attach(service.amqp_port, Attach(address)) as receiver:
        receiver.credit(CREDIT)
        receiver.answer(receiver.take(12)[:5], ACCEPTED)

    with client.attach(service.amqp_port, Attach(address)) as receiver:
        receiver.credit(CREDIT)
        again = receiver.take(7)
        receiver.answer(again, ACCEPTED)

        assert seen(again) == bodies(range(5, 12))
        await_commit(kafka, topic, 12)


@pytest.mark.parametrize("name", ["proton", "rhea", "jms"], indirect=True)
def test_drain_gives_what_is_there_at_once(client: Client, service: Service, kafka: RealKafka) -> None:
    topic, address = filled(kafka, 20)
    with client.attach(service.amqp_port, Attach(address)) as receiver:
        # No message is waited for: the bridge has to find out what there is.
        receiver.credit(CREDIT)
        there = receiver.drain()

        assert seen(there) == bodies(range(20))
        receiver.answer(there, ACCEPTED)
        await_commit(kafka, topic, 20)

        kafka.produce(topic, [b"later"])
        receiver.credit(1)
        assert seen(receiver.take(1)) == ["later"]


@OTHERS
def test_credit_of_one_at_a_time(client: Client, service: Service, kafka: RealKafka) -> None:
    topic, address = filled(kafka, 30)
    with client.attach(service.amqp_port, Attach(address)) as receiver:
        for number in range(30):
            receiver.credit(1)
            (one,) = receiver.take(1)
            assert one.body == f"record {number}"
            receiver.answer([one], ACCEPTED)
        await_commit(kafka, topic, 30)


@OTHERS
def test_in_mode_second_the_bridge_settles_before_it_commits(
    client: Client, service: Service, kafka: RealKafka
) -> None:
    topic, address = filled(kafka, 40)
    with client.attach(service.amqp_port, Attach(address, "second")) as receiver:
        receiver.credit(CREDIT)
        taken = receiver.take(40)
        receiver.answer(taken[:39], ACCEPTED)
        receiver.answer(taken[39:], RELEASED)
        (again,) = receiver.take(1)
        receiver.answer([again], ACCEPTED)

        assert (again.body, again.count) == ("record 39", 0)
        await_commit(kafka, topic, 40)
