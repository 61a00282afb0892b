"""Answers receivers that attach to `<topic>/$info`, or `<topic>/group.id/<group>/$info`.

They are told what Kafka knows of the topic at that moment: nothing of it is remembered, and a receiver that
wants to know more attaches again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bridge.endpoints.contract import now_ms, refused_by_kafka
from bridge.kafka import settings as kafka_settings
from bridge.kafka.topic_info import TopicQuestions
from bridge.mapping import topic_info
from bridge.model.failures import Failure
from bridge.model.links import SenderSettleMode
from bridge.observability.links import SinkReporter
from bridge.sink import ending
from bridge.sink.info_link import InfoLink

if TYPE_CHECKING:
    from bridge.addressing import SinkAddress
    from bridge.amqp.links import OutgoingLink
    from bridge.amqp.listener import Connection
    from bridge.config import Settings
    from bridge.endpoints.contract import KafkaClients
    from bridge.model.conditions import Condition


class InformationEndpoints:
    """All links on which peers are told about topics."""

    def __init__(
        self, settings: Settings, clients: KafkaClients, on_kafka_error: kafka_settings.ErrorSink
    ) -> None:
        kafka = settings.kafka
        isolation = {**kafka.common, **kafka.consumer}.get("isolation.level", "")
        self._questions = TopicQuestions(
            kafka_settings.admin(clients.bootstrap_servers, kafka.common, on_error=on_kafka_error),
            kafka.metadata_timeout_ms,
            uncommitted=isolation.lower() == "read_uncommitted",
        )
        self._loop = asyncio.get_running_loop()

    async def attach(
        self, connection: Connection, link: OutgoingLink, address: SinkAddress, topic: str
    ) -> Condition | None:
        """Open a link on which Kafka's answer is sent, or give why not.

        `topic` is the one that the address's route makes of it, and exists. Waits for Kafka.
        """
        request = link.request
        asked_ms = now_ms()
        found = await self._questions.ask(topic, address.group)
        if isinstance(found, Failure):
            return refused_by_kafka(found, topic)
        messages = topic_info.messages(found, request.address or "", asked_ms)
        largest_bytes = max(map(len, messages), default=0)
        if 0 < request.max_message_size_bytes < largest_bytes:
            return ending.too_large(largest_bytes, request.max_message_size_bytes)
        if link.ended:
            return None
        reporter = SinkReporter(
            connection.connection_id, request.link_name, topic, self._loop, on_end=link.forget_handler
        )
        machine = InfoLink(
            link,
            messages,
            settles=request.snd_settle_mode is SenderSettleMode.SETTLED,
            ended=reporter.ended,
        )
        link.open(machine, browses=True)
        reporter.attached(request)
        machine.opened()
        return None
