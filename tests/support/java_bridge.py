"""What the converters of the Java bridge made of messages and records: vectors in `java_bridge.json`.

Made by running its own classes, `AmqpDefaultMessageConverter` and `AmqpJsonMessageConverter` of version
0.22.3, on Java 17 with the libraries of that version (Proton-J 0.33.10, Vert.x 4.3.3, Jackson 2.13).
The messages were encoded by `bridge.codec`. Values are hexadecimal, JSON is as it is. Topic,
partition, offset and address of the records are those below.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOPIC: Final = "topic"
PARTITION: Final = 3
OFFSET: Final = 17
ADDRESS: Final = "topic/group.id/g"

_VECTORS: Final = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


@dataclass(frozen=True)
class ToRecord:
    """A message, and the value, key and partition (-1: none) of the record that it became."""

    message: bytes
    value: bytes
    key: bytes | None
    partition: int


@dataclass(frozen=True)
class ToMessage:
    """A record, and the message that it became."""

    key: bytes | None
    value: bytes
    message: bytes


def to_record(converter: str) -> dict[str, ToRecord]:
    """Return the vectors of one converter, `default` or `json`, by the names of their cases."""
    return {
        vector["case"]: ToRecord(
            bytes.fromhex(vector["message"]),
            vector["value"].encode() if converter == "json" else bytes.fromhex(vector["value"]),
            None if vector["key"] is None else vector["key"].encode(),
            -1 if vector["partition"] is None else vector["partition"],
        )
        for vector in _VECTORS["to_record"]
        if vector["converter"] == converter
    }


def to_message(converter: str) -> dict[str, ToMessage]:
    """Return the vectors of the other direction."""
    return {
        vector["case"]: ToMessage(
            None if vector["key"] is None else vector["key"].encode(),
            vector["value"].encode(),
            bytes.fromhex(vector["message"]),
        )
        for vector in _VECTORS["to_message"]
        if vector["converter"] == converter
    }
