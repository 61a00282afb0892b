"""What the engine closes connections with, by Proton's own judgement: rows of docs/conditions.md."""

from __future__ import annotations

from typing import Final

import pytest
from support.frames import make_attach, make_begin, make_detach, make_frame, make_opening, make_transfer
from support.wire import FRAME_BYTES, Pair

CLOSES: Final = {
    "close-frame": (b"GET / HTTP/1.1\r\n\r\n", "amqp:connection:framing-error"),
    "close-frame, malformed": (b"\x00\x00\x00\x05\x02\x00\x00\x00", "amqp:connection:framing-error"),
    "close-frame, too large": (make_transfer(0, bytes(FRAME_BYTES)), "amqp:connection:framing-error"),
    "close-frame, channel": (make_begin(300), "amqp:connection:framing-error"),
    "close-sequence": (make_transfer(0, b"a") + make_transfer(7, b"b"), "amqp:session:invalid-field"),
    "close-handle": (make_transfer(0, b"a", handle=5), "amqp:invalid-field"),
    "close-handle, detach": (make_detach(5), "amqp:invalid-field"),
    "close-channel": (make_transfer(0, b"a", channel=7), "amqp:not-allowed"),
    "close-channel, end": (make_frame("end", channel=7), "amqp:not-allowed"),
    "close-link-name": (make_attach("sender", 1), "amqp:invalid-field"),
}


def closed_with(pair: Pair) -> str | None:
    """Return the condition of the last frame from the bridge, which is a close."""
    pair.to_client()
    last = pair.take_frames()[-1]
    assert last.text == "< close"
    return last.condition


@pytest.mark.parametrize(("data", "condition"), CLOSES.values(), ids=CLOSES)
def test_a_peer_that_breaks_the_protocol_is_told_how(data: bytes, condition: str) -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.to_client()
        pair.inject(data)
        assert closed_with(pair) == condition


def test_transfers_beyond_the_sessions_window_close_the_connection() -> None:
    with Pair() as pair:
        # The peer does not wait for the bridge's begin, which opens the window.
        pair.inject(make_opening() + make_transfer(0, b"a"))
        assert closed_with(pair) == "amqp:session:window-violation"


def test_what_is_no_amqp_from_the_beginning_is_told_so() -> None:
    with Pair() as pair:
        pair.inject(b"GET / HTTP/1.1\r\n\r\n")
        assert closed_with(pair) == "amqp:connection:framing-error"
