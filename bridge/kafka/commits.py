"""What a link wants committed, fenced by the generation of each partition's assignment. No I/O.

The link adds offsets on the event loop's thread, its consumer takes them on its own. An offset counts for
the assignment under which its record was read: when the partition was taken away since, and perhaps given
back, somebody else may have committed more, and the offset is dropped.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.kafka.contract import Offsets


class PendingCommits:
    """The offsets that wait to be committed, and the partitions that are assigned.

    With `enabled` off nothing is ever committed. `add` is for both threads; all else is for the
    consumer's, but `partitions`, which anybody may read.
    """

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._lock = threading.Lock()
        self._pending: Offsets = {}
        self._generations: dict[int, int] = {}
        self._last_generation = 0
        self.partitions: frozenset[int] = frozenset()
        """What is assigned now; replaced, never changed."""

    def assign(self, partitions: Iterable[int]) -> int:
        """Begin a generation for these partitions, and give its number."""
        self._last_generation += 1
        with self._lock:
            self._generations |= dict.fromkeys(partitions, self._last_generation)
        self.partitions = frozenset(self._generations)
        return self._last_generation

    def end(self, partitions: Iterable[int]) -> None:
        """End the generation of these partitions: nothing is committed for it any more."""
        with self._lock:
            for partition in partitions:
                self._generations.pop(partition, None)
                self._pending.pop(partition, None)
        self.partitions = frozenset(self._generations)

    def add(self, offsets: Offsets) -> None:
        """Want these committed. Within a generation an offset does not go back."""
        if not self._enabled:
            return
        with self._lock:
            for partition, wanted in offsets.items():
                self._pending[partition] = max(wanted, self._pending.get(partition, wanted))

    def begin(self, partition: int, offset: int) -> None:
        """Want it committed that a partition, which is assigned, is read from here on."""
        generation = self._generations.get(partition)
        if generation is not None:
            self.add({partition: (generation, offset)})

    def take(self, partitions: Iterable[int] | None = None) -> Offsets:
        """Take what is to be committed now, of these partitions or of all."""
        with self._lock:
            chosen = tuple(self._pending) if partitions is None else partitions
            taken = {partition: self._pending.pop(partition, (0, 0)) for partition in chosen}
            return {
                partition: (generation, offset)
                for partition, (generation, offset) in taken.items()
                if generation and generation == self._generations.get(partition)
            }
