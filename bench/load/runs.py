"""Finds runs of frames that are alike, so that many are taken for little more than the price of one.

What a peer sends in multitudes it sends in one form: transfers and dispositions of the same length that
differ in a number or two. Seen as rows of a matrix they are compared all at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bench.load.reading import Span

_ROWS_MIN: Final = 8
"""Fewer frames than that are not worth a comparison."""
_PAUSE: Final = 32
"""How many frames are taken one by one after some that were not alike."""
_FIRST_LOOK: Final = 64
"""How many frames are compared at first; twice as many after each time that all of them were alike."""


class Runs:
    """Finds runs in one kind of frames on one connection."""

    def __init__(self) -> None:
        self._pause = 0
        self._look = _FIRST_LOOK

    def alike(
        self,
        inbox: NDArray[np.uint8],
        at: int,
        end: int,
        size: int,
        same: Sequence[Span],
        free: Sequence[Span],
    ) -> int:
        """Count the frames from `at` on, up to `end`, that are like the first one; at least that one.

        They have its `size`, and its bytes in `same`, without those in `free`: places in `inbox`, in the
        first frame. Fewer may be found than there are, never more.
        """
        if self._pause:
            self._pause -= 1
            return 1
        rows = looked_at = min((end - at) // size, self._look)
        if rows < _ROWS_MIN:
            return 1
        matrix = inbox[at : at + rows * size].reshape(rows, size)
        for start, stop in same:
            columns = matrix[:rows, start - at : stop - at]
            differences = columns ^ columns[0]
            for free_start, free_stop in free:
                if start <= free_start and free_stop <= stop:
                    differences[:, free_start - start : free_stop - start] = 0
            # To look at all at once is far cheaper than row by row, and mostly they are alike.
            if differences.any():
                rows = int(differences.any(axis=1).argmax())
        if rows == looked_at:
            self._look *= 2
        else:
            self._look = _FIRST_LOOK
            if rows < _ROWS_MIN:
                self._pause = _PAUSE
        return rows


def numbers(inbox: NDArray[np.uint8], span: Span, rows: int, size: int) -> NDArray[np.int64]:
    """Read the unsigned number that `span` holds in the first of some frames of one size, in all of them."""
    width = span[1] - span[0]
    if not width:
        return np.zeros(rows, np.int64)  # uint0: the constructor is the number
    return np.ndarray((rows,), f">u{width}", inbox.data, span[0], (size,)).astype(np.int64)
