"""Messages of several frames on their way in, each put together in one buffer.

Proton would keep what has arrived in buffers of its own, and never free those; so it is taken out with every
frame. The buffers of a finished message serve the next one: a large block that is new costs more than what
is copied into it, and so does to grow step by step. A message begins with a small one though, and then takes
one in proportion: one of which no more comes must not hold much more than is counted of it. A single message
at a time is excepted, which is all that a busy sender needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import ref

from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from bridge.amqp.native import CData

FIRST_BYTES: Final = 1 << 17
SPARE_BYTES_MAX: Final = 1 << 22
"""A buffer that is no larger is kept for the next message: one, and one to begin with, for all links."""
SLACK: Final = 4
"""A buffer is in proportion that is at most so many times as large as what has arrived."""

_new: Final = ffi.new_allocator(should_clear_after_alloc=False)
_recv: Final = lib.pn_link_recv

_first: list[CData] = []
_spare: list[tuple[CData, int]] = []
_excepted: list[ref[Assembly]] = []
"""The message that took a buffer out of proportion, which it may have grown into by now."""


class Assembly:
    """What has arrived of one message. `len()` is its size in bytes."""

    __slots__ = ("__weakref__", "buffer", "capacity_bytes", "counted_bytes", "size_bytes")

    def __init__(self) -> None:
        self.buffer: CData = _first.pop() if _first else _new("char[]", FIRST_BYTES)
        """What has arrived is in its first `size_bytes`."""
        self.capacity_bytes = FIRST_BYTES
        """The size of the buffer."""
        self.size_bytes = 0
        self.counted_bytes = 0
        """How much of it the link's handler was told."""

    def __len__(self) -> int:
        return self.size_bytes

    def receive(self, pointer: CData, count: int) -> None:
        """Take `count` bytes of the current delivery of a link."""
        size = self.size_bytes
        if size + count > self.capacity_bytes:
            self._grow(size + count)
        taken = _recv(pointer, self.buffer + size, count)
        if taken > 0:
            self.size_bytes = size + taken

    def view(self) -> memoryview:
        """Show the message, until `release`."""
        return memoryview(ffi.buffer(self.buffer, self.size_bytes))

    def rest(self, start: int) -> Buffer:
        """Show the message from a byte on, until `release`."""
        rest: Buffer = ffi.buffer(self.buffer + start, self.size_bytes - start)
        return rest

    def release(self) -> None:
        """Leave the buffer to another message. Nothing may be done with this object afterwards."""
        if self.capacity_bytes == FIRST_BYTES:
            _first[:] = (self.buffer,)
        elif not _spare and self.capacity_bytes <= SPARE_BYTES_MAX:
            _spare.append((self.buffer, self.capacity_bytes))

    def _grow(self, bytes_min: int) -> None:
        if _spare and bytes_min <= _spare[0][1] and self._may_have(_spare[0][1], bytes_min):
            larger, capacity = _spare.pop()
        else:
            capacity = max(bytes_min, 2 * self.capacity_bytes)
            larger = _new("char[]", capacity)
        ffi.memmove(larger, self.buffer, self.size_bytes)
        if self.capacity_bytes == FIRST_BYTES:
            _first[:] = (self.buffer,)
        self.buffer, self.capacity_bytes = larger, capacity

    def _may_have(self, capacity_bytes: int, needed_bytes: int) -> bool:
        """Tell whether this message may take a buffer of such a size, and note it if it is the exception."""
        if capacity_bytes <= SLACK * needed_bytes:
            return True
        excepted = _excepted[0]() if _excepted else None
        if excepted is not None and excepted.capacity_bytes > SLACK * excepted.size_bytes:
            return False
        _excepted[:] = (ref(self),)
        return True
