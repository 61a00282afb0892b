"""In processes of their own: logging is set up for a whole process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

FAILING = """
import logging, structlog
from bridge.observability import logging as ours
ours.configure("info", "FORM")
def fail():
    password = "hunter" + "2"
    raise ValueError("it failed")
try:
    fail()
except ValueError as error:
    structlog.get_logger().error("handler failed", exc_info=error)
    logging.getLogger("librdkafka").warning("from elsewhere")
"""


def _run(form: str, code: str = FAILING) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - a constant command
        [sys.executable, "-c", code.replace("FORM", form)], capture_output=True, text=True, check=True
    )


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_shows_no_values(form: str) -> None:
    result = _run(form)
    assert "ValueError" in result.stderr
    assert "it failed" in result.stderr
    assert "hunter2" not in result.stderr
    assert result.stdout == ""


def test_every_line_is_json_whoever_wrote_it() -> None:
    lines = [json.loads(line) for line in _run("json").stderr.splitlines()]
    assert [(line["event"], line["level"]) for line in lines] == [
        ("handler failed", "error"),
        ("from elsewhere", "warning"),
    ]
    assert all("time" in line for line in lines)


def test_a_line_that_cannot_be_written_is_lost_and_nothing_else() -> None:
    code = """
import os, structlog, sys
from bridge.observability import logging as ours
ours.configure("info", "json")
sys.stderr = open(os.open("/dev/full", os.O_WRONLY), "w", buffering=1)
structlog.get_logger().info("nobody reads this")
print("goes on", flush=True)
os._exit(0)
"""
    assert _run("json", code).stdout == "goes on\n"


def test_lines_of_a_worker_carry_its_number_whatever_thread_writes_them() -> None:
    code = """
import logging, structlog, threading
from bridge.observability import logging as ours
ours.configure("info", "json", 3)
def write():
    structlog.get_logger().info("from a thread")
    logging.getLogger("librdkafka").warning("from elsewhere")
    structlog.get_logger().info("of another one", worker=5)
thread = threading.Thread(target=write)
thread.start()
thread.join()
"""
    lines = [json.loads(line) for line in _run("json", code).stderr.splitlines()]
    assert [line["worker"] for line in lines] == [3, 3, 5]
