from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from support.service import running_service

from bench.load.crowd import Crowd, CrowdOptions
from bench.load.errors import LoadError
from bench.load.receiving import ReceiveOptions, Receiving
from bench.load.sending import Sending, SendOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.kafka import RealKafka

    from bench.load.blocks import Mode

ROOT: Final = Path(__file__).parents[2]
MESSAGES: Final = 1000
WINDOW_BYTES: Final = 1 << 17
"""Of a session: two frames, so that a large message passes over the window many times."""


@pytest.fixture(scope="module")
def port(kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Give the port of a bridge whose credit and windows are small."""
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "amqp.prefetch.credit": "100",
        "amqp.manual.credit": "100",
        "amqp.session.window.bytes": str(WINDOW_BYTES),
    }
    with running_service(tmp_path_factory.mktemp("load") / "service.log", options) as running:
        yield running.amqp_port


def numbers(kafka: RealKafka, topic: str) -> list[int]:
    """Give the numbers of all messages that a topic holds, in order."""
    return sorted(int((record.value() or b"")[:12]) for record in kafka.records(topic))


@pytest.mark.parametrize(
    ("mode", "outcomes", "connections", "links", "shape"),
    [
        ("settled", 0, 1, 1, "bare"),
        ("unsettled", MESSAGES, 2, 3, "typical"),
        ("mixed", MESSAGES // 2, 1, 1, "bare"),
    ],
)
def test_every_message_is_in_kafka_once(
    kafka: RealKafka, port: int, mode: Mode, outcomes: int, connections: int, links: int, shape: str
) -> None:
    topic = kafka.create_topic()
    options = SendOptions(
        port, topic, MESSAGES, mode=mode, shape=shape, connections=connections, links=links, warm_up=10
    )
    sending = Sending(options)
    result = sending.run()

    assert sending.problems() == []
    assert sum(result["outcomes"].values()) == outcomes
    assert set(result["outcomes"]) <= {"accepted"}
    assert (result["latency_ms"] is None) == (mode == "settled")
    assert numbers(kafka, topic) == list(range(MESSAGES + 10))


def test_large_messages_pass_small_windows_both_ways(kafka: RealKafka, port: int) -> None:
    topic, size = kafka.create_topic(), 900_000
    Sending(SendOptions(port, topic, 3, size=size, mode="mixed")).run()
    assert numbers(kafka, topic) == [0, 1, 2]
    result = Receiving(ReceiveOptions(port, f"{topic}/group.id/large", 3, credit=2)).run()
    assert (result["messages"], result["bytes"]) == (3, 3 * size)


@pytest.mark.parametrize(("mode", "connections", "links"), [("settled", 1, 1), ("unsettled", 2, 2)])
def test_what_was_sent_is_received(
    kafka: RealKafka, port: int, mode: Mode, connections: int, links: int
) -> None:
    topic = kafka.create_topic(partitions=connections * links)
    Sending(SendOptions(port, topic, MESSAGES, shape="typical", connections=3, links=2)).run()
    group = f"{topic}/group.id/readers"
    receiving = Receiving(
        ReceiveOptions(port, group, MESSAGES, mode=mode, credit=50, connections=connections, links=links)
    )
    result = receiving.run()
    assert (result["messages"], result["bytes"]) == (MESSAGES, 100 * MESSAGES)
    assert result["outcomes"] == ({"accepted": MESSAGES} if mode == "unsettled" else {})
    assert result["first_message_seconds"] > 0


def test_a_rate_is_not_exceeded(kafka: RealKafka, port: int) -> None:
    topic = kafka.create_topic()
    sending = Sending(SendOptions(port, topic, 150, rate=1500, links=2))
    result = sending.run()
    # The first message goes at the start, and each further one not before its time.
    assert result["seconds"] >= 149 / 1500
    assert result["outcomes"] == {"accepted": 150}
    assert numbers(kafka, topic) == list(range(150))


def test_idle_links_are_attached_held_and_closed(kafka: RealKafka, port: int) -> None:
    result = Crowd(CrowdOptions(port, kafka.create_topic(), connections=70, links=2, seconds=0.0)).run()
    assert (result["connections"], result["links"]) == (70, 2)


def test_the_peers_refusal_ends_a_run_with_its_text(port: int) -> None:
    with pytest.raises(LoadError, match="amqp:not-found"):
        Sending(SendOptions(port, "no-such-topic", 1)).run()


def test_the_commands_print_one_line_of_json(kafka: RealKafka, port: int) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "1000"})

    def send(size: int) -> tuple[int, dict[str, Any], str]:
        command = [sys.executable, "-m", "bench.load", "send", "--messages", "5", "--address", topic]
        done = subprocess.run(  # noqa: S603 - the test's own arguments
            [*command, "--port", str(port), "--size", str(size)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        (line,) = done.stdout.splitlines()
        return done.returncode, json.loads(line), done.stderr

    code, result, errors = send(100)
    assert (code, errors) == (0, "")
    assert (result["messages"], result["bytes"], result["outcomes"]) == (5, 500, {"accepted": 5})
    assert set(result["latency_ms"]) == {"p50", "p90", "p99", "p999", "max"}
    assert result["started"] + result["seconds"] == pytest.approx(result["finished"])
    assert result["rate"] > 0
    assert result["cpu_seconds"] > 0
    code, result, errors = send(2000)
    assert (code, result["outcomes"]) == (1, {"rejected": 5})
    assert "MSG_SIZE_TOO_LARGE" in errors
