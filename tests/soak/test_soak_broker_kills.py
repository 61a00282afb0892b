from __future__ import annotations

from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest
from support.crowd import Crowd
from support.outbox import ACCEPTED, Outbox, identity
from support.service import running_service
from support.soak import cases, scaled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kafka import OwnKafka

COUNT: Final = scaled(1_000_000, 100_000)
KILLS: Final = scaled(5, 2)
LINKS: Final = 4
PARTITIONS: Final = 4

PATIENT: Final = {"kafka.reconnect.backoff.max.ms": "500"}
"""Records wait until the broker is back: every message is accepted as soon as that."""
IMPATIENT: Final = {**PATIENT, "kafka.producer.message.timeout.ms": "2000"}
"""Records are given up before the broker is back: their senders are told, and send again."""


@pytest.mark.parametrize(
    "options",
    cases(
        [pytest.param(PATIENT, id="patient"), pytest.param(IMPATIENT, id="impatient")],
        sample=[pytest.param(IMPATIENT, id="impatient")],
    ),
)
def test_what_was_accepted_is_stored_however_often_the_broker_is_killed(
    own_kafka: Callable[..., OwnKafka], tmp_path: Path, options: dict[str, str]
) -> None:
    kafka = own_kafka()
    topic = kafka.create_topic(partitions=PARTITIONS)
    outboxes = [Outbox(number, topic, count=COUNT // LINKS) for number in range(LINKS)]
    given = {"kafka.bootstrap.servers": kafka.bootstrap_servers, **options}
    with running_service(tmp_path / "service.log", given) as service, Crowd() as crowd:
        for outbox in outboxes:
            crowd.connect(service.amqp_port, [outbox])
        _send_while_the_broker_is_killed(kafka, crowd)
        assert service.events("link refused") == []

    deliveries = sum(outbox.deliveries for outbox in outboxes)
    outcomes = sum((outbox.outcomes for outbox in outboxes), Counter())
    assert sum(len(outbox.accepted) for outbox in outboxes) == COUNT
    assert sum(outcomes.values()) == deliveries, "every delivery has one outcome"
    assert (deliveries > COUNT) == (options is IMPATIENT), "messages are sent again only if told so"
    repeats = _check_stored(kafka, topic, outboxes)
    print(f"{COUNT} messages, {deliveries} deliveries, outcomes {dict(outcomes)}, {repeats} repeats")  # noqa: T201 - for pytest -s
    assert outcomes[ACCEPTED] == COUNT


def _send_while_the_broker_is_killed(kafka: OwnKafka, crowd: Crowd) -> None:
    """Send everything; at equal distances the broker is killed, and restarted while senders go on."""

    def accepted() -> int:
        return sum(len(outbox.accepted) for outbox in crowd.outboxes)

    with ThreadPoolExecutor(1) as executor:
        for kill in range(1, KILLS + 1):
            mark = COUNT * kill // (KILLS + 1)
            crowd.run(lambda mark=mark: accepted() >= mark)  # type: ignore[misc] # mypy knows no defaults here
            kafka.cluster.kill()
            restarted = executor.submit(kafka.cluster.restart)
            crowd.run(restarted.done)
            restarted.result()
            assert not crowd.is_done(), "the broker was killed in the middle"
        crowd.run(crowd.is_done)


def _check_stored(kafka: OwnKafka, topic: str, outboxes: list[Outbox]) -> int:
    """See that all messages are stored, each in order; return how many records are repeats.

    A message that its sender had to send again may be stored twice, and after later ones; no other may.
    """
    missing = [set(range(outbox.numbers)) for outbox in outboxes]
    last: defaultdict[tuple[int, int | None], int] = defaultdict(lambda: -1)
    repeats = 0
    for record in kafka.each_record(topic):
        owner, number = identity(record.value())
        if number in outboxes[owner].resent:
            repeats += number not in missing[owner]
        else:
            place = owner, record.partition()
            assert number > last[place], f"out of order or stored twice: message {number} of link {owner}"
            last[place] = number
        missing[owner].discard(number)
    assert [numbers for numbers in missing if numbers] == [], "accepted, and not stored"
    return repeats
