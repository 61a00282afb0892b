"""The receivers' guide's Python runs as it stands, but for the port and the names of topics."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from support.repository import read
from support.service import LIMIT_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from end_to_end.conftest import StartService
    from support.kafka import RealKafka
    from support.service import Service

SNIPPETS: Final[list[str]] = re.findall(r"```python\n(.*?)```", read("docs/receivers.md"), re.DOTALL)


def snippet(mark: str, port: int, topic: str) -> str:
    """Give the snippet that has `mark` in it, for a port and a topic of the test's own."""
    [code] = [each for each in SNIPPETS if mark in each]
    own = code.replace(":5672", f":{port}").replace('"orders/', f'"{topic}/')
    assert own.count(topic) == 1
    return own


def run(mark: str, folder: Path, port: int, topic: str) -> list[str]:
    """Run a snippet as a program of its own; gives the lines that it prints."""
    program = folder / "snippet.py"
    program.write_text(snippet(mark, port, topic), "utf-8")
    finished = subprocess.run(  # noqa: S603 - the guide's
        [sys.executable, program], check=True, timeout=LIMIT_SECONDS, capture_output=True, text=True
    )
    return finished.stdout.splitlines()


def store(kafka: RealKafka, topic: str, texts: list[str]) -> None:
    """Store messages as the bridge does whose bodies are strings."""
    kafka.append(topic, [(None, text.encode(), (("amqp.body", b"value;string"),), 0) for text in texts])


def test_the_snippets_that_read(service: Service, kafka: RealKafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    store(kafka, topic, ["one coffee", "two teas", "three juices"])
    assert run("receiver.accept()", tmp_path, service.amqp_port, topic) == ["one coffee"]
    wait_until(lambda: kafka.committed("kitchen", topic) == {0: 1}, "the commit")
    assert run("x-opt-bridge.start", tmp_path, service.amqp_port, topic) == ["2"]
    assert run("$info", tmp_path, service.amqp_port, topic) == ["1 2"]


def test_the_receiver_that_goes_on_fails_and_rejects_as_it_says(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    dead = kafka.create_topic(f"{topic}.dlt")
    store(kafka, topic, ["one coffee", "one stone", "two teas"])
    service = start_service(kafka, sink_dead_letter_topic="{topic}.dlt")
    code = snippet("class Kitchen", service.amqp_port, topic)
    cold = '        print(order)\n        if "cold" not in vars(self):\n            self.cold = False\n'
    code = code.replace("        print(order)\n", f"{cold}            raise OSError\n")
    code = code.replace("body\n", "body\n        print(event.message.delivery_count, end=' ')\n")
    program = tmp_path / "snippet.py"
    program.write_text(code, "utf-8")
    command = [sys.executable, "-u", str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603 - the guide's
        try:
            wait_until(lambda: kafka.committed("kitchen", topic) == {0: 3}, "the commit")
        finally:
            running.terminate()
        said, _ = running.communicate(timeout=LIMIT_SECONDS)
    lines = said.splitlines()
    assert lines[0] == "0 one coffee"
    assert sorted(lines) == sorted(
        ["0 one coffee", "1 one coffee", "0 cannot be cooked: one stone", "0 two teas"]
    )
    (letter,) = kafka.records(dead)
    assert letter.value() == b"one stone"
    assert ("amqp.dlt.reason", b"rejected") in (letter.headers() or [])
