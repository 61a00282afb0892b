"""Become another program, which the kernel kills as soon as the thread that started it ends.

Run as a script: `python -I -S die_with_parent.py PARENT_PID PROGRAM ARGUMENT...`. It asks Linux for
`PR_SET_PDEATHSIG` (prctl(2)) and then execs PROGRAM in its own place; the request survives the
exec.

Why a program of its own and not `preexec_fn`: code between fork and exec of a process with threads
(librdkafka has several) may deadlock, and Python says so. This script costs some 15 ms and leaves
no process behind. It never imports the bridge, so that it starts fast.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def main(arguments: list[str]) -> None:
    """Arrange to die with the process `arguments[0]`, then exec `arguments[1:]`.

    Raises OSError when the kernel refuses, or when the program cannot be executed.
    """
    parent_id, program = int(arguments[0]), arguments[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "prctl")
    if os.getppid() != parent_id:  # it died before the kernel knew of our wish
        sys.exit(1)
    os.execv(program[0], program)  # noqa: S606 - to become the given program is the purpose


if __name__ == "__main__":
    main(sys.argv[1:])
