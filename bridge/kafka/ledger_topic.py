"""The topic of the deduplication ledger: found, or created, or the command that an operator has to run.

Never changes a topic that exists: one that would forget too early, or that is not compacted as it
should be, is refused with the command that repairs it.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from bridge.kafka import failures
from bridge.model import conditions
from bridge.model.failures import Failure, Stored

if TYPE_CHECKING:
    from bridge.kafka.ledger_contract import LedgerSettings

REQUEST_SECONDS: Final = 15.0
FOREVER: Final = "-1"


class LedgerTopic:
    """Looks the ledger up when it is first needed, and remembers how many partitions it has."""

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._asked: asyncio.Future[int | Failure] | None = None

    async def partitions(self) -> int | Failure:
        """Give the number of the ledger's partitions, or why it cannot be used.

        A failure is not remembered: the next link asks again.
        """
        asked = self._asked
        if asked is None:
            asked = self._asked = self._loop.create_future()
            # A daemon: the end of the process does not wait for Kafka's answer.
            thread = threading.Thread(target=self._ask, args=(asked,), name="ledger topic", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # the system gives no more threads
                asked.set_result(failures.classify_exception(error))
        answer = await asyncio.shield(asked)
        if isinstance(answer, Failure) and self._asked is asked:
            self._asked = None
        return answer

    def _ask(self, asked: asyncio.Future[int | Failure]) -> None:
        answer: int | Failure
        try:
            answer = self._find_or_create(AdminClient(self._settings.client))
        except Exception as error:  # noqa: BLE001 - handed over
            answer = failures.classify_exception(error)

        def tell() -> None:
            if not asked.done():
                asked.set_result(answer)

        with suppress(RuntimeError):  # the loop may be gone: the process ends without an answer
            self._loop.call_soon_threadsafe(tell)

    def _find_or_create(self, admin: AdminClient) -> int | Failure:
        partitions = self._count(admin)
        if partitions:
            return self._check(admin) or partitions
        settings = self._settings
        new = NewTopic(
            settings.topic,
            settings.partitions,
            settings.replication_factor,
            config=dict(settings.topic_config()),
        )
        try:
            admin.create_topics([new])[settings.topic].result(REQUEST_SECONDS)
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError.TOPIC_ALREADY_EXISTS:  # another replica was faster
                return self._count(admin) or settings.partitions
            failure = failures.classify_exception(error)
            if failure.retriable:
                return failure
            return self._refusal(failure, "cannot be created", self._create_command())
        return settings.partitions

    def _count(self, admin: AdminClient) -> int:
        topic = admin.list_topics(self._settings.topic, REQUEST_SECONDS).topics[self._settings.topic]
        if topic.error is None:
            return len(topic.partitions)
        if topic.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return 0
        raise KafkaException(topic.error)

    def _check(self, admin: AdminClient) -> Failure | None:
        """Refuse a topic that forgets before the windows end; where that may be read."""
        resource = ConfigResource(ResourceType.TOPIC, self._settings.topic)
        try:
            config = admin.describe_configs([resource])[resource].result(REQUEST_SECONDS)
        except KafkaException:
            return None
        policy = config["cleanup.policy"].value or ""
        retention = config["retention.ms"].value or FOREVER
        wrong = "delete" in policy and retention != FOREVER and int(retention) < self._settings.retention_ms
        if not wrong:
            return None
        failure = Failure(
            "INVALID_CONFIG",
            KafkaError.INVALID_CONFIG,
            f"it keeps entries for {retention} ms, the windows need {self._settings.retention_ms} ms",
            conditions.PRECONDITION_FAILED,
            retriable=False,
            stored=Stored.NO,
        )
        return self._refusal(failure, "forgets too early", self._alter_command())

    def _refusal(self, failure: Failure, what: str, command: str) -> Failure:
        return Failure(
            failure.kafka_error,
            failure.kafka_code,
            f"the deduplication ledger {self._settings.topic} {what} ({failure.description}); run: {command}",
            failure.condition,
            retriable=False,
            stored=Stored.NO,
        )

    def _create_command(self) -> str:
        settings = self._settings
        config = " ".join(f"--config {name}={value}" for name, value in settings.topic_config().items())
        return (
            "kafka-topics.sh --bootstrap-server SERVER --create"
            f" --topic {settings.topic} --partitions {settings.partitions} {config}"
        )

    def _alter_command(self) -> str:
        return (
            "kafka-configs.sh --bootstrap-server SERVER --alter --entity-type topics"
            f" --entity-name {self._settings.topic} --add-config retention.ms={self._settings.retention_ms}"
        )
