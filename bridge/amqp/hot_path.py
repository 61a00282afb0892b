"""The functions of proton's C library that run for each message, and nothing else.

A proton upgrade that changes the binding changes this file and `native.py`. Everything here is called on the
event loop's thread. Nothing here decides: what arrives is handed to the link's handler, what is sent was
made elsewhere.

Facts about proton that this file rests on: a receiver's payload must be taken even if nobody wants it, or
the session's window never opens again; a delivery with more than one pending byte was not aborted, and it is
its turn (one that was aborted has one, so that whoever reads it hears of that); a delivery's pointer is valid
until it is settled at both ends or its link is freed, and its tag is there until its events are taken;
`updated` stays true once it was, and each disposition has an event of its own, as has each frame of a
transfer: those of its later frames come when the delivery may be settled already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.amqp.assembly import Assembly
from bridge.amqp.native import CData, read_outcome, renew_window
from bridge.model.outcomes import DeliveryState
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.amqp.links import IncomingLink, OutgoingLink

SCRATCH_BYTES: Final = 1 << 20
_scratch: Final = ffi.new("char[]", SCRATCH_BYTES)
_view: Final = ffi.buffer(_scratch)

TAG_BYTES_MAX: Final = 32
"""Core 2.8.7."""
_tag_space: Final = ffi.new("char[]", TAG_BYTES_MAX)
_tag_view: Final = ffi.buffer(_tag_space)
_tag_pointer: Final = ffi.new("pn_bytes_t *", {"size": 0, "start": _tag_space})
_tag: Final = _tag_pointer[0]
"""The tag of the delivery that is begun. Proton copies it: to put all in the same place costs half of what it
costs to make a struct for each."""

PIECE_BYTES: Final = 1 << 19
"""Messages that are larger go in pieces (`LargeMessage`)."""

_ACCEPTED: Final = int(DeliveryState.ACCEPTED)

_aborted: Final = lib.pn_delivery_aborted
_advance: Final = lib.pn_link_advance
_credit: Final = lib.pn_link_credit
_delivery: Final = lib.pn_delivery
_partial: Final = lib.pn_delivery_partial
_pending: Final = lib.pn_delivery_pending
_readable: Final = lib.pn_delivery_readable
_recv: Final = lib.pn_link_recv
_remote_state: Final = lib.pn_delivery_remote_state
_send: Final = lib.pn_link_send
_settle: Final = lib.pn_delivery_settle
_settled: Final = lib.pn_delivery_settled
_update: Final = lib.pn_delivery_update
_updated: Final = lib.pn_delivery_updated

settle: Final = _settle
"""Settle a delivery, and forget it."""


def received(link: IncomingLink, delivery: CData) -> None:
    """Handle a delivery event of a link on which the peer sends."""
    count = _pending(delivery)
    if 1 < count <= link.whole_bytes_max and not _partial(delivery):
        pointer = link.pointer
        _recv(pointer, _scratch, count)
        payload = _view[:count]
        if _settled(delivery):
            link.presettled = delivery
            # Settling advances the link when the delivery is its current one.
            _settle(delivery)
            link.handler.transferred(delivery, payload, True)  # noqa: FBT003 - positional: the hot path
        else:
            _advance(pointer)
            link.handler.transferred(delivery, payload, False)  # noqa: FBT003 - positional: the hot path
    elif count > 1 or _readable(delivery):
        _received_otherwise(link, delivery, count)
    elif _updated(delivery) and _settled(delivery) and not link.discards and delivery != link.presettled:
        link.handler.settled(delivery)


def _received_otherwise(link: IncomingLink, delivery: CData, count: int) -> None:
    """Take what has arrived of a delivery: of several frames, large, empty, unwanted or given up."""
    pointer = link.pointer
    if link.discards:
        _discard(link, delivery)
        return
    parts = link.assembling
    if count == 1 and _aborted(delivery):
        _give_up(link, delivery)
        return
    if parts is None:
        parts = link.assembling = Assembly()
        link.whole_bytes_max = 0
    if parts.size_bytes + count > link.max_message_size_bytes:
        # The link ends, and nothing more of the message is kept (core 2.7.3).
        link.assembled()
        link.oversized()
        _discard(link, delivery)
        return
    parts.receive(pointer, count)
    if _partial(delivery):
        link.engine.assembles = True
        return
    if parts.counted_bytes:
        link.handler.arriving(-parts.counted_bytes)
    link.assembled()
    _advance(pointer)
    is_settled = _settled(delivery)
    if is_settled:
        link.presettled = delivery
        _settle(delivery)
    link.handler.transferred_large(delivery, parts, is_settled)
    parts.release()


def count_arriving(link: IncomingLink, parts: Assembly) -> None:
    """Tell the handler what came of a message that is not whole at the end of a piece of input."""
    if parts.size_bytes > parts.counted_bytes:
        link.handler.arriving(parts.size_bytes - parts.counted_bytes)
        parts.counted_bytes = parts.size_bytes


def _give_up(link: IncomingLink, delivery: CData) -> None:
    """Forget what has arrived of a message that its sender aborted."""
    parts = link.assembling
    if parts is not None and parts.counted_bytes:
        link.handler.arriving(-parts.counted_bytes)
    link.assembled()
    link.presettled = delivery
    _advance(link.pointer)
    _settle(delivery)
    link.handler.aborted()


def _discard(link: IncomingLink, delivery: CData) -> None:
    """Drop what has arrived of a delivery on a link that is not open, and give it no outcome.

    It is not settled either: proton would tell the peer, and a settlement reads like success.
    """
    pointer = link.pointer
    renew_window(pointer)
    while _recv(pointer, _scratch, SCRATCH_BYTES) > 0:
        pass
    is_partial = _partial(delivery)
    if not is_partial:
        _advance(pointer)
    # One that is not whole takes a credit, too, which proton has not counted yet. If the link was opened now,
    # its rest would be a message.
    if _credit(pointer) < is_partial:
        link.overrun()


def accept(deliveries: Iterable[CData], *, settles: bool) -> None:
    """Send the outcome accepted for each; proton merges neighbours into one disposition."""
    if settles:
        for delivery in deliveries:
            _update(delivery, _ACCEPTED)
            _settle(delivery)
    else:
        for delivery in deliveries:
            _update(delivery, _ACCEPTED)


def send(self: OutgoingLink, tag: bytes, payload: bytes) -> CData:
    """Send one message unsettled and give its delivery.

    The caller has seen credit and room; proton keeps the bytes until the session's window and the socket
    take them.
    """
    size = len(payload)
    if size > self.whole_bytes_max:
        return self.send_large(tag, payload, settles=False)
    pointer = self.pointer
    _tag.size = length = len(tag)
    _tag_view[:length] = tag
    delivery = _delivery(pointer, _tag)
    _send(pointer, payload, size)
    _advance(pointer)
    return delivery


def send_settled(self: OutgoingLink, tag: bytes, payload: bytes) -> None:
    """Send one message that is settled already, with credit and room."""
    size = len(payload)
    if size > self.whole_bytes_max:
        self.send_large(tag, payload, settles=True)
        return
    pointer = self.pointer
    _tag.size = length = len(tag)
    _tag_view[:length] = tag
    delivery = _delivery(pointer, _tag)
    _send(pointer, payload, size)
    _settle(delivery)
    # Settling advances the link when the delivery is its current one.


def begin(pointer: CData, tag: bytes) -> CData:
    """Begin the next delivery of a link."""
    _tag.size = length = len(tag)
    _tag_view[:length] = tag
    return _delivery(pointer, _tag)


def settle_all(deliveries: Iterable[CData]) -> None:
    """Settle deliveries, and forget them."""
    for delivery in deliveries:
        _settle(delivery)


def disposed(link: OutgoingLink, delivery: CData) -> None:
    """Handle a delivery event of a link on which the bridge sends: an outcome or a settlement."""
    if link.discards:
        # An outcome that comes after the link's end changes nothing, and is not settled as if it did.
        return
    state = _remote_state(delivery)
    if state == _ACCEPTED:
        link.handler.accepted(delivery)
    elif _updated(delivery) and (state > _ACCEPTED or _settled(delivery)):
        link.handler.disposed(delivery, read_outcome(delivery, state))
    # Left: "received", which tells how far the peer got and is no outcome (core 3.4.1).
