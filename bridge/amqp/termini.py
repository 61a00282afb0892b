"""Attaches: what a peer asks for, read into a value, and the termini that it is answered with.

An answer says what is so and no more, since peers rely on it: AMQP has the receiving end look whether
"the filter in place meets its needs" (core 3.5.3), and the same goes for all that the end at a terminus says
of it. So the bridge's terminus is written from what its endpoint grants, and nothing of what the peer wished
for is copied. The terminus at the peer's side is the peer's to describe: it is repeated.

What is said of the bridge's own terminus, and why:

- address: as asked for; the bridge has no other name for it.
- durable and expiry-policy: `configuration` and `never` where the position outlives the link because a
  consumer group keeps it, and the peer asked for something durable. Never `unsettled-state`: the position
  comes back, and with it the records that were not settled, but not deliveries under their old tags (core
  2.6.13). In all other cases `none` and `link-detach`: nothing is held for a link that is gone.
- distribution-mode: always said, since there are two (3.5.3: "MUST be set by the sending end of the Link if
  the endpoint supports more than one").
- filter: those that are applied; nothing if none is.
- outcomes: all four of AMQP. default-outcome: not said, since proton cannot write it; a delivery that is
  settled without an outcome, or not at all, counts as released.
- capabilities: those that the peer asked for and the endpoint serves. Link capabilities, which proton cannot
  write either, are never offered: Qpid JMS can tell from it that shared subscriptions of its kind are not.

Proton is given nothing to encode that a peer made up: its encoder trusts what it holds, and peers can have it
hold values that it cannot encode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from bridge import codec
from bridge.amqp import native
from bridge.model.links import AttachRequest, ReceiverSettleMode, SenderSettleMode
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from bridge.amqp.native import CData

DistributionMode: TypeAlias = Literal["move", "copy"]
"""Whether a message that one link has taken is gone for the others of its node (core 3.5.7)."""

OUTCOMES: Final = (
    "amqp:accepted:list",
    "amqp:rejected:list",
    "amqp:released:list",
    "amqp:modified:list",
)
"""The outcomes that deliveries of the bridge may come to (core 3.4)."""

CAPABILITIES: Final = frozenset({"queue", "topic"})
"""What peers may take a Kafka topic for; Qpid JMS asks whether it is the one of the two that it needs."""

_MODES: Final = {"move": lib.PN_DIST_MODE_MOVE, "copy": lib.PN_DIST_MODE_COPY}
_SENDER_MODES: Final = {mode.value: mode for mode in SenderSettleMode}
_RECEIVER_MODES: Final = {mode.value: mode for mode in ReceiverSettleMode}


@dataclass(frozen=True, slots=True)
class Granted:
    """What holds of the terminus at the bridge's side.

    `applied` are the names of those of the peer's filters that are in place, `mode` the distribution-mode of
    a source (None for a target), `durable` tells that the position outlives the link, `capabilities` what
    the terminus can do, whether the peer asked for it or not.
    """

    applied: frozenset[str] = frozenset()
    mode: DistributionMode | None = None
    durable: bool = False
    capabilities: frozenset[str] = CAPABILITIES


# ---------------------------------------------------------------------- what is asked for


def read_attach(link: CData, container_id: str) -> AttachRequest:
    """Read a remote attach into a value."""
    peer_sends = bool(lib.pn_link_is_receiver(link))
    source, target = lib.pn_link_remote_source(link), lib.pn_link_remote_target(link)
    ours = target if peer_sends else source
    filters, malformed = _read_filters(source)
    durable = bool(lib.pn_terminus_get_durability(ours)) or (
        lib.pn_terminus_get_expiry_policy(ours) == lib.PN_EXPIRE_NEVER
    )
    copies = lib.pn_terminus_get_distribution_mode(source) == lib.PN_DIST_MODE_COPY
    return AttachRequest(
        container_id=container_id,
        link_name=native.text(lib.pn_link_name(link)) or "",
        peer_sends=peer_sends,
        address=native.text(lib.pn_terminus_get_address(ours)),
        # Proton passes on any number that the peer wrote; the defaults are AMQP's own.
        snd_settle_mode=_SENDER_MODES.get(lib.pn_link_remote_snd_settle_mode(link), SenderSettleMode.MIXED),
        rcv_settle_mode=_RECEIVER_MODES.get(
            lib.pn_link_remote_rcv_settle_mode(link), ReceiverSettleMode.FIRST
        ),
        outcomes=native.symbols(lib.pn_terminus_outcomes(source)),
        properties=native.scalars(lib.pn_link_remote_properties(link)),
        dynamic=bool(lib.pn_terminus_is_dynamic(ours)),
        # What copies and is durable is no browser: Qpid JMS asks for a durable subscription in this way,
        # which is to have a copy of its own of what the others get as well.
        browses=copies and not durable,
        filters=filters,
        malformed=malformed,
        durable=durable,
        capabilities=native.shared(
            _capabilities(link) | native.symbols(lib.pn_terminus_capabilities(source))
        ),
        coordinator=lib.pn_terminus_get_type(target) == lib.PN_COORDINATOR,
        max_message_size_bytes=int(lib.pn_link_remote_max_message_size(link)),
    )


def _capabilities(link: CData) -> frozenset[str]:
    """Read what a link's peer said in its open: what it wishes for, and what it can do."""
    connection = lib.pn_session_connection(lib.pn_link_session(link))
    desired = native.symbols(lib.pn_connection_remote_desired_capabilities(connection))
    return desired | native.symbols(lib.pn_connection_remote_offered_capabilities(connection))


def _read_filters(source: CData) -> tuple[dict[str, object], str]:
    """Read a source's filter-set (core 3.5.8): the filters by name, and what is wrong with it, if anything.

    Null filters are left out: one "acts as if there were no such key present". Values need not be described,
    though AMQP has it so: there are clients that send plain ones, which mean what their names say.
    """
    try:
        pairs = _filter_set(source)
    except codec.DecodeError as error:
        return {}, f"the source's filter-set is malformed: {error}"
    found: dict[str, object] = {}
    for name, value in pairs:
        if not isinstance(name, str):
            return {}, "the source's filter-set is malformed: its keys have to be symbols"
        if name in found:
            return {}, f"the source's filter-set is malformed: it has {str(name)!r} twice"
        found[str(name)] = value
    return {name: value for name, value in found.items() if value is not None}, ""


def _filter_set(source: CData) -> codec.Map:
    """Decode a source's filter-set. Raises DecodeError."""
    data = lib.pn_terminus_filter(source)
    encoded = native.encoded(data)
    # Proton keeps what it could decode of damaged data, but says so where its end is missing.
    if encoded is None or lib.pn_error_code(lib.pn_data_error(data)):
        raise codec.DecodeError(0, "a map in well-formed AMQP")
    if not encoded:
        return codec.Map()
    value, _ = codec.decode(encoded)
    if value is None:
        return codec.Map()
    if not isinstance(value, codec.Map):
        raise codec.DecodeError(0, "a map")
    return value


# ---------------------------------------------------------------------- what is answered


def write_answer(link: CData, request: AttachRequest, granted: Granted | None) -> None:
    """Write the termini and settle modes of the bridge's own attach; without a grant it is a refusal.

    A refusal has no terminus at the bridge's side: that is how a peer can tell it from a link that ended
    (core 2.6.3).
    """
    source, target = lib.pn_link_source(link), lib.pn_link_target(link)
    remote_source, remote_target = lib.pn_link_remote_source(link), lib.pn_link_remote_target(link)
    if request.peer_sends:
        _repeat(source, remote_source)
        # Which of them the bridge comes to depends on what the peer's source can do with them.
        known = [name for name in OUTCOMES if name in request.outcomes]
        if known:
            native.put_symbols(lib.pn_terminus_outcomes(source), known)
        ours, theirs = target, remote_target
    else:
        _repeat(target, remote_target)
        ours, theirs = source, remote_source
    if granted is None:
        lib.pn_terminus_set_type(ours, lib.PN_UNSPECIFIED)
    else:
        _grant(ours, theirs, granted)
        if not request.peer_sends:
            native.put_symbols(lib.pn_terminus_outcomes(source), OUTCOMES)
            _put_filters(source, remote_source, granted.applied)
    lib.pn_link_set_snd_settle_mode(link, int(request.snd_settle_mode))
    lib.pn_link_set_rcv_settle_mode(link, int(request.rcv_settle_mode))
    # All that is needed of them was read, and proton would keep most of a KiB for as long as the link lasts.
    native.forget_terminus(remote_source)
    native.forget_terminus(remote_target)


def _repeat(local: CData, remote: CData) -> None:
    """Describe the peer's own terminus as the peer does; what it supports is for itself to say."""
    lib.pn_terminus_set_address(local, lib.pn_terminus_get_address(remote))
    lib.pn_terminus_set_durability(local, lib.pn_terminus_get_durability(remote))
    lib.pn_terminus_set_expiry_policy(local, lib.pn_terminus_get_expiry_policy(remote))
    lib.pn_terminus_set_timeout(local, lib.pn_terminus_get_timeout(remote))


def _grant(local: CData, remote: CData, granted: Granted) -> None:
    """Describe the bridge's terminus."""
    lib.pn_terminus_set_address(local, lib.pn_terminus_get_address(remote))
    lib.pn_terminus_set_durability(local, lib.PN_CONFIGURATION if granted.durable else lib.PN_NONDURABLE)
    lib.pn_terminus_set_expiry_policy(
        local, lib.PN_EXPIRE_NEVER if granted.durable else lib.PN_EXPIRE_WITH_LINK
    )
    if granted.mode is not None:
        lib.pn_terminus_set_distribution_mode(local, _MODES[granted.mode])
    served = native.symbols(lib.pn_terminus_capabilities(remote)) & granted.capabilities
    if served:
        native.put_symbols(lib.pn_terminus_capabilities(local), sorted(served))


def _put_filters(local: CData, remote: CData, applied: frozenset[str]) -> None:
    """Write those of the peer's filters that are applied: names, types and values as they came."""
    if not applied:
        return
    pairs = [(name, value) for name, value in _filter_set(remote) if name in applied]
    if pairs:
        raw = codec.encode(codec.Map(pairs))
        lib.pn_data_decode(lib.pn_terminus_filter(local), ffi.from_buffer(raw), len(raw))
