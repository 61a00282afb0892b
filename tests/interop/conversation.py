"""A client that is told what to do line by line, and answers each line: JSON, both ways."""

from __future__ import annotations

import json
import select
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMIT_SECONDS: Final = 90.0
"""How long an answer may take: a bound for what has failed, never a measure."""


class Conversation:
    """A running client, which starts at once."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - until the client ends
        self._process = subprocess.Popen(  # noqa: S603 - a client of the suite
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )

    def ask(self, do: str, **told: Any) -> dict[str, Any]:  # noqa: ANN401 - anything that JSON can say
        """Have something done, and return the answer. Raises AssertionError with what the client says."""
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        pipe_in.write(json.dumps({"do": do, **told}).encode() + b"\n")
        pipe_in.flush()
        # One line is asked for and one answered, so that nothing waits in the pipe's buffer.
        ready, _, _ = select.select([pipe_out], [], [], _LIMIT_SECONDS)
        line = pipe_out.readline() if ready else b""
        assert line, f"{do}: no answer\n{self._said()}"
        answer: dict[str, Any] = json.loads(line)
        error = answer.get("error")
        assert not error, f"{do}: {error}"
        return answer

    def close(self) -> None:
        """End the client, which ends by itself when there are no more lines."""
        with self._process, self._errors:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                raise

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")
