"""How the C library's allocator treats the large blocks that large messages take.

It has to be told once, before there are threads. Where the C library is another one than glibc, nothing
happens.
"""

from __future__ import annotations

import ctypes
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
"""As in malloc.h."""
LARGE_BYTES: Final = 131_072


def return_large_blocks() -> None:
    """Have blocks of 128 KiB and more go back to the system when they are freed.

    That is what glibc begins with. By and by, though, it keeps larger and larger ones (up to 32 MiB), among
    which it puts small ones: after some messages of a megabyte a process would stay several times as large
    as what it holds (mallopt(3): any value that is set ends the dynamic adjustment).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
