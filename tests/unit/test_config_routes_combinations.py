from __future__ import annotations

from typing import Any

import pytest

from bridge.config import AmqpSettings, Settings, SinkSettings
from bridge.config.routes_combinations import beyond, contradictions, written

DEAD_LETTERS = Settings(sink=SinkSettings(dead_letter_topic="{topic}.dlt"))


@pytest.mark.parametrize(
    ("says", "keys"),
    [
        ({}, []),
        ({"dead_letter": "{topic}.dlt", "max_attempts": 3}, []),
        ({"dead_letter": "none", "rejected": "detach"}, []),
        ({"dead_letter": "NONE", "max_attempts": 3}, [("max_attempts", "dead_letter")]),
        ({"dead_letter": "{topic}.dlt", "rejected": "skip"}, [("rejected", "dead_letter")]),
        ({"match": "a", "dead_letter": "a"}, [("dead_letter", "topic")]),
        ({"match": "a", "topic": "b", "dead_letter": "a"}, []),
        ({"max_attempts": 3, "rejected": "skip"}, []),
        (
            {"mapping": "raw", "value": "json", "max_skew": "1s"},
            [("value", "mapping"), ("max_skew", "timestamp")],
        ),
    ],
)
def test_what_contradicts_each_other_is_named(says: dict[str, Any], keys: list[tuple[str, str]]) -> None:
    assert [found for found, _ in contradictions(says)] == keys


@pytest.mark.parametrize(
    ("says", "settings", "keys"),
    [
        ({"max_attempts": 3, "rejected": "skip"}, Settings(), ["max_attempts"]),
        ({"max_attempts": 3, "rejected": "skip"}, DEAD_LETTERS, ["rejected"]),
        ({"max_attempts": 3, "dead_letter": "graves"}, Settings(), []),
        ({"rejected": "skip", "dead_letter": "none"}, DEAD_LETTERS, []),
        ({"max_message_size": "1KiB"}, Settings(amqp=AmqpSettings(max_message_size_bytes=1024)), []),
        (
            {"max_message_size": 1025},
            Settings(amqp=AmqpSettings(max_message_size_bytes=1024)),
            ["max_message_size"],
        ),
    ],
)
def test_what_the_settings_do_not_allow_is_named(
    says: dict[str, Any], settings: Settings, keys: list[str]
) -> None:
    assert [found for found, _ in beyond(says, settings)] == keys


def test_values_are_written_on_one_line() -> None:
    assert written({"time": "1h", "count": 3, "all": True}) == "{time: 1h, count: 3, all: true}"
    assert written(["a", "b"]) == "[a, b]"
