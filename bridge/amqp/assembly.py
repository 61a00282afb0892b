"""Messages of several frames on their way in, each put together in one buffer.

Proton would keep what has arrived in buffers of its own, and never free those; so it is taken out with every
frame. The buffer of a finished message serves the next one: a large block that is new costs more than what
is copied into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from bridge.amqp.native import CData

FIRST_BYTES: Final = 1 << 17
SPARE_BYTES_MAX: Final = 1 << 22
"""A buffer that is no larger is kept for the next message, one for all links."""

_new: Final = ffi.new_allocator(should_clear_after_alloc=False)
_recv: Final = lib.pn_link_recv

_spare: list[tuple[CData, int]] = []


class Assembly:
    """What has arrived of one message. `len()` is its size in bytes."""

    __slots__ = ("_buffer", "_capacity", "_size")

    def __init__(self) -> None:
        self._buffer, self._capacity = _spare.pop() if _spare else (_new("char[]", FIRST_BYTES), FIRST_BYTES)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def receive(self, pointer: CData, count: int) -> None:
        """Take `count` bytes of the current delivery of a link."""
        size = self._size
        if size + count > self._capacity:
            self._grow(size + count)
        taken = _recv(pointer, self._buffer + size, count)
        if taken > 0:
            self._size = size + taken

    def view(self) -> memoryview:
        """Show the message, until `release`."""
        return memoryview(ffi.buffer(self._buffer, self._size))

    def release(self) -> None:
        """Leave the buffer to another message. Nothing may be done with this object afterwards."""
        if not _spare and self._capacity <= SPARE_BYTES_MAX:
            _spare.append((self._buffer, self._capacity))

    def _grow(self, bytes_min: int) -> None:
        self._capacity = max(bytes_min, 2 * self._capacity)
        larger = _new("char[]", self._capacity)
        ffi.memmove(larger, self._buffer, self._size)
        self._buffer = larger
