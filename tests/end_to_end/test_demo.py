"""The demo as a stranger runs it: it ends well, it can be interrupted, and it leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from support.processes import is_running

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_SECONDS: Final = 150.0
MESSAGES: Final = 200
MARK: Final = "DEMO_TEST_MARK"


class Demo:
    """One `bridge demo`, whose processes are known by a variable in their environment."""

    def __init__(self, folder: Path) -> None:
        self.mark = f"{MARK}={folder}"
        self.folder = folder
        self.output = folder / "output.txt"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(  # noqa: S603 - a constant command
                [sys.executable, "-m", "bridge", "demo", "--messages", str(MESSAGES)],
                env={**os.environ, MARK: str(folder), "TMPDIR": str(folder), "COLUMNS": "120"},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def text(self) -> str:
        """Return what was printed so far."""
        return self.output.read_text("utf-8")

    def await_text(self, text: str) -> None:
        """Wait until something was printed."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while text not in self.text():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.05)

    def left(self) -> set[int]:
        """Return the processes that belong to the demo and still run."""
        found = set()
        for environment in Path("/proc").glob("[0-9]*/environ"):
            try:
                belongs = self.mark.encode() in environment.read_bytes().split(b"\0")
            except OSError:
                continue
            if belongs and is_running(int(environment.parent.name)):
                found.add(int(environment.parent.name))
        return found


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(tmp_path)
    yield demo
    for process_id in demo.left():
        os.kill(process_id, signal.SIGKILL)
    demo.process.wait()


def test_it_shows_that_every_message_arrived_everywhere(demo: Demo) -> None:
    code = demo.process.wait(LIMIT_SECONDS)
    text = demo.text()
    assert code == 0, text
    rows = {
        found[1]: [cell.strip() for cell in found[2].split("│")]
        for found in re.finditer(r"│ (\w+) +│(.*)│", text)
    }
    number = str(MESSAGES)
    assert {mode: cells[:5] for mode, cells in rows.items()} == {
        "settled": [number, "-", number, number, number],
        "unsettled": [number] * 5,
        "mixed": [number, str(MESSAGES // 2), number, number, number],
        "second": [number] * 5,
    }
    assert demo.left() == set()
    assert [path.name for path in demo.folder.iterdir()] == ["output.txt"]


@pytest.mark.parametrize(
    ("number", "moment"),
    [(signal.SIGTERM, "Starting the bridge:"), (signal.SIGINT, "Receiving second")],
)
def test_it_can_be_interrupted_and_leaves_no_process(demo: Demo, number: signal.Signals, moment: str) -> None:
    demo.await_text(moment)
    if moment == "Receiving second":
        # Spark is being started now: its JVM has to end as well.
        deadline = time.monotonic() + LIMIT_SECONDS
        while not any("ingest" in _command(process_id) for process_id in demo.left()):
            assert time.monotonic() < deadline, demo.text()
            time.sleep(0.05)
    assert len(demo.left()) > 1
    demo.process.send_signal(number)
    assert demo.process.wait(LIMIT_SECONDS) == 130, demo.text()
    assert demo.left() == set()


def _command(process_id: int) -> str:
    try:
        return Path(f"/proc/{process_id}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
