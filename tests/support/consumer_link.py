"""A link, as far as its consumer knows it, for the tests of consumers."""

from __future__ import annotations

import asyncio
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from bridge.kafka import settings
from bridge.kafka.asking import OffsetAsker
from bridge.kafka.consumer import ConsumerFeed
from bridge.kafka.contract import FeedSettings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from support.kafka import RealKafka

    from bridge.kafka.contract import Offsets
    from bridge.model.failures import Failure

LIMIT_SECONDS: Final = 60.0
QUICK: Final = MappingProxyType({"heartbeat.interval.ms": "100"})
"""Members learn of a change in their group with a heartbeat: every 3 seconds by default."""
PLENTY: Final = 1 << 20


def ignore(_client: str, _name: str, _text: str, _fatal: bool) -> None:  # noqa: FBT001 - ErrorSink
    """Take an error's report."""


class Link:
    """A link, as far as its consumer knows it: keeps what it is told, and asks for what the test says."""

    def __init__(
        self,
        kafka: RealKafka,
        topic: str,
        options: Mapping[str, str] = QUICK,
        *,
        feed: type[ConsumerFeed] = ConsumerFeed,
        group: str | None = None,
        instance_id: str | None = None,
        **fields: Any,  # noqa: ANN401 - fields of FeedSettings
    ) -> None:
        self.partitions: set[int] = set()
        self.values: list[bytes] = []
        self.commits: list[dict[int, int]] = []
        self.commits_refused: list[dict[int, int]] = []
        self.failures: list[Failure] = []
        self.broken: list[Exception] = []
        self.rebalances: list[tuple[str, list[int]]] = []
        self.when_consumed: Callable[[], None] = lambda: None
        self.when_revoking: Callable[[Callable[[], None]], None] = lambda drained: drained()
        self.to_commit_on_revoke: dict[int, int] = {}
        self.generations: dict[int, int] = {}
        self.ends_reached: list[tuple[int, int]] = []
        self.resets: list[tuple[int, int, int]] = []
        servers = kafka.bootstrap_servers
        consumer_options = settings.consumer(
            servers,
            options,
            group=group or topic,
            queue_bytes=PLENTY,
            on_error=ignore,
            instance_id=instance_id,
        )
        given = {"buffer_bytes": PLENTY, "revoke_wait_seconds": LIMIT_SECONDS, "commit_first": False}
        asker = OffsetAsker(settings.asking(servers, {}, on_error=ignore), LIMIT_SECONDS)
        self.feed = feed(FeedSettings(topic, consumer_options, **{**given, **fields}), self, asker)
        self.feed.start(self)

    def assigned(self, partitions: Sequence[int], generation: int) -> None:
        assert all(generation > old for old in self.generations.values())
        self.generations |= dict.fromkeys(partitions, generation)
        self.partitions |= set(partitions)

    def consumed(self, records: Sequence[Any]) -> None:
        assert {record.partition() for record in records} <= self.partitions
        self.when_consumed()
        self.values += [record.value() for record in records]

    def revoking(self, _partitions: Sequence[int], drained: Callable[[], None]) -> None:
        self.when_revoking(drained)

    def revoked(self, partitions: Sequence[int]) -> Offsets:
        self.partitions -= set(partitions)
        wanted = self.to_commit_on_revoke
        return self.fenced({number: wanted[number] for number in partitions if number in wanted})

    def lost(self, partitions: Sequence[int]) -> None:
        self.partitions -= set(partitions)

    def committed(self, offsets: dict[int, int]) -> None:
        self.commits.append(offsets)

    def reached_end(self, token: int) -> None:
        self.ends_reached.append((token, len(self.values)))

    def failed(self, failure: Failure) -> None:
        self.failures.append(failure)

    def commit_failed(self, offsets: dict[int, int], _failure: Failure) -> None:
        self.commits_refused.append(offsets)

    def rebalanced(self, kind: str, partitions: Sequence[int]) -> None:
        self.rebalances.append((kind, list(partitions)))

    def reset(self, partition: int, offset: int, to: int) -> None:
        self.resets.append((partition, offset, to))

    def broke(self, error: Exception) -> None:
        self.broken.append(error)

    def fenced(self, offsets: Mapping[int, int]) -> Offsets:
        """Give offsets with the generation of their assignment."""
        return {number: (self.generations[number], offset) for number, offset in offsets.items()}

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Have these committed."""
        self.feed.commit(self.fenced(offsets))

    async def end_reached(self, token: int) -> int:
        """Ask for the end; gives how many records were there when it was told."""
        self.feed.find_end(token)
        await until(lambda: token in dict(self.ends_reached))
        return dict(self.ends_reached)[token]

    async def stop(self, offsets: Mapping[int, int] | None = None) -> None:
        """Leave the group, and see that it is done."""
        self.feed.stop(self.fenced(offsets or {}))
        await asyncio.wait_for(asyncio.shield(self.feed.stopped), LIMIT_SECONDS)


async def until(happened: Callable[[], bool]) -> None:
    """Wait for it."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not happened():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test on an event loop, not for ever."""

    async def bounded() -> None:
        await asyncio.wait_for(test(), LIMIT_SECONDS)

    asyncio.run(bounded())
