"""Large messages on their way to a receiver, given to proton a piece at a time.

Given one whole, proton keeps a copy of it, makes all of its frames at once where the session's window allows
it, and where it does not, moves what is left to the front of its buffer each time the window opens: for a
receiver with a window of a few frames the work grows with the square of the message's size. In pieces, what
proton holds of a message is bounded, whatever its size, and so is what it does for a frame. The last frame
of each piece is a short one.

The settled flag is on the last frame then, which is as good as on the first (core 2.7.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.amqp import hot_path
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from bridge.amqp.native import CData


class LargeMessage:
    """A message that proton has a part of; no other can be sent on its link until it has all of it."""

    def __init__(self, pointer: CData, tag: bytes, payload: bytes, *, settles: bool) -> None:
        self._pointer = pointer
        self._rest = memoryview(payload)
        self.delivery: CData = hot_path.begin(pointer, tag)
        self.settles = settles
        """It is to be settled when it has been sent."""

    def send_more(self) -> bool:
        """Give proton the next piece, if it has none; tells whether that was the last."""
        return not lib.pn_delivery_pending(self.delivery) and self._send(hot_path.PIECE_BYTES)

    def send_rest(self) -> None:
        """Give proton all of it, however large."""
        self._send(len(self._rest))

    def _send(self, count: int) -> bool:
        piece, self._rest = self._rest[:count], self._rest[count:]
        lib.pn_link_send(self._pointer, ffi.from_buffer(piece), len(piece))
        if self._rest:
            return False
        lib.pn_link_advance(self._pointer)
        if self.settles:
            hot_path.settle(self.delivery)
        return True
