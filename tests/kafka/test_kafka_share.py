"""Share groups at a real broker: the feed, the group's settings, and whole links between them."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported there, its documented home
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from support.kafka import QUICK_SHARE_GROUPS, RealKafka
from support.share_rig import REJECTED, ShareLog, ShareReceiver, encode

from bridge.devkafka import DevKafka, DevKafkaError
from bridge.devkafka.java import find_java
from bridge.kafka import settings, share_groups
from bridge.kafka.share_consumer import GROWTH, ShareFeed
from bridge.kafka.share_contract import ShareFeedSettings
from bridge.kafka.share_groups import ShareGroup
from bridge.kafka.share_member import OWING_SECONDS
from bridge.model import conditions
from bridge.model.failures import Failure, Stored
from bridge.model.links import SenderSettleMode
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED
from bridge.sink.policy import choose
from bridge.sink.redelivery import Redelivery
from bridge.sink.share_link import ShareLimits, ShareLink
from bridge.sink.undelivered import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.share_rig import ShareDelivery

    from bridge.sink.ports import ConsumedRecord, DeadLetter, DeadLetters

WAIT_SECONDS: Final = 30.0


@pytest.fixture(scope="module")
def quick_kafka() -> Iterator[RealKafka]:
    """Give a broker whose share groups are quick."""
    try:
        find_java()
    except DevKafkaError as error:
        pytest.skip(str(error))
    with DevKafka(extra_properties=QUICK_SHARE_GROUPS) as cluster:
        yield RealKafka(cluster.bootstrap_servers)


def group_name() -> str:
    return f"share-{uuid.uuid4().hex[:12]}"


def no_error(*_: object) -> None:
    """Take no notice of what librdkafka says."""


def set_group(kafka: RealKafka, group: str, **values: str) -> None:
    """Set a group as its operators do."""
    entries = [
        ConfigEntry(f"share.{name.replace('_', '.')}", value, incremental_operation=AlterConfigOpType.SET)
        for name, value in values.items()
    ]
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.incremental_alter_configs([resource])[resource].result(WAIT_SECONDS)


def group_settings(kafka: RealKafka, group: str) -> tuple[str, str]:
    """Tell where a group begins, and what it reads."""
    resource = ConfigResource(ConfigResource.Type.GROUP, group)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    said = admin.describe_configs([resource])[resource].result(WAIT_SECONDS)
    return said[share_groups.START].value, said[share_groups.ISOLATION].value


async def prepare(kafka: RealKafka, group: str, start: str = "earliest") -> ShareGroup | Failure:
    return await share_groups.prepare(
        settings.admin(kafka.bootstrap_servers, {}, on_error=no_error),
        group,
        start=start,
        isolation="read_committed",
        timeout_seconds=WAIT_SECONDS,
    )


class Attached:
    """A share link between a real group and a receiver in memory."""

    def __init__(
        self,
        kafka: RealKafka,
        topic: str,
        group: str,
        found: ShareGroup,
        *,
        settle_mode: SenderSettleMode = SenderSettleMode.UNSETTLED,
        dead_letters: DeadLetters | None = None,
        spare_after_seconds: float = 1.0,
        leave_after_seconds: float = 10.0,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.log = ShareLog()
        self.peer = ShareReceiver()
        self.feed = ShareFeed(
            ShareFeedSettings(
                topic,
                share_groups.options(
                    kafka.bootstrap_servers, {}, group=group, fetch_bytes=1_000_000, on_error=no_error
                ),
                batch_records=100,
                hold_seconds=found.lock_seconds * share_groups.HOLD,
                end_wait_seconds=0.3,
                spare_after_seconds=spare_after_seconds,
                leave_after_seconds=leave_after_seconds,
                join_seconds=2.0,
            ),
            self.log,
        )
        rules = Redelivery(0.01, 0.05, attempts_max=10, releases_max=10)
        self.link = ShareLink(
            self.peer,
            choose(settle_mode, rejected="skip", redelivery=rules),
            ShareLimits(found.attempts_max),
            Surroundings(self.log, loop.call_later, dead_letters, {}),
            self.log,
            feed=self.feed,
            encode=encode,
        )
        self.peer.on_detach = self.link.close
        self.feed.start(self.link)
        self.link.opened()
        self.seen = 0

    def flow(self, credit: int, *, drain: bool = False) -> None:
        self.peer.link_credit = credit
        self.peer.drain = drain
        self.link.batch_ended()

    def fresh(self) -> list[ShareDelivery]:
        """Give the deliveries that came since the last call."""
        fresh = self.peer.delivered[self.seen :]
        self.seen += len(fresh)
        return fresh

    def accept(self, deliveries: list[ShareDelivery]) -> None:
        for delivery in deliveries:
            self.link.accepted(delivery)
        self.link.batch_ended()

    async def detach(self) -> None:
        self.peer.detached = True
        self.link.close()
        await asyncio.wait_for(self.feed.stopped, WAIT_SECONDS)
        assert not self.log.defects


class Tally:
    """What became of records, by partition and offset, whose receivers answer at random."""

    def __init__(self) -> None:
        self.accepted: Counter[tuple[int, int]] = Counter()
        self.dead: Counter[tuple[int, int]] = Counter()
        self._chance = random.Random(4)  # noqa: S311 - a test's own

    def dead_letters(
        self, record: ConsumedRecord, _letter: DeadLetter, told: Callable[[Failure | None], None]
    ) -> None:
        """Take a dead letter."""
        self.dead[record.partition() or 0, record.offset() or 0] += 1
        asyncio.get_running_loop().call_soon(told, None)

    def answer(self, attached: Attached) -> None:
        """Answer all that came, and give the credit back."""
        fresh = attached.fresh()
        for delivery in fresh:
            outcome = self._chance.choices([ACCEPTED, RELEASED, MODIFIED_FAILED, REJECTED], [60, 20, 10, 10])[
                0
            ]
            if outcome is ACCEPTED:
                self.accepted[delivery.partition, delivery.offset] += 1
                attached.link.accepted(delivery)
            else:
                attached.link.disposed(delivery, outcome)
        if fresh:
            attached.flow(attached.peer.link_credit + len(fresh))


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is true, and fail if it never is."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - it is told by several threads' doings
            await asyncio.sleep(0.01)


async def open_group(kafka: RealKafka, group: str) -> ShareGroup:
    found = await prepare(kafka, group)
    assert isinstance(found, ShareGroup)
    return found


def test_a_new_group_begins_where_it_is_told_to_and_reads_what_is_committed(quick_kafka: RealKafka) -> None:
    group = group_name()
    assert asyncio.run(prepare(quick_kafka, group)) == ShareGroup(30.0, 5)
    assert group_settings(quick_kafka, group) == ("earliest", "read_committed")


def test_what_operators_have_set_stays_and_is_told(quick_kafka: RealKafka) -> None:
    group = group_name()
    set_group(
        quick_kafka,
        group,
        auto_offset_reset="by_duration:PT1H",
        isolation_level="read_uncommitted",
        record_lock_duration_ms="20000",
        delivery_count_limit="7",
    )
    assert asyncio.run(prepare(quick_kafka, group)) == ShareGroup(20.0, 7)
    assert group_settings(quick_kafka, group)[0] == "by_duration:PT1H"


def test_three_receivers_that_take_return_and_refuse_at_random_lose_and_repeat_nothing(
    quick_kafka: RealKafka,
) -> None:
    records = 2000
    topic, group = quick_kafka.create_topic(partitions=2), group_name()
    for partition in range(2):
        for _ in range(20):
            quick_kafka.produce(topic, [b"x"] * (records // 40), partition=partition)
    tally = Tally()

    async def run() -> None:
        found = await open_group(quick_kafka, group)
        receivers = [
            Attached(quick_kafka, topic, group, found, dead_letters=tally.dead_letters) for _ in range(3)
        ]
        for attached in receivers:
            attached.flow(50)

        def finished() -> bool:
            for attached in receivers:
                tally.answer(attached)
            return len(tally.accepted) + len(tally.dead) >= records

        await until(finished)
        for attached in receivers:
            await attached.detach()
            assert attached.peer.delivered, "more receivers than partitions, and each gets records"
            assert not attached.log.unrecords
            assert not attached.log.skips
        # Nobody is given what was accepted or rejected.
        last = Attached(quick_kafka, topic, group, found)
        last.flow(10, drain=True)
        await until(lambda: last.peer.returned == 10)
        await last.detach()

    asyncio.run(run())
    assert len(tally.accepted) + len(tally.dead) == records
    assert not tally.accepted.keys() & tally.dead.keys()
    assert set(tally.accepted.values()) | set(tally.dead.values()) == {1}


def test_a_record_that_is_not_answered_in_time_goes_to_another_receiver(quick_kafka: RealKafka) -> None:
    topic, group = quick_kafka.create_topic(), group_name()
    quick_kafka.produce(topic, [b"x"])
    set_group(quick_kafka, group, record_lock_duration_ms="1500")

    async def run() -> None:
        found = await open_group(quick_kafka, group)
        slow, quick = (Attached(quick_kafka, topic, group, found) for _ in range(2))
        slow.flow(1)
        await until(lambda: bool(slow.peer.delivered))
        quick.flow(1)
        await until(lambda: bool(quick.peer.delivered))
        assert (quick.peer.delivered[0].failed, quick.peer.delivered[0].again) == (1, True)
        slow.accept(slow.peer.delivered)
        assert slow.log.late == [(0, ACCEPTED)]
        quick.accept(quick.peer.delivered)
        await until(lambda: quick.link.accepted_count == 1)
        assert slow.link.accepted_count == 0
        assert not slow.log.unrecords
        assert not quick.log.unrecords
        await slow.detach()
        await quick.detach()

    asyncio.run(run())


def test_detaching_keeps_what_was_accepted_and_gives_the_rest_back(quick_kafka: RealKafka) -> None:
    topic, group = quick_kafka.create_topic(), group_name()
    quick_kafka.produce(topic, [b"x"] * 4)

    async def run() -> None:
        found = await open_group(quick_kafka, group)
        first = Attached(quick_kafka, topic, group, found)
        first.flow(3)
        await until(lambda: len(first.peer.delivered) == 3)
        first.accept(first.peer.delivered[:2])
        await first.detach()
        assert first.log.ends == [(2, 1)], "what Kafka recorded after the detach counts"
        second = Attached(quick_kafka, topic, group, found)
        second.flow(4)
        await until(lambda: len(second.peer.delivered) == 2)
        assert {delivery.offset for delivery in second.peer.delivered} == {2, 3}
        second.accept(second.fresh())
        await second.detach()

    asyncio.run(run())


def test_settled_deliveries_are_recorded_before_they_are_sent(quick_kafka: RealKafka) -> None:
    topic, group = quick_kafka.create_topic(), group_name()
    quick_kafka.produce(topic, [b"x"] * 4)

    async def run() -> None:
        found = await open_group(quick_kafka, group)
        first = Attached(quick_kafka, topic, group, found, settle_mode=SenderSettleMode.SETTLED)
        first.flow(2)
        await until(lambda: len(first.peer.delivered) == 2)
        await first.detach()
        second = Attached(quick_kafka, topic, group, found)
        second.flow(4, drain=True)
        await until(lambda: second.peer.returned == 2)
        assert {delivery.offset for delivery in second.peer.delivered} == {2, 3}
        await second.detach()

    asyncio.run(run())


def test_a_record_that_takes_long_does_not_hold_up_the_link(quick_kafka: RealKafka) -> None:
    topic, group = quick_kafka.create_topic(), group_name()
    quick_kafka.produce(topic, [b"x"])

    async def run() -> None:
        found = await open_group(quick_kafka, group)
        attached = Attached(quick_kafka, topic, group, found, spare_after_seconds=0.1)
        attached.flow(10)
        await until(lambda: len(attached.peer.delivered) == 1)
        quick_kafka.produce(topic, [b"y"])
        await until(lambda: len(attached.peer.delivered) == 2)
        assert attached.feed.members == 2
        attached.accept(attached.fresh())
        await attached.detach()

    asyncio.run(run())


def test_a_link_without_credit_leaves_the_group_to_others(quick_kafka: RealKafka) -> None:
    topic, group = quick_kafka.create_topic(partitions=2), group_name()

    async def run() -> None:
        found = await open_group(quick_kafka, group)
        idle, other = (Attached(quick_kafka, topic, group, found, leave_after_seconds=0.2) for _ in range(2))
        idle.flow(1)
        assert idle.feed.members == 1
        idle.flow(0)
        await until(lambda: idle.feed.members == 0)
        for partition in range(2):
            quick_kafka.produce(topic, [b"x"], partition=partition)
        other.flow(2)
        while len(other.peer.delivered) < 2:
            # As they come: a consumer reads no other partition before all that it got is answered.
            await until(lambda: len(other.peer.delivered) > other.seen)
            other.accept(other.fresh())
        idle.flow(1)
        quick_kafka.produce(topic, [b"y"])
        await until(lambda: bool(idle.peer.delivered))
        idle.accept(idle.fresh())
        await idle.detach()
        await other.detach()

    asyncio.run(run())


def test_a_drain_is_answered_when_the_credit_outgrows_the_consumer_that_looks_for_the_end(
    quick_kafka: RealKafka,
) -> None:
    topic, group = quick_kafka.create_topic(), group_name()

    async def run() -> None:
        found = await open_group(quick_kafka, group)
        attached = Attached(quick_kafka, topic, group, found)
        attached.flow(1, drain=True)
        await asyncio.sleep(0)
        attached.flow(GROWTH, drain=True)
        await until(lambda: attached.peer.returned == GROWTH)
        await attached.detach()

    asyncio.run(run())


def test_what_a_consumer_that_has_left_would_have_told_is_not_recorded(quick_kafka: RealKafka) -> None:
    topic, group = quick_kafka.create_topic(), group_name()
    quick_kafka.produce(topic, [b"x"])

    async def run() -> None:
        found = await open_group(quick_kafka, group)
        attached = Attached(quick_kafka, topic, group, found)
        attached.flow(1)
        await until(lambda: bool(attached.peer.delivered))
        [(member, _)] = attached.feed._batches.values()  # noqa: SLF001 - its thread ends by itself at defects alone
        member._lapses_at = -OWING_SECONDS  # noqa: SLF001 - as above
        member.stop()
        member._thread.join()  # noqa: SLF001 - as above
        attached.accept(attached.fresh())
        await until(lambda: bool(attached.peer.settled))
        assert attached.peer.overruled == {attached.peer.delivered[0]: RELEASED}
        assert attached.log.unrecords == [(0, "accept")]
        await attached.detach()
        assert attached.log.ends == [(0, 0)]

    asyncio.run(run())


def test_a_group_of_another_kind_is_refused_with_its_reason(quick_kafka: RealKafka) -> None:
    topic, group = quick_kafka.create_topic(), group_name()
    member = Consumer({"bootstrap.servers": quick_kafka.bootstrap_servers, "group.id": group})
    member.subscribe([topic])

    async def run() -> None:
        while not member.assignment():
            member.poll(0.1)
        found = await open_group(quick_kafka, group)
        attached = Attached(quick_kafka, topic, group, found)
        attached.flow(1)
        await until(lambda: attached.peer.detached)
        assert attached.peer.condition is not None
        assert attached.peer.condition.name == conditions.PRECONDITION_FAILED
        assert "not a share group" in attached.peer.condition.description
        await asyncio.wait_for(attached.feed.stopped, WAIT_SECONDS)

    try:
        asyncio.run(run())
    finally:
        member.close()


def test_an_old_broker_is_told_from_a_new_one() -> None:
    failure = Failure(
        "UNSUPPORTED_VERSION",
        35,
        "Kafka: Broker: API version not supported (UNSUPPORTED_VERSION)",
        conditions.PRECONDITION_FAILED,
        retriable=True,
        stored=Stored.NO,
    )
    told = share_groups.read(failure)
    assert told.condition == conditions.NOT_IMPLEMENTED
    assert told.description.startswith("these brokers offer no share groups")
    assert not told.retriable


def test_what_operators_set_for_other_receivers_does_not_stop_share_consumers() -> None:
    passed = {"isolation.level": "read_committed", "session.timeout.ms": "6000", "group.protocol": "classic"}
    share_groups.check(
        share_groups.options("127.0.0.1:9", passed, group="orders", fetch_bytes=1_000_000, on_error=no_error)
    )


def test_options_that_librdkafka_refuses_are_told() -> None:
    options = share_groups.options("127.0.0.1:9", {}, group="orders", fetch_bytes=1_000, on_error=no_error)
    with pytest.raises(ValueError, match=r"fetch\.max\.bytes"):
        share_groups.check({**options, "fetch.max.bytes": -5})
