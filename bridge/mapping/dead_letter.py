"""A record that no receiver took, as it goes to the dead-letter topic.

Key, value and headers are those that it had, so that its readers read it as they would have read the
record. Behind them stands what became of it, as text:

| header | |
|---|---|
| `amqp.dlt.reason` | `rejected`, `undeliverable-here`, `max-attempts` or `message-size-exceeded` |
| `amqp.dlt.condition`, `.description` | what the receiver said when it rejected it; absent if it did not |
| `amqp.dlt.topic`, `.partition`, `.offset` | where the record is |
| `amqp.dlt.timestamp` | its timestamp, in milliseconds since 1970; absent if it has none |
| `amqp.dlt.attempts` | how often it was delivered |
| `amqp.dlt.group` | the group for which it was read; absent if there was none |
| `amqp.dlt.annotations` | what receivers wanted merged into its annotations, as an AMQP-encoded map |

A record that is a dead letter already, since it was read from a dead-letter topic, gets these headers
anew. What receivers annotated before stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.mapping.annotate import merge
from bridge.mapping.names import DEAD_LETTER_ANNOTATIONS, DEAD_LETTER_PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.mapping.record import Headers
    from bridge.model.conditions import Condition

DESCRIPTION_BYTES_MAX: Final = 1024
"""How much is kept of a condition's name and of its description, in bytes of UTF-8 each."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a dead letter comes from. `timestamp_ms` and `group` are None where there is none."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None = None
    group: str | None = None


def dead_letter_headers(
    stored: Sequence[tuple[str, bytes | None]] | None,
    origin: Origin,
    *,
    reason: str,
    attempts: int,
    condition: Condition | None = None,
    annotations: bytes = b"",
) -> Headers:
    """Give the headers of a dead letter from those of its record.

    `annotations` is an encoded AMQP map, or empty.
    """
    said = {"condition": condition.name, "description": condition.description} if condition else {}
    told: dict[str, str | int | None] = {
        "reason": reason,
        **{part: text for part, text in said.items() if text},
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "timestamp": origin.timestamp_ms,
        "attempts": attempts,
        "group": origin.group,
    }
    headers = [pair for pair in stored or () if not pair[0].startswith(DEAD_LETTER_PREFIX)]
    headers += [
        (DEAD_LETTER_PREFIX + part, _text(str(value))) for part, value in told.items() if value is not None
    ]
    earlier = dict(stored or ()).get(DEAD_LETTER_ANNOTATIONS) or b""
    merged = merge(earlier, annotations)
    if merged:
        headers.append((DEAD_LETTER_ANNOTATIONS, merged))
    return headers


def _text(said: str) -> bytes:
    encoded = said.encode(errors="replace")
    if len(encoded) <= DESCRIPTION_BYTES_MAX:
        return encoded
    return encoded[:DESCRIPTION_BYTES_MAX].decode(errors="ignore").encode()
