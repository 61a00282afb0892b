"""Receivers that come and go at random, over a cluster whose brokers are killed: no record is passed over.

The receivers are at two bridges, which share the work as the members of one group of Kafka's do.
"""

from __future__ import annotations

import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka.admin import AdminClient
from support.journal import Journal, Marks
from support.kafka import OwnKafka
from support.population import Living, Population
from support.processes import peak_bytes
from support.receiving import Manner
from support.service import Service
from support.soak import WHOLE, cases, scaled
from support.soak_records import CommittedWatch, DeadLetterWatch, Production

from bridge.devkafka import DevKafka, DevKafkaError
from bridge.devkafka.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SEED: Final = 20_260_102
BROKERS: Final = scaled(3, 1)
PARTITIONS: Final = 10
RECORDS: Final = scaled(500_000, 5_000)
SHARED_RECORDS: Final = scaled(100_000, 2_000)
RECEIVERS: Final = scaled(20, 10)
KILLS: Final = scaled(2, 1)
LIFE_SECONDS: Final = scaled(60.0, 20.0)
LIFE_MESSAGES: Final = scaled(20_000, 800)
AHEAD: Final = scaled(30_000, 2_000)
"""How many records there may be that nobody has got yet."""
QUIET_SECONDS: Final = scaled(5.0, 1.0)
"""How long nothing comes when all is said."""
MIB: Final = 1 << 20

QUICK: Final = {
    # Members of the newer groups hear of their partitions with a heartbeat, by default every 5 seconds.
    f"group.{kind}.{key}": "300"
    for kind in ("consumer", "share")
    for key in ("heartbeat.interval.ms", "min.heartbeat.interval.ms")
} | {f"group.{kind}.assignment.interval.ms": "0" for kind in ("consumer", "share")}


@pytest.fixture(scope="module")
def cluster() -> Iterator[OwnKafka]:
    """Give brokers, of which the tests of this module kill one; it is back before each test's end."""
    try:
        find_java()
    except DevKafkaError as error:
        pytest.skip(str(error))
    with DevKafka(brokers=BROKERS, extra_properties=scaled({}, QUICK)) as started:
        yield OwnKafka(started)


@contextmanager
def two_bridges(folder: Path, kafka: OwnKafka, options: dict[str, str]) -> Iterator[list[Service]]:
    """Run two replicas of the bridge."""
    given = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "kafka.reconnect.backoff.max.ms": "500",
        **options,
    }
    with ExitStack() as stack:
        services = []
        for number in (1, 2):
            service = Service(folder / f"service-{number}.log", given)
            stack.callback(service.kill)
            services.append(service)
        for service in services:  # they start at the same time
            service.await_start()
        yield services
        for service in services:
            service.stop()


def manner(chance: random.Random) -> Manner:
    """Choose how a receiver behaves: most answer at once, some slowly and in no order, some return a few."""
    return Manner(
        credit=chance.randint(1, 500),
        haste=chance.choice((1.0, 1.0, 0.5, 0.1)),
        returns=chance.choice((0.0, 0.0, 0.03)),
    )


def coordinator(kafka: OwnKafka, group: str) -> int:
    """Tell which broker coordinates a group: whose death its members notice most."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    described = admin.describe_consumer_groups([group])[group].result()
    return int(described.coordinator.id)


def run_through_kills(
    kafka: OwnKafka, broker: int, population: Population, marks: Marks, done: Callable[[], bool]
) -> None:
    """Let receivers live until all is done; at equal distances a broker is killed, and restarted."""
    with ThreadPoolExecutor(1) as executor:
        for kill in range(1, KILLS + 1):
            mark = marks.size * kill // (KILLS + 1)
            population.run(lambda mark=mark: marks.records >= mark)  # type: ignore[misc] # mypy knows no defaults here
            kafka.cluster.kill(broker)
            restarted = executor.submit(kafka.cluster.restart, broker)
            population.run(restarted.done)
            restarted.result()
    population.run(done)


@pytest.mark.parametrize("protocol", cases(["classic", "consumer"], sample=["consumer"]))
def test_every_record_is_accepted_and_no_unaccepted_one_is_passed(
    cluster: OwnKafka, tmp_path: Path, protocol: str
) -> None:
    topic = cluster.create_topic(partitions=PARTITIONS)
    group = f"group-{uuid.uuid4().hex[:8]}"
    journal = Journal(PARTITIONS, RECORDS // PARTITIONS)
    began = time.monotonic()
    with (
        two_bridges(tmp_path, cluster, {"kafka.consumer.group.protocol": protocol}) as bridges,
        Production(cluster.bootstrap_servers, topic, journal, ahead=AHEAD) as production,
        CommittedWatch(cluster.bootstrap_servers, group, topic, journal) as watch,
        Population(
            journal, [bridge.amqp_port for bridge in bridges], living(topic, "group.id", group)
        ) as population,
    ):
        population.run(lambda: journal.accepted.records > 0)
        broker = coordinator(cluster, group)
        run_through_kills(
            cluster, broker, population, journal.accepted, lambda: production.is_done and watch.is_done()
        )
        peaks = [peak_bytes(bridge.process_id) // MIB for bridge in bridges]
        population.leave()
    print(  # noqa: T201 - for pytest -s
        f"{report(journal, population)}; {watch.answers} looks at the offsets;"
        f" {time.monotonic() - began:.0f} s; at most {peaks} MiB"
    )
    assert watch.passed == []
    assert journal.accepted.records == journal.total == RECORDS
    assert cluster.committed(group, topic) == dict.fromkeys(range(PARTITIONS), RECORDS // PARTITIONS)
    assert population.ended_by_bridge == {}


@pytest.mark.skipif(not WHOLE, reason="make soak runs it; test_kafka_share.py has a small one")
def test_every_record_of_a_share_group_is_accepted_once_or_is_a_dead_letter(
    cluster: OwnKafka, tmp_path: Path
) -> None:
    topic = cluster.create_topic(partitions=PARTITIONS // 2)
    cluster.create_topic(f"{topic}.dlt", partitions=PARTITIONS // 2)
    group = f"share-{uuid.uuid4().hex[:8]}"
    journal = Journal(PARTITIONS // 2, SHARED_RECORDS * 2 // PARTITIONS)
    options = {"kafka.share.enabled": "true", "sink.dead.letter.topic": "{topic}.dlt"}
    began = time.monotonic()
    with (
        two_bridges(tmp_path, cluster, options) as bridges,
        Production(cluster.bootstrap_servers, topic, journal, ahead=AHEAD) as production,
        DeadLetterWatch(cluster.bootstrap_servers, f"{topic}.dlt", journal) as watch,
        Population(
            journal,
            [bridge.amqp_port for bridge in bridges],
            living(topic, "share", group, rejects=0.02, waits=True),
        ) as population,
    ):
        run_through_kills(
            cluster, 1, population, journal.settled, lambda: production.is_done and watch.is_done()
        )
        population.run(population.was_quiet_for(QUIET_SECONDS))
        peaks = [peak_bytes(bridge.process_id) // MIB for bridge in bridges]
        population.leave()
    # The bridges are stopped: all ends of links are reported.
    ended = [event for bridge in bridges for event in bridge.events("link ended")]
    recorded = sum(event["accepted"] for event in ended)
    unrecorded = sum(event["unrecorded"] for event in ended)
    late = sum(event["late"] for event in ended)
    twice = journal.settled.more_than(1)
    said = journal.settled.records + journal.settled.repeats()
    both = journal.settled.common(journal.buried)
    print(  # noqa: T201 - for pytest -s
        f"{report(journal, population)}; delivered so often: {journal.delivered.histogram()};"
        f" {journal.buried.records} dead letters, {journal.buried.repeats()} more of the same,"
        f" {both} also accepted;"
        f" {recorded} accepts recorded, of which receivers were told {said};"
        f" {unrecorded} answers not recorded, {late} too late, {len(twice)} accepted twice;"
        f" {time.monotonic() - began:.0f} s; at most {peaks} MiB"
    )
    assert journal.accepted.either(journal.buried) == journal.total == SHARED_RECORDS
    assert twice == [], "what the bridge settles without a word of its own is recorded"
    assert population.ended_by_bridge == {}


def living(topic: str, kind: str, group: str, **ways: Any) -> Living:  # noqa: ANN401 - fields of `Manner`
    """Say how the receivers of a group live: as many, as long, and as well-behaved as this module has it."""
    return Living(
        address=f"{topic}/{kind}/{group}",
        chance=random.Random(SEED),  # noqa: S311 - no secret
        manner=lambda chance: replace(manner(chance), **ways),
        size=RECEIVERS,
        seconds=LIFE_SECONDS,
        messages=LIFE_MESSAGES,
    )


def report(journal: Journal, population: Population) -> str:
    """Say what came to pass, in numbers."""
    returned = journal.returned.records + journal.returned.repeats()
    rejected = journal.rejected.records + journal.rejected.repeats()
    repeats = journal.delivered.repeats() - returned
    return (
        f"{journal.total} records, {journal.deliveries} deliveries, {returned} returned by receivers,"
        f" {rejected} rejected, {repeats} repeats beside, {journal.accepted.repeats()} accepted again;"
        f" receivers left {dict(population.left)}"
    )
