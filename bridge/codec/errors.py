"""What the codec raises: bytes that are not AMQP, and values that AMQP does not have."""

from __future__ import annotations


class DecodeError(ValueError):
    """Bytes are not a valid AMQP value.

    `offset` is the place in the buffer, counted from its first byte, where something else was
    expected; `expected` says what, in words for a person.
    """

    def __init__(self, offset: int, expected: str) -> None:
        super().__init__(f"at byte {offset}: expected {expected}")
        self.offset = offset
        self.expected = expected


class EncodeError(ValueError):
    """A Python value has no AMQP encoding, or lies outside the range of its AMQP type."""
