from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

from support.consumer_link import until

from bridge.config import Settings
from bridge.config.routes import Routes
from bridge.endpoints.sinks import STOLEN, SinkEndpoints
from bridge.kafka.catalog import Topic
from bridge.model.links import AttachRequest, ReceiverSettleMode, SenderSettleMode

NOBODY: Final = "127.0.0.1:1"
REQUEST: Final = AttachRequest(
    container_id="client",
    link_name="subscription",
    peer_sends=False,
    address="orders/group.id/workers",
    snd_settle_mode=SenderSettleMode.MIXED,
    rcv_settle_mode=ReceiverSettleMode.FIRST,
    durable=True,
)


class Link:
    """A receiver's link, as the endpoints see it."""

    def __init__(self) -> None:
        self.request = REQUEST
        self.ended = False
        self.reason = None
        self.opened = False
        self.reasons: list[object] = []
        self.machine: Any = None

    def open(self, machine: object, *_: object, **__: object) -> None:
        self.machine = machine
        self.opened = True

    def detach(self, condition: object) -> None:
        self.reasons.append(condition)
        self.ended = True
        self.machine.close()

    def forget_handler(self) -> None:
        self.machine = None

    def credit(self) -> int:
        return 0

    def draining(self) -> bool:
        return False


class SlowCatalog:
    """Answers when it is told to; each topic is there."""

    def __init__(self) -> None:
        self.answer = asyncio.Event()
        self.answer.set()

    async def topic(self, name: str) -> Topic:
        await self.answer.wait()
        return Topic(name, 1)


async def attached(endpoints: SinkEndpoints, *links: Link) -> None:
    connection: Any = SimpleNamespace(connection_id=1)
    asked: list[Any] = list(links)
    assert [await endpoints.attach(connection, link) for link in asked] == [None] * len(links)


def test_a_static_member_is_stolen_by_its_next_attach_unless_that_has_ended_meanwhile() -> None:
    async def test() -> None:
        catalog = SlowCatalog()
        clients: Any = SimpleNamespace(bootstrap_servers=NOBODY, catalog=catalog, offsets=None)
        settings = Settings()
        endpoints = SinkEndpoints(settings, clients, Routes(), lambda *_: None)
        first, gone, second = Link(), Link(), Link()
        await attached(endpoints, first)
        assert first.opened

        catalog.answer.clear()
        attaching = asyncio.create_task(attached(endpoints, gone))
        await asyncio.sleep(0)
        gone.ended = True
        catalog.answer.set()
        await attaching
        assert not gone.opened
        assert not first.ended, "nobody is there who could take its place"

        await attached(endpoints, second)
        assert first.reasons == [STOLEN]
        assert second.opened
        second.detach(STOLEN)
        await endpoints.stopped(30)

    asyncio.run(test())


def test_a_link_that_has_ended_is_freed_with_its_consumer_and_without_the_garbage_collector() -> None:
    async def test() -> None:
        clients: Any = SimpleNamespace(bootstrap_servers=NOBODY, catalog=SlowCatalog(), offsets=None)
        defaults = Settings()
        # What commits on time looks once more whether the link has ended.
        settings = replace(defaults, sink=replace(defaults.sink, commit_interval_ms=1))
        endpoints = SinkEndpoints(settings, clients, Routes(), lambda *_: None)
        link = Link()
        await attached(endpoints, link)
        machine = weakref.ref(link.machine)
        gc.disable()
        try:
            link.detach(STOLEN)
            assert link.machine is None
            await endpoints.stopped(30)
            await until(lambda: machine() is None)
        finally:
            gc.enable()

    asyncio.run(test())
