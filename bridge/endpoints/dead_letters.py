"""Sends records that no receiver took to their dead-letter topic, with all that Kafka has to acknowledge.

What goes there is made by `bridge.mapping.dead_letter`. When a record goes there, and what happens if that
fails, the sink link decides: each call here is one try.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bridge.mapping.dead_letter import Origin, dead_letter_headers
from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure, Reach, Stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.config import Settings
    from bridge.config.routes import Route
    from bridge.endpoints.contract import KafkaClients
    from bridge.kafka.catalog import Topic
    from bridge.mapping.record import Headers
    from bridge.sink.ports import ConsumedRecord, DeadLetter, DeadLetters

_NO_TIMESTAMP: Final = 0
_NO_KEY: Final = Failure(
    "INVALID_RECORD",
    87,
    "the record has no key, and the dead-letter topic is compacted",
    conditions.PRECONDITION_FAILED,
    retriable=False,
    stored=Stored.NO,
)
_FAILED: Final = Failure(
    "_FAIL",
    -196,
    "the bridge failed to send a dead letter; its log says why",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.NO,
)


async def find(
    route: Route, settings: Settings, clients: KafkaClients, group: str | None
) -> DeadLetters | Condition | None:
    """Find, when a receiver attaches, where its dead letters go; None if it is to have none.

    `group` is that for which the link reads, None where there is none. A dead-letter topic that does not
    exist, or cannot be asked for, refuses the attach, with what is given here: found out only with the
    first dead letter, it would hold up the link. It is never created: how many partitions and replicas
    it is to have, and who may read it, its operators know. Raises AddressError where Kafka could have no
    topic of its name.
    """
    dead = route.dead_letter_topic(settings.sink.dead_letter_topic)
    if dead is None:
        return None
    info: dict[str, str | int | bool] = {"topic": route.topic, "dead-letter-topic": dead, "retriable": False}
    what = f"{dead!r}, the dead-letter topic of {route.topic!r} by {_option(route)},"
    if dead == settings.deduplication.topic:
        description = f"{what} is the bridge's own memory of what was stored (deduplication)"
        return Condition(conditions.PRECONDITION_FAILED, description, info)
    found = await clients.catalog.topic(dead)
    if not isinstance(found, Failure):
        return dead_letters(clients, dead, route.topic, group)
    if found.reach is Reach.TOPIC:
        description = (
            f"{what} does not exist; create it, best with as many partitions: kafka-topics.sh --create"
            f" --topic {dead} --partitions ..."
        )
        return Condition(conditions.PRECONDITION_FAILED, description, {**found.info(), **info})
    return Condition(found.condition, f"{what} cannot be used: {found.description}", {**info, **found.info()})


def _option(route: Route) -> str:
    """Name what chooses the dead-letter topic, for people."""
    return "sink.dead.letter.topic" if route.dead_letter is None else f"dead_letter of route {route.match!r}"


def dead_letters(clients: KafkaClients, dead: str, topic: str, group: str | None) -> DeadLetters:
    """Make what sends the dead letters of one link to the topic `dead`.

    `topic` and `group` are those of the link; None where it reads for no group. Records keep the number of
    their partition where the dead-letter topic has that many, else their key decides. They are stamped with
    the time at which they go there.

    A record whose failure says `Stored.PERHAPS` may be there twice when it is sent again. A failure that may
    pass is `retriable`; what is missing or forbidden is not, nor is a record that the topic does not take:
    too large, or without a key where the topic is compacted.
    """
    return _Sender(clients, dead, topic, group)


class _Sender:
    """Sends the dead letters of one link, in the order in which they are handed over."""

    def __init__(self, clients: KafkaClients, dead: str, topic: str, group: str | None) -> None:
        self._clients = clients
        self._dead = dead
        self._topic = topic
        self._group = group
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(
        self, record: ConsumedRecord, letter: DeadLetter, told: Callable[[Failure | None], None]
    ) -> None:
        task = self._loop.create_task(self._send(record, letter, told))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(
        self, record: ConsumedRecord, letter: DeadLetter, told: Callable[[Failure | None], None]
    ) -> None:
        try:
            # A producer keeps records of an unknown topic for some seconds: the catalog says so sooner.
            topic = await self._clients.catalog.topic(self._dead)
            refusal = topic if isinstance(topic, Failure) else self._hand_over(topic, record, letter, told)
        except Exception:  # a defect must not leave the record without an answer
            told(_FAILED)
            raise
        if refusal is not None:
            told(refusal)

    def _hand_over(
        self,
        topic: Topic,
        record: ConsumedRecord,
        letter: DeadLetter,
        told: Callable[[Failure | None], None],
    ) -> Failure | None:
        if topic.needs_key and record.key() is None:
            # Kafka would refuse it with all others that are in its batch.
            return replace(_NO_KEY, description=f"{_NO_KEY.description}: {topic.name}")
        pool = self._clients.pool
        partition = record.partition() or 0
        content = (
            topic.name,
            record.value(),
            record.key(),
            self._headers(record, letter),
            partition if partition < topic.partitions else ANY_PARTITION,
            ARRIVAL_TIME,
        )

        def reported(error: object, _message: object) -> None:
            failure = None if error is None else pool.classify(error)
            if failure is not None and failure.reach is Reach.BATCH:
                # For another record of its batch perhaps.
                failure = pool.alone("all").produce(*content, reported_alone)
                if failure is None:
                    return
            self._tell(told, failure)

        def reported_alone(error: object, _message: object) -> None:
            self._tell(told, None if error is None else pool.classify(error))

        return pool.get("all", topic.max_message_bytes).produce(*content, reported)

    def _tell(self, told: Callable[[Failure | None], None], failure: Failure | None) -> None:
        """Tell what was reported, when the reports of all others are through as well."""
        if failure is not None and failure.reach in {Reach.TOPIC, Reach.PARTITION}:
            self._clients.catalog.forget(self._dead)
        self._loop.call_soon(told, failure)

    def _headers(self, record: ConsumedRecord, letter: DeadLetter) -> Headers:
        kind, milliseconds = record.timestamp()
        origin = Origin(
            self._topic,
            record.partition() or 0,
            record.offset() or 0,
            None if kind == _NO_TIMESTAMP else milliseconds,
            self._group,
        )
        return dead_letter_headers(
            record.headers(),
            origin,
            reason=letter.reason.value,
            attempts=letter.attempts,
            condition=letter.condition,
            annotations=letter.annotations,
        )
