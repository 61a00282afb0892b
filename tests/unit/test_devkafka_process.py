from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from bridge.devkafka import process
from bridge.devkafka.errors import DevKafkaError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

_LIMIT_SECONDS = 20.0
_SHELL = "/bin/sh"


@pytest.fixture
def launcher() -> Iterator[process.Launcher]:
    launcher = process.Launcher()
    yield launcher
    launcher.close()


def _deadline(seconds: float = _LIMIT_SECONDS) -> float:
    return time.monotonic() + seconds


def test_output_is_appended_to_the_log(launcher: process.Launcher, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")

    running = launcher.spawn([_SHELL, "-c", "echo out; echo err >&2"], log)
    process.finish(running, deadline=_deadline(), name="it")

    assert log.read_text() == "before\nout\nerr\n"


def test_a_log_is_read_line_by_line_from_where_it_ended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    reader = process.LogReader(log)

    with log.open("a") as writer:
        writer.write("one\ntw")
        writer.flush()
        assert reader.new_lines() == ["one"]
        writer.write("o\n")
    assert reader.new_lines() == ["two"]
    assert reader.new_lines() == []


def test_a_process_is_ready_when_its_log_says_so(launcher: process.Launcher, tmp_path: Path) -> None:
    log = tmp_path / "log"
    reader = process.LogReader(log)
    running = launcher.spawn([_SHELL, "-c", "echo; echo now ready; exec sleep 60"], log)

    process.wait_for_line(running, reader, "ready", deadline=_deadline(), name="it")
    process.terminate(running, deadline=_deadline())

    assert running.returncode == -signal.SIGTERM


def test_the_last_words_of_a_process_count(launcher: process.Launcher, tmp_path: Path) -> None:
    log = tmp_path / "log"
    reader = process.LogReader(log)
    running = launcher.spawn([_SHELL, "-c", "echo ready"], log)
    running.wait(_LIMIT_SECONDS)

    process.wait_for_line(running, reader, "ready", deadline=_deadline(), name="it")


def test_a_process_that_ends_is_never_ready(launcher: process.Launcher, tmp_path: Path) -> None:
    log = tmp_path / "log"
    reader = process.LogReader(log)
    running = launcher.spawn([_SHELL, "-c", "exit 3"], log)

    with pytest.raises(DevKafkaError, match="it ended with exit code 3 before it was ready"):
        process.wait_for_line(running, reader, "ready", deadline=_deadline(), name="it")


def test_a_process_is_not_waited_for_forever(launcher: process.Launcher, tmp_path: Path) -> None:
    log = tmp_path / "log"
    reader = process.LogReader(log)
    running = launcher.spawn(["/bin/sleep", "60"], log)

    with pytest.raises(DevKafkaError, match="it was not ready in time"):
        process.wait_for_line(running, reader, "ready", deadline=_deadline(0), name="it")
    with pytest.raises(DevKafkaError, match="it did not end in time"):
        process.finish(running, deadline=_deadline(0), name="it")

    assert running.returncode == -signal.SIGKILL


def test_a_process_that_ignores_the_request_to_end_is_killed(
    launcher: process.Launcher, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    reader = process.LogReader(log)
    running = launcher.spawn([_SHELL, "-c", "trap '' TERM; echo ready; sleep 60"], log)
    process.wait_for_line(running, reader, "ready", deadline=_deadline(), name="it")

    process.terminate(running, deadline=_deadline(0))

    assert running.returncode == -signal.SIGKILL


def test_a_failure_is_an_error(launcher: process.Launcher, tmp_path: Path) -> None:
    running = launcher.spawn([_SHELL, "-c", "exit 4"], tmp_path / "log")

    with pytest.raises(DevKafkaError, match="it ended with exit code 4"):
        process.finish(running, deadline=_deadline(), name="it")


def test_a_child_outlives_the_thread_that_asked_for_it(launcher: process.Launcher, tmp_path: Path) -> None:
    log = tmp_path / "log"
    reader = process.LogReader(log)
    started: list[subprocess.Popen[bytes]] = []

    def ask() -> None:
        # It says that it is ready some time after the thread that asked for it has ended.
        command = [_SHELL, "-c", "sleep 0.2; echo ready; exec sleep 60"]
        started.append(launcher.spawn(command, log))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

    process.wait_for_line(started[0], reader, "ready", deadline=_deadline(), name="it")
    process.kill(started[0])


def test_no_child_outlives_its_launcher(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reader = process.LogReader(log)
    launcher = process.Launcher()
    running = launcher.spawn([_SHELL, "-c", "echo ready; exec sleep 60"], log)
    process.wait_for_line(running, reader, "ready", deadline=_deadline(), name="it")

    launcher.close()

    assert running.wait(_LIMIT_SECONDS) == -signal.SIGKILL


def test_a_log_that_cannot_be_written_is_the_callers_error(
    launcher: process.Launcher, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        launcher.spawn(["/bin/true"], tmp_path / "no folder" / "log")


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("one\ntwo\nthree\n")

    assert process.tail(log, lines=2) == "\n--- the end of server.log:\ntwo\nthree"
    assert process.tail(tmp_path / "none") == ""
