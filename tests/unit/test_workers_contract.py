from __future__ import annotations

import json

import pytest

from bridge.config import Settings
from bridge.workers.contract import Assignment


def test_an_assignment_comes_through_as_it_was() -> None:
    assignment = Assignment(Settings(), "kafka:9092")
    assert Assignment.unpacked(json.loads(json.dumps(assignment.packed()))) == assignment


def test_a_worker_of_another_version_says_what_is_to_be_done() -> None:
    message = Assignment(Settings(), "kafka:9092").packed() | {"version": "0.0.1"}
    with pytest.raises(RuntimeError, match=r"updated from 0\.0\.1 to .* restart the service"):
        Assignment.unpacked(message)
