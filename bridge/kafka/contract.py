"""What a link's consumer works with, and what it tells its link and the operators. Shapes only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure


Offsets: TypeAlias = dict[int, tuple[int, int]]
"""What to commit: by partition, the generation of its assignment and the offset to read next."""


class FeedEvents(Protocol):
    """What a consumer tells its link, on the event loop's thread."""

    def assigned(self, partitions: Sequence[int], generation: int) -> None:
        """Report partitions that are the link's from now on; `generation` numbers assignments, upwards."""

    def consumed(self, records: Sequence[Any]) -> None:
        """Hand over records."""

    def revoking(self, partitions: Sequence[int], drained: Callable[[], None]) -> None:
        """Announce partitions that go away; `drained` is called when none of them is in flight."""

    def revoked(self, partitions: Sequence[int]) -> Offsets:
        """Take partitions away; gives what to commit for them."""

    def lost(self, partitions: Sequence[int]) -> None:
        """Report partitions that somebody else has already."""

    def committed(self, offsets: dict[int, int]) -> None:
        """Report a commit that succeeded."""

    def reached_end(self, token: int) -> None:
        """Report that all was handed over that was there when `find_end` was asked with this token."""

    def failed(self, failure: Failure) -> None:
        """Report that the consumer cannot go on."""


class FeedLog(Protocol):
    """What a consumer tells operators, on the event loop's thread."""

    def commit_failed(self, offsets: dict[int, int], failure: Failure) -> None:
        """Report a commit that failed; the next one covers it."""

    def rebalanced(self, kind: str, partitions: Sequence[int]) -> None:
        """Report partitions that were assigned, revoked or lost."""

    def reset(self, partition: int, offset: int, to: int) -> None:
        """Report that an offset that was to be read is not there (any more), and where reading goes on.

        `to` is larger where retention, or a deletion of records, overtook the reader: it never got what
        was in between. It is smaller where the partition has lost its end, or begins anew.
        """

    def broke(self, error: Exception) -> None:
        """Report a defect that ended the link."""


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How a link's consumer works. `commit_first` commits records before they are handed over.

    `options` are those of `settings.consumer`; their `auto.offset.reset` says where a partition is read
    whose group has committed nothing, or whose offset is not there any more.

    `starts` are the offsets to begin at, by partition. As a member of the group the consumer begins there
    in partitions for which the group has committed nothing. With `assigned` it joins no group: it reads
    the partitions of `starts`: with `resumes` from what the group has committed, and from there where it
    has committed nothing; else from there in any case. `BEGINNING` stands for the first record.
    `commits` tells whether anything is committed at all; `end_wait_seconds` is how long `find_end` takes
    at most.
    """

    topic: str
    options: Options
    buffer_bytes: int
    revoke_wait_seconds: float
    commit_first: bool
    starts: Mapping[int, int] = field(default_factory=dict)
    assigned: bool = False
    resumes: bool = False
    commits: bool = True
    end_wait_seconds: float = 5.0


COMMITTED: Final = -1000
"""An offset that stands for what a group has committed (librdkafka's OFFSET_STORED)."""
BEGINNING: Final = -2
"""An offset that stands for the first record that is still there (librdkafka's OFFSET_BEGINNING)."""
