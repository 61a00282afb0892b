"""What a link's consumer works with, and what it tells its link and the operators. Shapes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure


class FeedEvents(Protocol):
    """What a consumer tells its link, on the event loop's thread."""

    def assigned(self, partitions: Sequence[int]) -> None:
        """Report partitions that are the link's from now on."""

    def consumed(self, records: Sequence[Any]) -> None:
        """Hand over records."""

    def revoking(self, partitions: Sequence[int], drained: Callable[[], None]) -> None:
        """Announce partitions that go away; `drained` is called when none of them is in flight."""

    def revoked(self, partitions: Sequence[int]) -> dict[int, int]:
        """Take partitions away; gives what to commit for them."""

    def lost(self, partitions: Sequence[int]) -> None:
        """Report partitions that somebody else has already."""

    def committed(self, offsets: dict[int, int]) -> None:
        """Report a commit that succeeded."""

    def failed(self, failure: Failure) -> None:
        """Report that the consumer cannot go on."""


class FeedLog(Protocol):
    """What a consumer tells operators, on the event loop's thread."""

    def commit_failed(self, offsets: dict[int, int], failure: Failure) -> None:
        """Report a commit that failed; the next one covers it."""

    def rebalanced(self, kind: str, partitions: Sequence[int]) -> None:
        """Report partitions that were assigned, revoked or lost."""

    def broke(self, error: Exception) -> None:
        """Report a defect that ended the link."""


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How a link's consumer works. `commit_first` commits records before they are handed over."""

    topic: str
    options: Options
    buffer_bytes: int
    revoke_wait_seconds: float
    commit_first: bool
