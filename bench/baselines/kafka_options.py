"""The options that the bridge gives to librdkafka by default, taken from where the bridge has them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from bridge.kafka import settings

if TYPE_CHECKING:
    from bridge.kafka.settings import Options

MESSAGE_MAX_BYTES: Final = 16_777_216
"""`amqp.max.message.size.bytes`."""
READ_AHEAD_BYTES: Final = 4_194_304
"""`sink.buffer.bytes`."""


def producer(bootstrap: str, acks: str) -> Options:
    """Give the options of a producer; `acks` is "all", "1" or "0"."""
    return settings.producer(bootstrap, {}, acks=acks, message_max_bytes=MESSAGE_MAX_BYTES, on_error=_report)


def consumer(bootstrap: str, group: str) -> Options:
    """Give the options of a member of a group that begins at the earliest record."""
    return settings.consumer(bootstrap, {}, group=group, queue_bytes=READ_AHEAD_BYTES, on_error=_report)


def _report(client: str, name: str, description: str, _fatal: bool) -> None:  # noqa: FBT001 - an ErrorSink
    print(f"{client}: {name}: {description}", file=sys.stderr)
