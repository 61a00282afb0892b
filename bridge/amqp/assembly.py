"""Messages of several frames on their way in, each put together in one buffer.

Proton would keep what has arrived in buffers of its own, and never free those; so it is taken out with every
frame. The buffers of a finished message serve the next one: a large block that is new costs more than what
is copied into it. A message begins with a small one though: one of which no more comes must not hold much
more than is counted of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from bridge.amqp.native import CData

FIRST_BYTES: Final = 1 << 17
SPARE_BYTES_MAX: Final = 1 << 22
"""A buffer that is no larger is kept for the next message: one, and one to begin with, for all links."""
SLACK: Final = 4
"""A message takes a buffer that is at most so many times as large as what has arrived of it."""

_new: Final = ffi.new_allocator(should_clear_after_alloc=False)
_recv: Final = lib.pn_link_recv

_first: list[CData] = []
_spare: list[tuple[CData, int]] = []


class Assembly:
    """What has arrived of one message. `len()` is its size in bytes."""

    __slots__ = ("_buffer", "_size", "capacity_bytes")

    def __init__(self) -> None:
        self._buffer: CData = _first.pop() if _first else _new("char[]", FIRST_BYTES)
        self.capacity_bytes = FIRST_BYTES
        """The size of the buffer."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def receive(self, pointer: CData, count: int) -> None:
        """Take `count` bytes of the current delivery of a link."""
        size = self._size
        if size + count > self.capacity_bytes:
            self._grow(size + count)
        taken = _recv(pointer, self._buffer + size, count)
        if taken > 0:
            self._size = size + taken

    def view(self) -> memoryview:
        """Show the message, until `release`."""
        return memoryview(ffi.buffer(self._buffer, self._size))

    def release(self) -> None:
        """Leave the buffer to another message. Nothing may be done with this object afterwards."""
        if self.capacity_bytes == FIRST_BYTES:
            _first[:] = (self._buffer,)
        elif not _spare and self.capacity_bytes <= SPARE_BYTES_MAX:
            _spare.append((self._buffer, self.capacity_bytes))

    def _grow(self, bytes_min: int) -> None:
        if _spare and bytes_min <= _spare[0][1] <= SLACK * bytes_min:
            larger, capacity = _spare.pop()
        else:
            capacity = max(bytes_min, 2 * self.capacity_bytes)
            larger = _new("char[]", capacity)
        ffi.memmove(larger, self._buffer, self._size)
        if self.capacity_bytes == FIRST_BYTES:
            _first[:] = (self._buffer,)
        self._buffer, self.capacity_bytes = larger, capacity
