"""What a supervisor and its workers say to each other, and when both give up.

To a worker: ASSIGNMENT first, then LISTEN when all workers can, RELOAD (read the routes again), ASK with a
number and a question. From it: PREPARED, LISTENING, ANSWER with the number, STOPPED with how many records
had no answer; or FAILED, with the exit code that follows and what to tell the operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bridge import __version__
from bridge.config.transfer import packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.config import Settings

KIND: Final = "kind"
ASSIGNMENT: Final = "assignment"
LISTEN: Final = "listen"
RELOAD: Final = "reload"
ASK: Final = "ask"
PREPARED: Final = "prepared"
LISTENING: Final = "listening"
ANSWER: Final = "answer"
STOPPED: Final = "stopped"
FAILED: Final = "failed"

PROBLEMS: Final = "problems"
"""A question: why clients should not be sent to the worker, a list of texts."""
METRICS: Final = "metrics"
"""A question: the families of the worker, as `bridge.observability.metrics.packed` writes them."""

EXIT_START: Final = 1
EXIT_CONFIGURATION: Final = 2

END_MARGIN_SECONDS: Final = 5.0
"""How much longer than its grace a worker may take to end, before it is killed."""


class StartError(Exception):
    """A worker could not start; `exit_code` is its own."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is to do: its settings, and the brokers, which an embedded Kafka alone knows."""

    settings: Settings
    bootstrap_servers: str

    def packed(self) -> dict[str, Any]:
        """Return the message."""
        return {
            KIND: ASSIGNMENT,
            "version": __version__,
            "settings": packed(self.settings),
            "bootstrap_servers": self.bootstrap_servers,
        }

    @classmethod
    def unpacked(cls, message: Mapping[str, Any]) -> Assignment:
        """Return what a message says. Raises RuntimeError if another version has written it."""
        version = message["version"]
        if version != __version__:
            raise RuntimeError(
                f"the bridge was updated from {version} to {__version__} while it ran; restart the service"
            )
        return cls(unpacked(message["settings"]), message["bootstrap_servers"])
