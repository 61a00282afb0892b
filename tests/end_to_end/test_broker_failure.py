from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from support import load
from support.service import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from end_to_end.conftest import StartService
    from support.kafka import OwnKafka

RECONNECT: Final = {"kafka_reconnect_backoff_max_ms": "1000"}


def test_a_killed_broker_loses_and_doubles_no_accepted_message(
    own_kafka: Callable[..., OwnKafka], start_service: StartService
) -> None:
    count = 20_000
    kafka = own_kafka()
    topic = kafka.create_topic(partitions=2)
    service = start_service(kafka, **RECONNECT)
    with load.Sender(service.amqp_port, topic, count=count) as sender, ThreadPoolExecutor(1) as executor:
        sender.run(until=lambda: sender.answered >= count // 4)

        kafka.cluster.kill()
        restarted = executor.submit(kafka.cluster.restart)
        finished = sender.run(until=restarted.done)
        restarted.result()

        assert not finished, "the broker was killed in the middle"
        sender.run()

    stored = Counter(record.value() for record in kafka.records(topic))
    accepted = sender.with_state(load.ACCEPTED)
    assert len(accepted) == count
    assert [body for body in accepted if stored[body] != 1] == []


def test_receivers_and_readiness_survive_a_killed_broker(
    own_kafka: Callable[..., OwnKafka], start_service: StartService
) -> None:
    count = 2_000
    kafka = own_kafka()
    topic = kafka.create_topic()
    kafka.produce(topic, [b"%d" % number for number in range(count)])
    service = start_service(kafka, **RECONNECT)
    wait_until(lambda: service.probe("/readyz") == (200, {"status": "ready"}), "readiness")
    address = f"{topic}/group.id/{topic}"
    with load.Receiver(service.amqp_port, address, count=count, credit=50, keep=True) as receiver:
        receiver.run(until=lambda: receiver.received >= count // 4)

        kafka.cluster.kill()
        wait_until(lambda: service.probe("/readyz")[0] == 503, "the end of readiness")
        assert service.probe("/readyz")[1]["problems"] == [f"no broker of {kafka.bootstrap_servers} answers"]
        assert service.probe("/healthz") == (200, {"status": "alive"})  # a restart would repair nothing

        kafka.cluster.restart()
        receiver.run()
        wait_until(lambda: service.probe("/readyz")[0] == 200, "readiness again")
        # What is sent again was on its way when the broker died; nothing is left out.
        numbers = [int(payload.rpartition(b"\xa0")[2][1:]) for payload in receiver.payloads]
        assert set(numbers) >= set(range(max(numbers)))
    wait_until(lambda: kafka.committed(topic, topic) == {0: max(numbers) + 1}, "the commit")
