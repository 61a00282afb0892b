"""What was stored already: the window of a scope, and a link's own part of it.

A `Window` remembers the messages of one scope, as the ledger in Kafka tells of them: each until
`window_ms` have passed since it arrived, or `window_count` more have come on its link. A `Ledger` is
what one attached link does with it: it asks, names the entries to write, and learns what became of
them. Neither reads a clock, a topic or a socket; times are given in milliseconds since the epoch.

The same entry may be learnt twice, from the link that wrote it and from the topic, and the topic may be
read again: sequences, which only grow within a writer, and offsets, which only grow within the topic,
tell what is known.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final
from weakref import WeakSet, WeakValueDictionary

from bridge.source import ledger
from bridge.source.ledger import Claim, Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.model.deduplication import Deduplication
    from bridge.source.ledger import LinkName

SWEEP_MS: Final = 10_000
"""How often the memory of links that went away is looked through."""


class _Writer:
    """What one link has stored: its entries within the window, and the last of all its sequences."""

    __slots__ = ("entries", "latest")

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque()
        self.latest = -1


class Window:
    """The messages of one scope that are remembered.

    `position` is the offset in the ledger up to which it has learnt; -1 before it learnt anything.
    """

    def __init__(self, scope: bytes, options: Deduplication) -> None:
        if options.window_ms < 1 or not 1 <= options.window_count <= ledger.RING_MAX:
            raise ValueError(f"a window holds at least one message for a millisecond, not {options}")
        self.scope = scope
        self.key_prefix = ledger.key_prefix(scope)
        self.window_ms = options.window_ms
        self.window_count = options.window_count
        self.is_shared = options.by == "message-id"
        """Other links write into the scope as well."""
        self.position = -1
        self._entries: dict[bytes, Entry] = {}
        self._writers: dict[bytes, _Writer] = {}
        self._ledgers: WeakSet[Ledger] = WeakSet()
        self._swept_ms = 0

    def __len__(self) -> int:
        return len(self._entries)

    def learn(self, records: Iterable[tuple[int, bytes, bytes | None]], now_ms: int) -> None:
        """Learn from records of the ledger: offset, key and value, in the order of their offsets."""
        position = self.position
        for offset, key, value in records:
            if offset < position:
                continue
            position = offset + 1
            said = ledger.read(key, value) if key.startswith(self.key_prefix) else None
            if isinstance(said, Entry):
                self.remember(said, now_ms)
            elif said is not None:
                self._claimed(said)
        self.position = position

    def reached(self, offset: int) -> None:
        """Learn that nothing more was committed before this offset."""
        self.position = max(self.position, offset)

    def remember(self, entry: Entry, now_ms: int) -> None:
        """Learn that a message was stored."""
        writer = self._writers.get(entry.writer)
        if writer is None:
            writer = self._writers[entry.writer] = _Writer()
        if entry.sequence <= writer.latest:
            return
        writer.latest = entry.sequence
        writer.entries.append(entry)
        self._entries[entry.fingerprint] = entry
        self._forget(writer, now_ms)
        if now_ms - self._swept_ms >= SWEEP_MS:
            self._sweep(now_ms)

    def remembers(self, fingerprint: bytes, now_ms: int) -> bool:
        """Tell whether a message was stored within the window."""
        entry = self._entries.get(fingerprint)
        return entry is not None and now_ms - entry.time_ms <= self.window_ms

    def latest(self, writer: bytes) -> int:
        """Give the highest sequence that a writer is known to have stored; -1 for none."""
        known = self._writers.get(writer)
        return -1 if known is None else known.latest

    def writers(self) -> set[bytes]:
        """Name the links whose messages are remembered."""
        return set(self._writers)

    def join(self, member: Ledger) -> None:
        """Tell a link, as long as it lives, of claims to its name."""
        self._ledgers.add(member)

    def _claimed(self, claim: Claim) -> None:
        for member in list(self._ledgers):
            if member.writer == claim.writer:
                member.claimed(claim.token)

    def _forget(self, writer: _Writer, now_ms: int) -> None:
        entries, oldest_ms = writer.entries, now_ms - self.window_ms
        while entries and (len(entries) > self.window_count or entries[0].time_ms < oldest_ms):
            entry = entries.popleft()
            # Another link, or this one later, may have stored it again.
            if self._entries.get(entry.fingerprint) is entry:
                del self._entries[entry.fingerprint]

    def _sweep(self, now_ms: int) -> None:
        self._swept_ms = now_ms
        here = {member.writer for member in self._ledgers}
        for name, writer in list(self._writers.items()):
            self._forget(writer, now_ms)
            if not writer.entries and name not in here:
                del self._writers[name]


class Ledger:
    """One attached link's part of a window."""

    def __init__(self, window: Window, name: LinkName) -> None:
        self.window = window
        self.writer = name.writer
        self.description = str(name)
        self._next = 0
        self._tokens: list[bytes] = []
        self._was_owner = False
        self.has_claimed = False
        """The last claim was found in the ledger: all that came before it is known."""
        self.is_stolen = False
        """Another instance of the link has claimed it since."""
        window.join(self)

    def partition(self, partitions: int) -> int:
        """Choose the ledger's partition for the scope: always the same of so many."""
        return int.from_bytes(self.window.scope[:8], "big") % partitions

    def fingerprint(self, identity: bytes) -> bytes:
        """Give what stands for a message's identity."""
        return ledger.fingerprint(identity)

    def remembers(self, fingerprint: bytes, now_ms: int) -> bool:
        """Tell whether a message was stored before, within the window."""
        return self.window.remembers(fingerprint, now_ms)

    def sequence(self, now_ms: int) -> int:
        """Give the next message of the link its number.

        It goes on where the ledger's knowledge ends. Where there is none it begins at the time in
        microseconds, above whatever is too old to be read.
        """
        latest = self.window.latest(self.writer)
        if latest < 0 and not self._next:
            self._next = now_ms * 1000
        sequence = max(self._next, latest + 1)
        self._next = sequence + 1
        return sequence

    def write(self, sequence: int, time_ms: int, fingerprint: bytes) -> tuple[bytes, bytes]:
        """Encode the entry of a message: key and value."""
        window = self.window
        return ledger.write_entry(
            window.scope, Entry(self.writer, sequence, time_ms, fingerprint), window.window_count
        )

    def claim(self, token: bytes, now_ms: int) -> tuple[bytes, bytes]:
        """Claim the link's name: key and value to write. `token` is of 16 bytes, and never used again."""
        self._tokens.append(token)
        self.has_claimed = False
        return ledger.write_claim(self.window.scope, Claim(self.writer, token, now_ms, self.description))

    def claimed(self, token: bytes) -> None:
        """Take notice of a claim in the ledger."""
        if token in self._tokens:
            self._was_owner = True
            self.has_claimed = token == self._tokens[-1]
            self.is_stolen = False
        else:
            # Before its own first claim these are the claims of its predecessors.
            self.is_stolen = self._was_owner

    def remember(self, stored: Sequence[tuple[int, int, bytes]], now_ms: int) -> None:
        """Learn that messages of this link were stored: sequence, time and fingerprint of each."""
        for sequence, time_ms, fingerprint in stored:
            self.window.remember(Entry(self.writer, sequence, time_ms, fingerprint), now_ms)

    def has_stored(self, sequence: int) -> bool:
        """Tell whether the ledger knows the message of that number, or a later one, as stored.

        Messages are stored in order, so the later one will do.
        """
        return self.window.latest(self.writer) >= sequence


class Windows:
    """The windows that the links of this process use; those of one scope share one."""

    def __init__(self) -> None:
        self._windows: WeakValueDictionary[tuple[bytes, Deduplication], Window] = WeakValueDictionary()

    def ledger(self, name: LinkName, options: Deduplication) -> Ledger:
        """Make a link's ledger."""
        scope = name.scope(options)
        window = self._windows.get((scope, options))
        if window is None:
            window = self._windows[scope, options] = Window(scope, options)
        return Ledger(window, name)
