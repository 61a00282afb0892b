"""The senders' guide's Python runs as it stands, but for the port and the names of topics."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from support.repository import read
from support.service import LIMIT_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from end_to_end.conftest import StartService
    from support.kafka import RealKafka

SNIPPETS: Final = re.findall(r"```python\n(.*?)```", read("docs/senders.md"), re.DOTALL)


SETTLED: Final = "connection.wait(lambda: delivery.settled)\nconnection.close()"


def run(code: str, folder: Path, port: int, topic: str) -> None:
    """Run a snippet as a program of its own."""
    program = folder / "snippet.py"
    own = code.replace(":5672", f":{port}").replace('"payments/eu"', f'"{topic}"')
    program.write_text(own.replace('"orders")', f'"{topic}")'), "utf-8")
    subprocess.run([sys.executable, program], check=True, timeout=LIMIT_SECONDS)  # noqa: S603 - the guide's


def test_the_first_snippet_sends(kafka: RealKafka, start_service: StartService, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    service = start_service(kafka)
    run(SNIPPETS[0], tmp_path, service.amqp_port, topic)
    assert [record.value() for record in kafka.records(topic)] == [b"one coffee"]


def test_the_snippet_for_a_tombstone_makes_one(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic(config={"cleanup.policy": "compact"})
    service = start_service(kafka)
    [tombstone] = [code for code in SNIPPETS if "Sw" in code]
    whole = SNIPPETS[0].replace("sender.send(", "_ = (")
    assert whole.index("connection.close()") > 0
    run(whole.replace("connection.close()", tombstone + SETTLED), tmp_path, service.amqp_port, topic)
    (record,) = kafka.records(topic)
    assert (record.key(), record.value()) == (b"table-7", None)


def test_the_sender_that_sends_again_leaves_one_record_for_each_order(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    routes = tmp_path / "routes.yaml"
    routes.write_text(f'routes:\n  - {{match: "{topic}", deduplicate: message-id}}\n', "utf-8")
    service = start_service(kafka, routes_file=str(routes))
    [snippet] = [code for code in SNIPPETS if "class Orders" in code]
    for _ in range(2):  # the second time all is known
        run(snippet, tmp_path, service.amqp_port, topic)
    values = sorted(record.value() or b"" for record in kafka.records(topic))
    assert values == [b"one coffee", b"two teas"]
    ended = service.await_events("link ended", 2)
    assert [event["duplicates"] for event in ended] == [0, 2]
