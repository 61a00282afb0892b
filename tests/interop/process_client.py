"""A client that is a program of its own: told what to do by arguments and a file, it answers in JSON."""

from __future__ import annotations

import json
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from interop.contract import Answer, Attach, Delivery, Outcome
from interop.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interop.catalogue import Message
    from interop.contract import Receiver

_LIMIT_SECONDS: Final = 90.0
"""How long a client may run: a bound for what has failed, never a measure."""


class ProcessClient:
    """Runs the command of a client for each thing to do; one process receives step by step, until `close`."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._conversation: Conversation | None = None

    def close(self) -> None:
        """End what still runs."""
        if self._conversation is not None:
            self._conversation.close()

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

    @contextmanager
    def attach(self, port: int, attach: Attach) -> Iterator[Receiver]:
        """Attach a receiver, as `Client` says: one at a time."""
        conversation = self.talk(port)
        answer = conversation.ask("attach", container="interop", **asdict(attach))
        yield ProcessReceiver(conversation, frozenset(answer["applied"] or ()))
        conversation.ask("close")

    def talk(self, port: int) -> Conversation:
        """Return the conversation, which is always about the same port."""
        if self._conversation is None:
            self._conversation = Conversation([*self._command, "talk", str(port)])
        return self._conversation

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


class ProcessReceiver:
    """The receiver of a conversation."""

    def __init__(self, conversation: Conversation, applied: frozenset[str]) -> None:
        self._conversation = conversation
        self.applied = applied

    def credit(self, count: int) -> None:
        """Give so much credit more."""
        self._conversation.ask("credit", count=count)

    def take(self, count: int) -> list[Delivery]:
        """Wait for so many messages."""
        return deliveries(self._conversation.ask("take", count=count))

    def answer(self, deliveries: Sequence[Delivery], answer: Answer) -> None:
        """Give an outcome."""
        self._conversation.ask("answer", numbers=[each.number for each in deliveries], **asdict(answer))

    def drain(self) -> list[Delivery]:
        """Ask for what is there and no more."""
        return deliveries(self._conversation.ask("drain"))


def deliveries(answer: dict[str, Any]) -> list[Delivery]:
    """Read what a client has received."""
    return [Delivery(**each) for each in answer["deliveries"] or ()]
