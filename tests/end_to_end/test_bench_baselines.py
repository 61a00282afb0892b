from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Final

import pytest
from click.testing import CliRunner
from proton import Message, int32
from support import load

from bench.baselines import kafka_alone
from bench.programs import Servers
from bench.topics import Topics
from bridge.devkafka.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.kafka import RealKafka

MIB: Final = 1 << 20
LARGE: Final = {"max.message.bytes": str(4 * MIB)}
NAIVE_SOURCE_MAPS: Final = "naive_source --mapping"
NAIVE_SINK_MAPS: Final = "naive_sink --mapping"
SERVERS: Final = (
    *("bare_source", "naive_source", NAIVE_SOURCE_MAPS),
    *("bare_sink", "naive_sink", NAIVE_SINK_MAPS),
)
SIZES: Final = ((300, 100), (4, 65_536), (1, 3 * MIB))
"""How many messages of how many bytes; one of the last has far more than a frame."""


@pytest.fixture(scope="module")
def ports(kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    """Give the ports of all servers; each has to end in good order."""
    found = dict(zip(SERVERS, free_ports(len(SERVERS)), strict=True))
    with Servers(tmp_path_factory.mktemp("baselines")) as servers:
        started = []
        for name, port in found.items():
            module, *options = name.split()
            arguments = ("--bootstrap", kafka.bootstrap_servers, "--port", port, *options)
            started.append(servers.start(f"bench.baselines.{module}", *arguments))
        for server in started:
            server.await_ready_line()
        yield found
        for server in started:
            server.ask_to_stop()
        for server in started:
            server.await_end()


@pytest.fixture(scope="module")
def filled(kafka: RealKafka) -> str:
    """Give a topic with messages of all sizes."""
    topic = kafka.create_topic(config=LARGE)
    topics = Topics(kafka.bootstrap_servers)
    for count, size in SIZES:
        topics.fill(topic, count, size, "bare")
    return topic


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        *(
            (name, mode)
            for name in ("bare_source", "naive_source")
            for mode in ("settled", "unsettled", "mixed")
        ),
        (NAIVE_SOURCE_MAPS, "unsettled"),
    ],
)
def test_what_is_sent_is_in_kafka(kafka: RealKafka, ports: dict[str, int], source: str, mode: str) -> None:
    topic = kafka.create_topic(config=LARGE)
    expected = []
    for count, size in SIZES:
        with load.Sender(ports[source], topic, count=count, size=size, mode=mode) as sender:
            sender.run()
        expected += [sender.body(number) for number in range(count)]
        settled = {"settled": count, "unsettled": 0, "mixed": count // 2}[mode]
        assert sender.states.count(load.SETTLED) == settled
        assert sender.states.count(load.ACCEPTED) == count - settled
    # What is settled is not waited for: it may still be on its way, and overtake what is not.
    found: list[bytes | None] = []
    while len(found) < len(expected):
        found = [record.value() for record in kafka.records(topic)]
    assert sorted(map(bytes, filter(None, found))) == sorted(expected)
    if mode == "unsettled":
        assert found == expected


@pytest.mark.parametrize("source", ["bare_source", "naive_source"])
def test_what_kafka_refuses_is_not_accepted(kafka: RealKafka, ports: dict[str, int], source: str) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "1000"})
    with load.Sender(ports[source], topic, count=3, size=2000) as sender:
        sender.run()
    assert sender.states == bytes([0x25] * 3)
    assert not kafka.records(topic)


@pytest.mark.parametrize(
    ("sink", "mode"),
    [
        *((name, mode) for name in ("bare_sink", "naive_sink") for mode in ("settled", "unsettled")),
        (NAIVE_SINK_MAPS, "unsettled"),
    ],
)
def test_what_is_in_kafka_is_received(
    kafka: RealKafka, ports: dict[str, int], filled: str, sink: str, mode: str
) -> None:
    values = [record.value() for record in kafka.records(filled)]
    address = f"{filled}/group.id/{uuid.uuid4()}"
    with load.Receiver(ports[sink], address, count=len(values), mode=mode, keep=True) as receiver:
        receiver.run()
    messages = [decoded(payload) for payload in receiver.payloads]
    assert [message.body for message in messages] == values
    if sink != "naive_sink":
        place: dict[Any, object] = dict(messages[-1].annotations or {})
        assert place["x-opt-bridge.topic"] == filled
        assert place["x-opt-bridge.partition"] == int32(0)
        assert place["x-opt-bridge.offset"] == len(values) - 1


def decoded(payload: bytes) -> Message:
    message = Message()
    message.decode(payload)
    return message


def test_kafka_alone_produces_and_consumes_what_it_is_told(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    produced = said(kafka, topic, "produce", "--size", "100", "--shape", "typical", "--rate", "10000")
    records = kafka.records(topic)
    assert len(records) == 300 + kafka_alone.WARM_UP
    assert [len(record) for record in records] == [100] * len(records)
    assert dict(records[-1].headers() or ())["message-id"]
    assert (produced["messages"], produced["bytes"]) == (300, 30_000)
    assert produced["outcomes"] == {"accepted": 300}
    assert produced["latency_ms"]["p50"] > 0

    consumed = said(kafka, topic, "consume")
    assert (consumed["messages"], consumed["bytes"]) == (300, 30_000)
    assert produced.keys() < consumed.keys()


def said(kafka: RealKafka, topic: str, command: str, *options: str) -> dict[str, Any]:
    where = ["--bootstrap", kafka.bootstrap_servers, "--topic", topic, "--messages", "300"]
    result = CliRunner().invoke(kafka_alone.main, [command, *where, *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found
