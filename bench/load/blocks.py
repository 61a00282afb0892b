"""Blocks of transfer frames: many messages of one template, ready for the socket.

A block is a matrix of bytes with one message in each row, cut into as many frames as the peer's
max-frame-size asks for. All rows are made once; before each use only the columns that change are filled.
Source: AMQP 1.0 core, 2.7.5 (transfer), 2.6.14 (transfers of several frames).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from bench.load.errors import LoadError
from bench.load.frames import HEADER, HEADER_BYTES, TRANSFER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bench.load.messages import Template

Mode = Literal["settled", "unsettled", "mixed"]
BLOCK_BYTES: Final = 1 << 18
"""How large a block is, or as large as one message."""

_LIST_8: Final = 0xC0
_UINT: Final = 0x70
_BINARY_8: Final = 0xA0
_NULL: Final = 0x40
_ZERO: Final = 0x43
_TRUE: Final = 0x41
_FALSE: Final = 0x42
_WORD: Final = bytes(4)
_FIELDS_COUNT: Final = 6
# Handle, delivery-id, delivery-tag, message-format, settled, more: in the forms of fixed width.
_FIRST: Final = bytes((_UINT, *_WORD, _UINT, *_WORD, _BINARY_8, 4, *_WORD, _ZERO, _FALSE, _FALSE))
_NEXT: Final = bytes((_UINT, *_WORD, _NULL, _NULL, _NULL, _FALSE, _FALSE))
_BEFORE_FIELDS: Final = HEADER_BYTES + 6
_HANDLE_AT: Final = _BEFORE_FIELDS + 1
_ID_AT: Final = _HANDLE_AT + 5
_TAG_AT: Final = _ID_AT + 6
FIRST_BYTES: Final = _BEFORE_FIELDS + len(_FIRST)
_NEXT_BYTES: Final = _BEFORE_FIELDS + len(_NEXT)
"""How long a message's first and its further frames are before their payload."""


class Block:
    """Room for `rows` messages, each `row_bytes` long, one after another in `memory`.

    `frame_ends` says where the frames of a row end. Raises LoadError if the peer's frames are too short.
    """

    def __init__(self, template: Template, max_frame_bytes: int, mode: Mode) -> None:
        row, self.frame_ends = _row(template.encoded, max_frame_bytes)
        first_payload_bytes = self.frame_ends[0] - FIRST_BYTES
        if any(field.end > first_payload_bytes for field in template.fields):
            raise LoadError(f"frames of {max_frame_bytes} bytes are too short for such messages")
        self.row_bytes = len(row)
        self.rows = max(1, BLOCK_BYTES // self.row_bytes)
        self._matrix = np.tile(np.frombuffer(row, np.uint8), (self.rows, 1))
        self.memory = self._matrix.data.cast("B")
        self._steps = np.arange(self.rows, dtype=np.int64)
        self._ids = self._column(_ID_AT, ">u4")
        self._tags = self._column(_TAG_AT, ">u4")
        self._fields = [
            (self._column(FIRST_BYTES + field.at, field.dtype), field.values) for field in template.fields
        ]
        frame_starts = [0, *self.frame_ends[:-1]]
        self._handles = [self._column(start + _HANDLE_AT, ">u4") for start in frame_starts]
        self._settled = [self._column(FIRST_BYTES - 2, "u1")] + [
            self._column(start + _NEXT_BYTES - 2, "u1") for start in frame_starts[1:]
        ]
        self._mode = mode
        for column in self._settled:
            column[:] = _TRUE if mode == "settled" else _FALSE
        self._handle = -1

    def fill(self, count: int, handle: int, first_id: int, first_number: int, first_of_link: int) -> None:
        """Make the first `count` rows the next messages of a link.

        `first_id` is the first one's delivery-id, `first_number` its number; `first_of_link` is how many
        messages the link has sent: in mixed mode those with an even number of forerunners go settled.
        """
        if handle != self._handle:
            self._handle = handle
            for column in self._handles:
                column[:] = handle
        steps = self._steps[:count]
        ids = steps + first_id
        self._ids[:count] = ids
        self._tags[:count] = ids
        numbers = steps + first_number
        for column, values in self._fields:
            column[:count] = values(numbers)
        if self._mode == "mixed":
            settled = _FALSE - ((steps + first_of_link + 1) & 1)
            for column in self._settled:
                column[:count] = settled

    def _column(self, at: int, dtype: str) -> NDArray[Any]:
        """View the bytes from `at` on of every row as one value each."""
        return np.ndarray((self.rows,), dtype, self.memory, at, (self.row_bytes,))


def _row(message: bytes, max_frame_bytes: int) -> tuple[bytes, list[int]]:
    """Cut a message into transfer frames; gives them joined, and where each ends."""
    row = b""
    ends: list[int] = []
    rest, fields = message, _FIRST
    while rest or not ends:
        room = max_frame_bytes - _BEFORE_FIELDS - len(fields)
        payload, rest = rest[:room], rest[room:]
        fields = fields[:-1] + bytes((_TRUE if rest else _FALSE,))
        size = _BEFORE_FIELDS + len(fields) + len(payload)
        performative = bytes((0, 0x53, TRANSFER, _LIST_8, len(fields) + 1, _FIELDS_COUNT)) + fields
        row += HEADER.pack(size, 2, 0, 0) + performative + payload
        ends.append(len(row))
        fields = _NEXT
    return row, ends
