"""Turns what connections report into log events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.observability import events

if TYPE_CHECKING:
    from bridge.model.conditions import Condition


class ConnectionReporter:
    """Reports all connections of a listener."""

    def __init__(self) -> None:
        self._peers: dict[int, str] = {}
        self.accepted_count = 0

    @property
    def open_count(self) -> int:
        """How many there are."""
        return len(self._peers)

    def accepted(self, connection_id: int, peer: str) -> None:
        """Report a new socket."""
        self.accepted_count += 1
        self._peers[connection_id] = peer
        events.connection_accepted(connection_id, peer)

    def opened(self, connection_id: int, container_id: str) -> None:
        """Report the peer's open."""
        events.connection_opened(connection_id, container_id, self._peers.get(connection_id, ""))

    def failed(self, connection_id: int, condition: Condition) -> None:
        """Report a connection that ended with an error."""
        events.connection_failed(connection_id, condition, self._peers.get(connection_id, ""))

    def ended(self, connection_id: int) -> None:
        """Report that the socket is gone."""
        self._peers.pop(connection_id, None)
        events.connection_ended(connection_id)

    def handler_failed(self, connection_id: int, link_name: str, error: Exception) -> None:
        """Report an exception in a link's handler."""
        events.link_handler_failed(connection_id, link_name, error)
