"""With real worker processes, and a Kafka that is not there: serving is another test's business."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from bridge.config import AmqpSettings, BridgeSettings, KafkaSettings, ManagementSettings, Settings
from bridge.observability.metrics_merging import FormerTotals
from bridge.workers.contract import Assignment, StartError
from bridge.workers.port import ReservedPort
from bridge.workers.slot import KILL_CHECKS, SILENT_CHECKS, Slot, State

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NOBODY = "127.0.0.1:1"
LIMIT_SECONDS = 60
SETTINGS = Settings(
    bridge=BridgeSettings(workers=2),
    kafka=KafkaSettings(common={"log_level": "0"}),
    management=ManagementSettings(enabled=False),
)


def run_with_slot(test: Callable[[Slot], Awaitable[None]], settings: Settings = SETTINGS) -> None:
    """Run a test with a slot whose checks come fast. What it starts ends with it."""

    async def run() -> None:
        with ReservedPort("127.0.0.1", 0) as reserved:
            given = replace(settings, amqp=AmqpSettings(port=reserved.port))
            slot = Slot(3, Assignment(given, NOBODY), FormerTotals(), check_seconds=0.02)
            try:
                async with asyncio.timeout(LIMIT_SECONDS):
                    await test(slot)
            finally:
                await slot.stop(LIMIT_SECONDS)

    asyncio.run(run())


async def until(happened: Callable[[], bool]) -> None:
    while not happened():  # noqa: ASYNC110 - it has no event to wait for
        await asyncio.sleep(0.01)


def process_of(slot: Slot) -> int:
    process = slot.described()["process"]
    assert isinstance(process, int)
    return process


def test_a_worker_that_is_killed_is_replaced_and_a_total_does_not_fall() -> None:
    async def test(slot: Slot) -> None:
        await slot.prepare()
        assert slot.described()["state"] == "starting"
        await slot.listen()
        supervision = asyncio.create_task(slot.supervise())
        await until(lambda: bool(slot.problems()) and "no broker" in slot.problems()[0])
        assert slot.state is State.RUNNING
        await slot.read_metrics()
        assert "bridge_connections" in {family.name for family in slot.families}
        first = process_of(slot)

        os.kill(first, signal.SIGKILL)
        await until(lambda: slot.state is State.RESTARTING)
        assert slot.problems() == ["it is being restarted, after SIGKILL"]
        await until(lambda: slot.state is State.RUNNING)
        assert slot.described() | {"process": 0} == {
            "worker": 3,
            "state": "running",
            "process": 0,
            "restarts": 1,
            "last_end": "SIGKILL",
        }
        assert process_of(slot) != first
        assert slot.families == (), "the new process has told nothing yet"

        assert await slot.stop(LIMIT_SECONDS)
        await supervision
        assert slot.described()["state"] == "ended"

    run_with_slot(test)


def test_a_worker_that_stands_still_is_named_and_then_killed() -> None:
    async def test(slot: Slot) -> None:
        await slot.prepare()
        await slot.listen()
        supervision = asyncio.create_task(slot.supervise())
        with capture_logs() as lines:
            os.kill(process_of(slot), signal.SIGSTOP)
            await until(lambda: slot.state is State.SILENT)
            assert slot.problems() == ["its event loop does not answer"]
            await until(lambda: slot.state is State.RESTARTING)
        assert [line["event"] for line in lines[:3]] == ["worker silent", "worker killed", "worker ended"]
        assert lines[2]["by"] == "SIGKILL"
        assert SILENT_CHECKS < KILL_CHECKS
        assert await slot.stop(LIMIT_SECONDS)
        await supervision

    run_with_slot(test)


def test_a_worker_that_cannot_start_says_why_and_with_which_code() -> None:
    async def test(slot: Slot) -> None:
        with pytest.raises(StartError, match="No such configuration property") as raised:
            await slot.prepare()
        assert raised.value.exit_code == 1

    run_with_slot(test, replace(SETTINGS, kafka=KafkaSettings(common={"foo": "1"})))


def test_a_worker_whose_routes_cannot_be_read_ends_with_the_code_for_that() -> None:
    async def test(slot: Slot) -> None:
        with pytest.raises(StartError, match="nowhere") as raised:
            await slot.prepare()
        assert raised.value.exit_code == 2

    run_with_slot(test, replace(SETTINGS, routes=replace(SETTINGS.routes, file="nowhere")))


def test_a_worker_that_has_not_begun_ends_at_once() -> None:
    async def test(slot: Slot) -> None:
        await slot.prepare()
        assert await slot.stop(LIMIT_SECONDS)
        assert slot.state is State.ENDED

    run_with_slot(test)
