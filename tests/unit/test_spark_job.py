from __future__ import annotations

import json

from bridge.spark.job import Result


def test_the_table_has_a_line_for_each_topic_and_the_sum() -> None:
    result = Result({"orders": 1_234_567, "eu.alerts": 3}, files=12, seconds=10.0)
    assert result.table("lake").splitlines() == [
        "orders          1,234,567",
        "eu.alerts               3",
        "1,234,570 rows written to lake in 12 files, 10.0 s (123,457 rows/s)",
    ]


def test_nothing_written_is_said_too() -> None:
    assert Result({}, files=0, seconds=0.0).table("lake") == (
        "0 rows written to lake in 0 files, 0.0 s (0 rows/s)"
    )


def test_json_is_one_line() -> None:
    text = Result({"a": 1}, files=1, seconds=1.23456).to_json()
    assert "\n" not in text
    assert json.loads(text) == {"rows": {"a": 1}, "files": 1, "seconds": 1.235}
