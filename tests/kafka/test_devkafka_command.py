from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from support.kafka import RealKafka
from support.processes import await_end, children

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COMMAND = [sys.executable, "-c", "from bridge.devkafka.command import devkafka; devkafka()"]
_SECONDS = 60.0


@contextmanager
def _running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, int]]:
    """Run the command; give its process, the first line it printed, and its broker's process id."""
    with subprocess.Popen(  # noqa: S603 - a constant command
        _COMMAND,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        try:
            assert command.stdout is not None
            first_line = command.stdout.readline()  # or nothing, when the command has failed
            (broker,) = children(command.pid)
            yield command, first_line.rstrip("\n"), broker
        finally:
            command.kill()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_the_address_and_runs_until_it_is_told_to_end(
    tmp_path: Path, ending: signal.Signals
) -> None:
    with _running(tmp_path) as (command, address, broker):
        kafka = RealKafka(address)
        kafka.produce(kafka.create_topic(), [b"value"])

        command.send_signal(ending)
        rest_of_output, messages = command.communicate(timeout=_SECONDS)

        assert command.returncode == 0
        assert rest_of_output == ""
        assert "Ctrl-C ends it" in messages
        await_end(broker)
        assert list(tmp_path.iterdir()) == []


def test_killed_with_kill_9_it_leaves_no_broker(tmp_path: Path) -> None:
    with _running(tmp_path) as (command, _address, broker):
        command.kill()
        command.wait(_SECONDS)

        await_end(broker)


def test_it_ends_when_its_only_broker_does(tmp_path: Path) -> None:
    with _running(tmp_path) as (command, _address, broker):
        os.kill(broker, signal.SIGKILL)
        _output, messages = command.communicate(timeout=_SECONDS)

        assert command.returncode == 1
        assert "Kafka broker 1 ended" in messages
        assert list(tmp_path.iterdir()) == []
