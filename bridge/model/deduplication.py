"""What is asked of the suppression of duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Deduplication:
    """How messages that are sent again are recognised, across connections and replicas.

    `by`: the message's own `message-id`, on the whole topic; or its `delivery-tag`, among those of the
    same container-id and link name. A message is remembered until `window_ms` have passed or
    `window_count` more have come on its link, whichever is first.
    """

    by: Literal["message-id", "delivery-tag"]
    window_ms: int = 3_600_000
    window_count: int = 10_000
