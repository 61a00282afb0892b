"""A large message in memory that serves the next one as soon as it was handled, as the engine's does."""

from __future__ import annotations


class Lent:
    """A large message whose bytes are there until they are taken back."""

    def __init__(self, message: bytes) -> None:
        self._memory = bytearray(message)

    def __len__(self) -> int:
        return len(self._memory)

    def view(self) -> memoryview:
        """Show all of it."""
        return memoryview(self._memory)

    def rest(self, start: int) -> memoryview:
        """Show it from a byte on."""
        return self.view()[start:]

    def take_back(self) -> None:
        """Use the memory for something else."""
        self._memory[:] = bytes(len(self._memory))
