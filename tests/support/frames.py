"""AMQP frames as values: taken apart from bytes, and made by hand where no client would make them.

The types are coded by proton's `Data`, so nothing here rests on the bridge's own codec.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from proton import Data, Described, ubyte, uint, ulong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AMQP_HEADER: Final = b"AMQP\x00\x01\x00\x00"
SASL_HEADER: Final = b"AMQP\x03\x01\x00\x00"
_HEADER_BYTES: Final = 8

NAMES: Final = {
    0x10: "open",
    0x11: "begin",
    0x12: "attach",
    0x13: "flow",
    0x14: "transfer",
    0x15: "disposition",
    0x16: "detach",
    0x17: "end",
    0x18: "close",
    0x40: "sasl-mechanisms",
    0x41: "sasl-init",
    0x44: "sasl-outcome",
}
_CODES: Final = {name: code for code, name in NAMES.items()}

FIELDS: Final = {
    "open": (
        "container-id",
        "hostname",
        "max-frame-size",
        "channel-max",
        "idle-time-out",
        "outgoing-locales",
        "incoming-locales",
        "offered-capabilities",
        "desired-capabilities",
        "properties",
    ),
    "begin": ("remote-channel", "next-outgoing-id", "incoming-window", "outgoing-window", "handle-max"),
    "attach": (
        "name",
        "handle",
        "role",
        "snd-settle-mode",
        "rcv-settle-mode",
        "source",
        "target",
        "unsettled",
        "incomplete-unsettled",
        "initial-delivery-count",
        "max-message-size",
    ),
    "flow": (
        "next-incoming-id",
        "incoming-window",
        "next-outgoing-id",
        "outgoing-window",
        "handle",
        "delivery-count",
        "link-credit",
        "available",
        "drain",
        "echo",
    ),
    "transfer": (
        "handle",
        "delivery-id",
        "delivery-tag",
        "message-format",
        "settled",
        "more",
        "rcv-settle-mode",
        "state",
        "resume",
        "aborted",
    ),
    "disposition": ("role", "first", "last", "settled", "state"),
    "detach": ("handle", "closed", "error"),
    "end": ("error",),
    "close": ("error",),
    "sasl-mechanisms": ("mechanisms",),
    "sasl-init": ("mechanism", "initial-response"),
    "sasl-outcome": ("code",),
}
"""The performatives' fields in order (AMQP 1.0 core, 2.7 and 5.3.3), as far as tests need them."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. `fields` holds what is not null; `state` and `error` stay described values."""

    to_bridge: bool
    name: str
    channel: int
    fields: dict[str, Any]
    payload: bytes = b""

    @property
    def text(self) -> str:
        """The frame's name with its direction."""
        return f"{'>' if self.to_bridge else '<'} {self.name}"

    @property
    def condition(self) -> str | None:
        """The symbol of the error that the frame carries."""
        error = self.fields.get("error")
        return None if error is None else str(error.value[0])

    @property
    def state_code(self) -> int | None:
        """The descriptor of the delivery state that the frame carries."""
        state = self.fields.get("state")
        return None if state is None else int(state.descriptor)


class Sniffer:
    """Takes frames from what passes over a wire, in the order in which they were sent."""

    def __init__(self) -> None:
        self._rest = {True: b"", False: b""}
        self._frames: list[Frame] = []
        self.on_frame: Callable[[Frame], None] = self._frames.append
        """What is done with each; they are kept for `take` as long as nothing else is."""

    def client_sent(self, data: bytes) -> None:
        """Look at bytes that go to the bridge."""
        self._look(data, to_bridge=True)

    def bridge_sent(self, data: bytes) -> None:
        """Look at bytes that come from the bridge."""
        self._look(data, to_bridge=False)

    def take(self) -> list[Frame]:
        """Give the frames since the last call."""
        frames = self._frames.copy()
        self._frames.clear()
        return frames

    def _look(self, data: bytes, *, to_bridge: bool) -> None:
        data = self._rest[to_bridge] + data
        while len(data) >= _HEADER_BYTES:
            if data.startswith(b"AMQP"):
                data = data[_HEADER_BYTES:]
                continue
            size = int.from_bytes(data[:4], "big")
            if len(data) < size:
                break
            if size > _HEADER_BYTES:
                self.on_frame(_parse(data[:size], to_bridge=to_bridge))
            data = data[size:]
        self._rest[to_bridge] = data


def _parse(data: bytes, *, to_bridge: bool) -> Frame:
    coded = Data()
    start = 4 * data[4]
    used = coded.decode(data[start:])
    coded.next()
    performative: Any = coded.get_object()
    name = NAMES[int(performative.descriptor)]
    values = zip(FIELDS[name], performative.value, strict=False)
    fields = {field: value for field, value in values if value is not None}
    return Frame(to_bridge, name, int.from_bytes(data[6:8], "big"), fields, data[start + used :])


def make_frame(
    name: str, /, *, channel: int = 0, payload: bytes = b"", fields: dict[str, Any] | None = None
) -> bytes:
    """Make a frame with these fields; all others are null."""
    given = fields or {}
    values = [given.get(field) for field in FIELDS[name]]
    while values and values[-1] is None:
        values.pop()
    coded = Data()
    coded.put_object(Described(ulong(_CODES[name]), values))
    body: bytes = coded.encode()
    size = _HEADER_BYTES + len(body) + len(payload)
    kind = 1 if name.startswith("sasl") else 0
    return size.to_bytes(4, "big") + bytes((2, kind)) + channel.to_bytes(2, "big") + body + payload


def make_opening(handle: int = 0, *, max_frame_size: int = 65_536, rcv_settle_mode: int = 0) -> bytes:
    """Make all that comes before a client's first transfer: header, open, begin, and a sender's attach."""
    return AMQP_HEADER + b"".join(
        [
            make_frame("open", fields={"container-id": "by-hand", "max-frame-size": uint(max_frame_size)}),
            make_begin(),
            make_attach("sender", handle, rcv_settle_mode=rcv_settle_mode),
        ]
    )


def make_begin(channel: int = 0) -> bytes:
    """Make a client's begin."""
    return make_frame(
        "begin",
        channel=channel,
        fields={
            "next-outgoing-id": uint(0),
            "incoming-window": uint(2048),
            "outgoing-window": uint(2048),
        },
    )


def make_attach(name: str, handle: int, *, channel: int = 0, rcv_settle_mode: int = 0) -> bytes:
    """Make a sender's attach."""
    return make_frame(
        "attach",
        channel=channel,
        fields={
            "name": name,
            "handle": uint(handle),
            "role": False,
            "rcv-settle-mode": ubyte(rcv_settle_mode),
            "source": Described(ulong(0x28), []),
            "target": Described(ulong(0x29), ["orders"]),
            "initial-delivery-count": uint(0),
        },
    )


NULL: Final = b"\x40"


def make_receivers_attach(
    name: str = "receiver",
    handle: int = 0,
    *,
    filters: bytes = NULL,
    outcomes: bytes = NULL,
    capabilities: bytes = NULL,
) -> bytes:
    """Make a receiver's attach to `orders` with these encoded values in its source, damaged ones too."""
    address, none = b"\xa1\x06orders", NULL
    source = [address, none, none, none, none, none, none, filters, none, outcomes, capabilities]
    coded_name = bytes((0xA1, len(name))) + name.encode()
    modes = [NULL, NULL]
    fields = [
        coded_name,
        bytes((0x52, handle)),
        b"\x41",
        *modes,
        _composite(0x28, source),
        _composite(0x29, []),
    ]
    body = _composite(0x12, fields)
    return (_HEADER_BYTES + len(body)).to_bytes(4, "big") + bytes((2, 0, 0, 0)) + body


def _composite(code: int, fields: Sequence[bytes]) -> bytes:
    coded = len(fields).to_bytes(4, "big") + b"".join(fields)
    return bytes((0x00, 0x53, code, 0xD0)) + len(coded).to_bytes(4, "big") + coded


def make_transfer(
    delivery_id: int, payload: bytes = b"", *, handle: int = 0, channel: int = 0, **flags: bool
) -> bytes:
    """Make a transfer; `flags` are `settled`, `more` and `aborted`."""
    return make_frame(
        "transfer",
        channel=channel,
        payload=payload,
        fields={
            "handle": uint(handle),
            "delivery-id": uint(delivery_id),
            "delivery-tag": b"%d" % delivery_id,
            "message-format": uint(0),
            **flags,
        },
    )


def make_disposition(
    first: int,
    last: int | None,
    *,
    settled: bool,
    state: int | None = None,
    state_fields: Sequence[Any] = (),
    receiver: bool = False,
) -> bytes:
    """Make a disposition of these delivery-ids, a sender's or a receiver's."""
    return make_frame(
        "disposition",
        fields={
            "role": receiver,
            "first": uint(first),
            "last": None if last is None else uint(last),
            "settled": settled,
            "state": None if state is None else Described(ulong(state), list(state_fields)),
        },
    )


def make_detach(handle: int, *, closed: bool = True) -> bytes:
    """Make a detach."""
    return make_frame("detach", fields={"handle": uint(handle), "closed": closed})


def in_chunks(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    """Cut bytes into pieces of these sizes, used again and again."""
    position = turn = 0
    while position < len(data):
        size = sizes[turn % len(sizes)]
        yield data[position : position + size]
        position += size
        turn += 1
