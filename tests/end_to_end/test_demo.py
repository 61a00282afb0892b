"""The demo as a stranger runs it: it ends well, it can be interrupted, and it leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from support.processes import command_line, is_running
from support.service import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_SECONDS: Final = 240.0
MARK: Final = "DEMO_TEST_MARK"


class Demo:
    """One `bridge demo`, whose processes are known by a variable in their environment."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._mark = f"{MARK}={folder}".encode()
        self._output = folder / "output.txt"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(  # noqa: S603 - the tests' own arguments
                [sys.executable, "-m", "bridge", "demo", *arguments],
                env={**os.environ, MARK: str(folder), "TMPDIR": str(self.temporary), "COLUMNS": "120"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def text(self) -> str:
        """Return what was printed so far."""
        return self._output.read_text("utf-8", errors="replace")

    def cells(self) -> dict[str, list[str]]:
        """Return the table's lines by their first cell, without the last one, which is a time."""
        lines = [re.findall(r"[^│\s]+", line) for line in self.text().splitlines() if line.startswith("│")]
        return {line[0]: line[1:-1] for line in lines}

    def await_text(self, text: str) -> None:
        """Wait until something was printed."""
        self._await(lambda: text in self.text(), text)

    def await_command(self, *words: str) -> None:
        """Wait until a process of the demo has these words in its command line."""
        self._await(
            lambda: any(all(word in command_line(pid) for word in words) for pid in self.left()), str(words)
        )

    def left(self) -> set[int]:
        """Return the processes that belong to the demo and still run."""
        found = set()
        for environment in Path("/proc").glob("[0-9]*/environ"):
            try:
                belongs = self._mark in environment.read_bytes().split(b"\0")
            except OSError:
                continue  # it has ended, or is somebody else's
            if belongs and is_running(int(environment.parent.name)):
                found.add(int(environment.parent.name))
        return found

    def _await(self, happened: Callable[[], bool], what: str) -> None:
        def happened_or_ended() -> bool:
            return happened() or self.process.poll() is not None

        wait_until(happened_or_ended, lambda: f"{what}: {self.text()}")
        assert self.process.poll() is None, self.text()


@pytest.fixture
def start_demo(tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    """Give a function that starts a demo with the given arguments."""
    started: list[Demo] = []

    def start(*arguments: str) -> Demo:
        started.append(Demo(tmp_path, *arguments))
        return started[-1]

    yield start
    for demo in started:
        for process_id in demo.left():
            os.kill(process_id, signal.SIGKILL)
        demo.process.wait()


def test_it_shows_that_every_message_arrived_everywhere(start_demo: Callable[..., Demo]) -> None:
    # More than two windows of credit: no sender gets through that leaves something unsettled.
    demo = start_demo("--messages", "2500")

    assert demo.process.wait(LIMIT_SECONDS) == 0, demo.text()
    assert demo.cells() == {
        "settled": ["2,500", "-", "2,500", "2,500", "2,500"],
        "unsettled": ["2,500"] * 5,
        "mixed": ["2,500", "1,250", "2,500", "2,500", "2,500"],
        "second": ["2,500"] * 5,
    }
    assert demo.left() == set()
    assert list(demo.temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_messages_are_sent_leaves_nothing_behind(
    start_demo: Callable[..., Demo], number: signal.Signals
) -> None:
    demo = start_demo("--messages", "1000000", "--no-spark")
    demo.await_text("Starting the bridge:")
    assert len(demo.left()) == 3  # Kafka, the bridge, and itself

    demo.process.send_signal(number)

    assert demo.process.wait(LIMIT_SECONDS) == 130, demo.text()
    assert "Interrupted" in demo.text()
    assert demo.left() == set()
    assert list(demo.temporary.iterdir()) == []


def test_a_signal_while_spark_runs_leaves_nothing_behind(start_demo: Callable[..., Demo]) -> None:
    demo = start_demo("--messages", "10")
    demo.await_command("java", "org.apache.spark")

    demo.process.send_signal(signal.SIGINT)

    assert demo.process.wait(LIMIT_SECONDS) == 130, demo.text()
    wait_until(lambda: not demo.left(), "the end of Spark's Java, which sees that its parent has ended")
    assert list(demo.temporary.iterdir()) == []


def test_killed_with_kill_9_it_leaves_no_process(start_demo: Callable[..., Demo]) -> None:
    demo = start_demo("--messages", "1000000", "--no-spark")
    demo.await_text("Starting the bridge:")

    demo.process.kill()
    demo.process.wait()

    wait_until(lambda: not demo.left(), "the end of all processes")
