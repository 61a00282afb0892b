from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from bridge.config import Settings
from bridge.config.routes import Routes
from bridge.endpoints import Endpoints, KafkaClients
from bridge.kafka import settings as kafka_settings
from bridge.kafka.asking import OffsetAsker
from bridge.kafka.availability import KafkaAvailability
from bridge.kafka.catalog import Catalog
from bridge.kafka.pool import PoolSettings, ProducerPool
from bridge.kafka.producers import ReportPump
from bridge.model.links import AttachRequest, ReceiverSettleMode, SenderSettleMode
from bridge.source.budget import ByteBudget

if TYPE_CHECKING:
    from bridge.model.conditions import Condition

NOBODY: Final = "127.0.0.1:1"


def clients() -> KafkaClients:
    """Make the clients of a Kafka that is not there."""
    pump = ReportPump(lambda _: None)
    pool = ProducerPool(
        PoolSettings(NOBODY, {"log_level": "0"}, message_max_bytes=1000), pump, lambda *_: None
    )
    options = kafka_settings.admin(NOBODY, {"log_level": "0"}, on_error=lambda *_: None)
    catalog = Catalog(options, 1000)
    offsets = OffsetAsker(kafka_settings.asking(NOBODY, {"log_level": "0"}, on_error=lambda *_: None), 1.0)
    return KafkaClients(NOBODY, pool, pump, catalog, KafkaAvailability(catalog.reachable), offsets)


def test_a_defect_in_an_attach_ends_that_link_alone_and_gives_nothing_away() -> None:
    told: list[Condition] = []
    no_text: Any = 5  # as if the engine had let it through
    request = AttachRequest(
        container_id="client",
        link_name="orders",
        peer_sends=False,
        address=no_text,
        snd_settle_mode=SenderSettleMode.MIXED,
        rcv_settle_mode=ReceiverSettleMode.FIRST,
    )
    link: Any = SimpleNamespace(request=request, ended=False, detach=told.append)
    connection: Any = SimpleNamespace(connection_id=1)

    async def attach() -> None:
        endpoints = Endpoints(Settings(), clients(), Routes(), ByteBudget(1 << 20), lambda *_: None)
        endpoints.attach(connection, link)
        async with asyncio.timeout(30):
            while not told:  # noqa: ASYNC110 - the attach has no event to wait for
                await asyncio.sleep(0.01)

    asyncio.run(attach())
    (condition,) = told
    assert condition.name == "amqp:internal-error"
    assert "log" in condition.description
    assert "int" not in condition.description.replace("internal", "")
