from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from bridge.kafka import settings
from bridge.kafka.topic_info import QUESTIONS_AT_A_TIME, TopicQuestions
from bridge.model.failures import Failure
from bridge.model.topic_info import PartitionInfo, TopicInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.kafka import RealKafka

NOBODY: Final = "127.0.0.1:1"


def _questions(servers: str, *, timeout_ms: int = 20_000, uncommitted: bool = False) -> TopicQuestions:
    options = settings.admin(servers, {"log_level": "0"}, on_error=lambda *_: None)
    return TopicQuestions(options, timeout_ms, uncommitted=uncommitted)


def ask(
    kafka: RealKafka, topic: str, group: str | None = None, *, uncommitted: bool = False
) -> TopicInfo | Failure:
    async def run() -> TopicInfo | Failure:
        return await _questions(kafka.bootstrap_servers, uncommitted=uncommitted).ask(topic, group)

    return asyncio.run(run())


def commit(kafka: RealKafka, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group})
    try:
        consumer.commit(
            offsets=[TopicPartition(topic, partition, offset) for partition, offset in offsets.items()],
            asynchronous=False,
        )
    finally:
        consumer.close()


def ends(info: TopicInfo | Failure) -> list[tuple[int | None, int | None]]:
    assert isinstance(info, TopicInfo)
    return [(each.earliest, each.latest) for each in info.partitions]


def test_a_topic_is_told_with_its_partitions_and_their_ends(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=3)
    kafka.produce(topic, [b"a", b"b"], partition=1)

    info = ask(kafka, topic)

    assert isinstance(info, TopicInfo)
    assert (info.topic, info.group) == (topic, None)
    leaders = [each.leader for each in info.partitions]
    assert info.partitions == tuple(
        PartitionInfo(number, leader, (leader or 0,), (leader or 0,), 0, 2 if number == 1 else 0)
        for number, leader in enumerate(leaders)
    )
    assert None not in leaders
    assert {each.lag for each in info.partitions} == {0, 2}


def test_a_group_is_told_with_what_it_has_committed_and_how_far_it_is_behind(kafka: RealKafka) -> None:
    topic, group = kafka.create_topic(partitions=2), f"group-{uuid.uuid4().hex}"
    kafka.produce(topic, [b"a", b"b", b"c"], partition=0)
    kafka.produce(topic, [b"a", b"b"], partition=1)
    commit(kafka, group, topic, {0: 1})

    info, others = ask(kafka, topic, group), ask(kafka, topic, "no-such-group")

    assert isinstance(info, TopicInfo)
    assert isinstance(others, TopicInfo)
    assert info.group == group
    assert [(each.committed, each.lag) for each in info.partitions] == [(1, 2), (None, 2)]
    assert [(each.committed, each.lag) for each in others.partitions] == [(None, 3), (None, 2)]


def test_what_is_in_an_open_transaction_is_not_there_yet(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"a"])
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"open-{uuid.uuid4().hex}"}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"b", partition=0)
    producer.flush()

    committed, all_records = ask(kafka, topic), ask(kafka, topic, uncommitted=True)
    producer.abort_transaction(30)

    assert ends(committed) == [(0, 1)]
    assert ends(all_records) == [(0, 2)]


@pytest.mark.parametrize(
    ("name", "condition"), [("no-such-topic-info", "amqp:not-found"), ("no topic", "amqp:invalid-field")]
)
def test_a_topic_that_is_not_there_is_told_and_not_made(kafka: RealKafka, name: str, condition: str) -> None:
    for _ in range(2):
        answer = ask(kafka, name, "group")
        assert isinstance(answer, Failure)
        assert (answer.condition, answer.retriable) == (condition, False)


def test_a_cluster_that_is_silent_is_a_failure_that_may_pass_and_others_wait_for_their_turn() -> None:
    async def crowd() -> list[TopicInfo | Failure]:
        questions = _questions(NOBODY, timeout_ms=200)
        return await asyncio.gather(*(questions.ask("any") for _ in range(QUESTIONS_AT_A_TIME + 1)))

    for answer in asyncio.run(crowd()):
        assert isinstance(answer, Failure)
        assert (answer.condition, answer.retriable) == ("amqp:internal-error", True)
