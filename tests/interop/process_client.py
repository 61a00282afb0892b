"""A client that is a program of its own: told what to do by arguments and a file, it answers in JSON."""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Final

from interop.contract import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interop.catalogue import Message

_LIMIT_SECONDS: Final = 90.0
"""How long a client may run: a bound for what has failed, never a measure."""


class ProcessClient:
    """Runs the command of a client for each thing to do."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command

    def send(
        self, port: int, address: str | None, messages: Sequence[Message], *, settled: bool
    ) -> list[Outcome]:
        """Send on one link, as `Client` says."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".json") as file:
            json.dump(list(messages), file, ensure_ascii=False)
            file.flush()
            mode = "settled" if settled else "unsettled"
            answer = self._run("send", str(port), address or "", mode, file.name)
        return [Outcome(**each) for each in answer.get("outcomes", ())]

    def receive(self, port: int, address: str, count: int) -> list[Message]:
        """Receive and accept, as `Client` says."""
        messages: list[Message] = self._run("receive", str(port), address, str(count))["messages"]
        return messages

    def _run(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(  # noqa: S603 - a client of the suite
            [*self._command, *arguments],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT_SECONDS,
        )
        said = done.stderr.decode(errors="replace")
        assert done.returncode == 0, f"{' '.join(arguments)}: exit code {done.returncode}\n{said}"
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
