"""What an engine holds to, and what it tells its owner.

Shapes only: the engine is in `engine.py`, its owner is a connection of `listener.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from bridge.amqp.links import IncomingLink, Link, OutgoingLink

if TYPE_CHECKING:
    from bridge.model.conditions import Condition
    from bridge.model.dialect import Dialect

AnyLink: TypeAlias = IncomingLink | OutgoingLink


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What a connection announces and holds to. Sizes are bytes, times milliseconds.

    `idle_timeout_ms` is when the bridge gives a silent peer up; half of it is announced (core 2.4.5).
    """

    container_id: str
    product_version: str
    max_frame_size_bytes: int
    channel_max: int
    idle_timeout_ms: int
    session_window_bytes: int
    dialect: Dialect = "amqp"


class EngineEvents(Protocol):
    """What an engine tells its owner besides bytes."""

    def opened(self, container_id: str) -> None:
        """Report that the peer opened the connection."""

    def attached(self, link: AnyLink) -> None:
        """Answer an attach: open or refuse the link, now or later."""

    def closed(self, condition: Condition | None) -> None:
        """Report, once, that the peer closed the connection, fell silent, or that it does not speak AMQP."""

    def handler_failed(self, link: Link, error: Exception) -> None:
        """Report an exception in a link's handler; that link is being detached."""
