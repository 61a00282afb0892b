"""What Kafka knows of a topic: its partitions, what they hold, and how far a group has come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition.

    `leader`, `replicas` and `in_sync_replicas` are numbers of brokers; `earliest` is the offset of the first
    record that is there, `latest` the one after the last that can be read, `committed` what the group reads
    next. None stands for what there is none of, or what Kafka does not tell: of a partition without a leader
    the offsets.
    """

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]
    earliest: int | None = None
    latest: int | None = None
    committed: int | None = None

    @property
    def lag(self) -> int | None:
        """How many offsets are ahead of the group; from the first record on where it committed nothing."""
        if self.earliest is None or self.latest is None:
            return None
        position = self.earliest if self.committed is None else max(self.committed, self.earliest)
        return max(0, self.latest - position)


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic, its partitions in their order, and the group whose offsets are in them, if one was named."""

    topic: str
    partitions: tuple[PartitionInfo, ...]
    group: str | None = None
