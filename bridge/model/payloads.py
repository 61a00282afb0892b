"""A large message on its way through the bridge: its bytes are lent, not given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer


class LargePayload(Protocol):
    """A whole message that is there for the length of the call that it is given to.

    Its memory serves the next message: what is to be kept has to be copied.
    """

    def __len__(self) -> int:
        """Give its size in bytes."""

    def view(self) -> memoryview:
        """Show all of it."""

    def rest(self, start: int) -> Buffer:
        """Show it from a byte on, as an object that needs no release: Kafka's client takes no other."""
