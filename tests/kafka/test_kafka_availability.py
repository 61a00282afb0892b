from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from support.producing import Rig, run, until

from bridge.kafka import settings
from bridge.kafka.availability import KafkaAvailability
from bridge.kafka.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kafka import OwnKafka


def test_it_follows_a_broker_that_dies_and_comes_back(own_kafka: Callable[..., OwnKafka]) -> None:
    kafka = own_kafka()
    topic = kafka.create_topic()
    changes: list[bool] = []

    async def test() -> None:
        options = settings.admin(kafka.bootstrap_servers, {"log_level": "0"}, on_error=lambda *_: None)
        # So seldom that the first sign is librdkafka's word.
        availability = KafkaAvailability(Catalog(options, 20_000).reachable, check_seconds=20.0)
        availability.subscribe(changes.append)
        watch = asyncio.create_task(availability.watch())
        quick = {"log_level": "0", "reconnect.backoff.max.ms": "500"}
        rig = Rig(kafka.bootstrap_servers, options=quick, on_error=availability.kafka_said)
        assert rig.produce(topic, b"before") is None
        await rig.reports.await_answers(1)
        await until(lambda: changes == [True])

        kafka.cluster.kill()
        await until(lambda: changes == [True, False])
        assert rig.produce(topic, b"meanwhile") is None
        await asyncio.to_thread(kafka.cluster.restart)
        await rig.reports.await_answers(2)
        availability.stored()
        assert changes == [True, False, True]
        watch.cancel()

    run(test)
