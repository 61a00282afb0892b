"""What the consumers of a share link work with, and what they tell their link and operators. Shapes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure


class ShareFeedEvents(Protocol):
    """What a share link's feed tells it, on the event loop's thread."""

    def consumed(self, number: int, records: Sequence[Any]) -> None:
        """Hand over a batch of records, all of which are to be acknowledged."""

    def acknowledged(self, ticket: int, failures: Mapping[int, Failure]) -> None:
        """Report Kafka's answer to an acknowledgement: for which partitions it failed, and why."""

    def unwanted(self, number: int) -> None:
        """Announce that others may want what is not in use of a batch, which came when nothing was wanted."""

    def lapsing(self, number: int) -> None:
        """Announce that Kafka will soon give what is unacknowledged of a batch to somebody else."""

    def reached_end(self, token: int) -> None:
        """Report that nothing came for a while, since `find_end` was asked with this token."""

    def failed(self, failure: Failure) -> None:
        """Report that the feed cannot go on."""


class ShareFeedLog(Protocol):
    """What a share link's feed tells operators, on the event loop's thread."""

    def unreadable(self, partition: int, offset: int, failure: Failure) -> None:
        """Report a record that librdkafka could not read, and has rejected or released by itself."""

    def broke(self, error: Exception) -> None:
        """Report a defect that ended the link."""


@dataclass(frozen=True, slots=True)
class ShareFeedSettings:
    """How the consumers of a share link work.

    `batch_records` is how many records are asked for at a time at most, `members_max` how many consumers the
    link may have. A batch is announced to be lapsing after `hold_seconds`, which is well within the duration
    of its locks. `end_wait_seconds` is for how long nothing may come before the end is reached. Another
    consumer is started when the others have been held up for `spare_after_seconds`, and one leaves the group
    of which nothing was wanted for `leave_after_seconds`. A new member may get its partitions only after
    `join_seconds`, with its second heartbeat, which brokers want every 5 seconds. A batch that comes when
    credit has gone is kept for `unwanted_seconds`.
    """

    topic: str
    options: Options
    batch_records: int
    hold_seconds: float
    end_wait_seconds: float
    members_max: int = 2
    spare_after_seconds: float = 1.0
    leave_after_seconds: float = 10.0
    join_seconds: float = 6.0
    unwanted_seconds: float = 1.0
