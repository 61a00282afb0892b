"""AMQP 1.0 frames that the load generator sends, but for transfers: `bench.load.blocks` makes those.

What passes once in a while is coded by the project's codec, dispositions by hand. Knows bytes only.
Source: AMQP 1.0 core, 2.3 (framing), 2.7 (performatives), 5.3 (SASL).
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from bridge.codec import Described, Symbol, UByte, UInt, ULong, UShort, encode

SASL_PROTOCOL: Final = b"AMQP\x03\x01\x00\x00"
AMQP_PROTOCOL: Final = b"AMQP\x00\x01\x00\x00"
HEADER_BYTES: Final = 8
"""Of a protocol header, and of a frame's header."""
HEADER: Final = Struct(">IBBH")
"""A frame's size in bytes, where its body starts in words of 4 bytes, its kind, its channel."""

OPEN: Final = 0x10
BEGIN: Final = 0x11
ATTACH: Final = 0x12
FLOW: Final = 0x13
TRANSFER: Final = 0x14
DISPOSITION: Final = 0x15
DETACH: Final = 0x16
END: Final = 0x17
CLOSE: Final = 0x18
SASL_MECHANISMS: Final = 0x40
SASL_INIT: Final = 0x41
SASL_OUTCOME: Final = 0x44

ACCEPTED: Final = 0x24

SETTLE_MODES: Final = {"unsettled": 0, "settled": 1, "mixed": 2}
"""snd-settle-mode (2.8.2)."""

WINDOW_FRAMES: Final = 1 << 16
"""The incoming window of a session: credit is to be what limits a link."""
OUTGOING_WINDOW_FRAMES: Final = (1 << 31) - 1
MAX_FRAME_BYTES: Final = 1 << 16
"""The largest frame taken."""
_DISPOSITION: Final = Struct(">BBIBIB4B")
_DISPOSITION_HEAD: Final = HEADER.pack(14 + _DISPOSITION.size, 2, 0, 0) + bytes(
    (0, 0x53, DISPOSITION, 0xC0, _DISPOSITION.size + 1, 5)
)


def frame(code: int, fields: list[object], *, kind: int = 0) -> bytes:
    """Make a frame on channel 0 without a payload."""
    body = encode(Described(ULong(code), fields))
    return HEADER.pack(HEADER_BYTES + len(body), 2, kind, 0) + body


HEARTBEAT: Final = HEADER.pack(HEADER_BYTES, 2, 0, 0)
SASL_ANONYMOUS: Final = frame(SASL_INIT, [Symbol("ANONYMOUS"), b"load"], kind=1)
BEGIN_SESSION: Final = frame(
    BEGIN, [None, UInt(0), UInt(WINDOW_FRAMES), UInt(OUTGOING_WINDOW_FRAMES), UInt(0xFFFFFFFF)]
)
CLOSE_CONNECTION: Final = frame(CLOSE, [])


def open_connection(container_id: str) -> bytes:
    """Make an open."""
    return frame(OPEN, [container_id, "localhost", UInt(MAX_FRAME_BYTES), UShort(0)])


def attach(name: str, handle: int, address: str, mode: str, *, receiver: bool) -> bytes:
    """Make an attach; `mode` is one of SETTLE_MODES, `address` the bridge's terminus."""
    near = Described(ULong(0x29 if receiver else 0x28), [])
    far = Described(ULong(0x28 if receiver else 0x29), [address])
    source, target = (far, near) if receiver else (near, far)
    initial_delivery_count = None if receiver else UInt(0)
    modes: list[object] = [UByte(SETTLE_MODES[mode]), UByte(0)]
    fields: list[object] = [name, UInt(handle), receiver, *modes, source, target]
    return frame(ATTACH, [*fields, None, None, initial_delivery_count])


def flow(
    next_incoming_id: int | None,
    next_outgoing_id: int,
    handle: int | None = None,
    delivery_count: int = 0,
    credit: int = 0,
) -> bytes:
    """Make a flow for the session, or for one of its links as well."""
    fields: list[object] = [
        None if next_incoming_id is None else UInt(next_incoming_id & 0xFFFFFFFF),
        UInt(WINDOW_FRAMES),
        UInt(next_outgoing_id & 0xFFFFFFFF),
        UInt(OUTGOING_WINDOW_FRAMES),
    ]
    if handle is not None:
        fields += [UInt(handle), UInt(delivery_count & 0xFFFFFFFF), UInt(credit)]
    return frame(FLOW, fields)


def detach(handle: int) -> bytes:
    """Make a detach that closes the link."""
    return frame(DETACH, [UInt(handle), True])


def settle(first: int, last: int, *, receiver: bool, state: int = ACCEPTED) -> bytes:
    """Make a disposition that settles the deliveries `first` to `last` with an outcome."""
    role = 0x41 if receiver else 0x42
    return _DISPOSITION_HEAD + _DISPOSITION.pack(role, 0x70, first, 0x70, last, 0x41, 0, 0x53, state, 0x45)
