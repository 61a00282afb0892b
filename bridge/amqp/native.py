"""Proton's C library on the control path: strings, conditions, outcomes and small AMQP data.

Memory: objects made here are freed by their owner (`engine.py`); nothing in this module keeps one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bridge import codec
from bridge.model.conditions import Condition
from bridge.model.outcomes import DeliveryState, Outcome
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.amqp.contract import EngineSettings
    from bridge.model.dialect import Dialect

CData: TypeAlias = Any
"""A pointer into proton; equal and hashable by its address."""

Scalar: TypeAlias = str | int | bool

OFFERED_CAPABILITIES: Final = ("ANONYMOUS-RELAY",)
"""What the connection can do beyond the core; Qpid JMS looks for this one."""

CONDITION_BYTES_MAX: Final = 8192
FRAME_OVERHEAD_BYTES: Final = 128
"""What a frame has besides the condition that it carries."""

_KINDS_OF_PEERS: Final = 64
"""How many sets of symbols are remembered, in order to share them."""

_NO_TERMINUS: Final = lib.pn_link_remote_source(lib.pn_receiver(lib.pn_session(lib.pn_connection()), b""))
"""Of a link that nobody attached; it lives as long as the process."""

_INTEGERS: Final = {
    lib.PN_UBYTE: lib.pn_data_get_ubyte,
    lib.PN_BYTE: lib.pn_data_get_byte,
    lib.PN_USHORT: lib.pn_data_get_ushort,
    lib.PN_SHORT: lib.pn_data_get_short,
    lib.PN_UINT: lib.pn_data_get_uint,
    lib.PN_INT: lib.pn_data_get_int,
    lib.PN_ULONG: lib.pn_data_get_ulong,
    lib.PN_LONG: lib.pn_data_get_long,
}


def make_connection(settings: EngineSettings) -> tuple[CData, CData, CData]:
    """Make the server's end of a connection: itself, its transport and its collector, bound together."""
    connection, transport, collector = lib.pn_connection(), lib.pn_transport(), lib.pn_collector()
    lib.pn_connection_set_container(connection, settings.container_id.encode())
    put_fields(
        lib.pn_connection_properties(connection),
        {"product": "amqp-kafka-bridge", "version": settings.product_version},
    )
    put_symbols(lib.pn_connection_offered_capabilities(connection), OFFERED_CAPABILITIES)
    lib.pn_transport_set_server(transport)
    lib.pn_sasl_allowed_mechs(lib.pn_sasl(transport), b"ANONYMOUS")
    lib.pn_transport_require_auth(transport, False)  # noqa: FBT003 - a C function
    lib.pn_transport_set_max_frame(transport, settings.max_frame_size_bytes)
    lib.pn_transport_set_channel_max(transport, settings.channel_max)
    lib.pn_transport_set_idle_timeout(transport, settings.idle_timeout_ms)
    lib.pn_connection_collect(connection, collector)
    lib.pn_transport_bind(transport, connection)
    return connection, transport, collector


def free_connection(connection: CData, transport: CData, collector: CData) -> None:
    """Free what `make_connection` made, and all that came to be in it."""
    lib.pn_transport_unbind(transport)
    lib.pn_collector_release(collector)
    lib.pn_connection_release(connection)
    lib.pn_decref(transport)
    lib.pn_decref(connection)
    lib.pn_collector_free(collector)


class Ended:
    """Links and sessions that both ends are done with, until they may be freed.

    That is when the last of them was written. Before, proton would settle what they leave unsettled and tell
    the peer: a settlement without an outcome, which many a client takes for success.
    """

    __slots__ = ("links", "sessions")

    def __init__(self) -> None:
        self.links: list[CData] = []
        self.sessions: list[CData] = []

    def free(self) -> bool:
        """Free them; tells whether there were any."""
        if not self.links and not self.sessions:
            return False
        for link in self.links:
            lib.pn_link_free(link)
        for session in self.sessions:
            lib.pn_session_free(session)
        self.links.clear()
        self.sessions.clear()
        return True


def text(pointer: CData) -> str | None:
    """Read a C string; bytes that are not UTF-8 are replaced, since this goes to logs and comparisons."""
    if not pointer:
        return None
    raw: bytes = ffi.string(pointer)
    return raw.decode("utf-8", "replace")


def _unpack(span: CData) -> bytes:
    raw: bytes = ffi.unpack(span.start, span.size)
    return raw


def _span(value: str) -> tuple[int, CData]:
    buffer = ffi.from_buffer(value.encode())
    return len(buffer), buffer


def symbols(data: CData) -> frozenset[str]:
    """Read a field that AMQP declares as `symbol, multiple`: one symbol, or an array of them.

    Equal ones are one object, since thousands of links say the same.
    """
    return shared(_symbols(data))


@lru_cache(_KINDS_OF_PEERS)
def shared(names: frozenset[str]) -> frozenset[str]:
    """Give the set that stands for all that are equal to this one."""
    return names


def _symbols(data: CData) -> frozenset[str]:
    lib.pn_data_rewind(data)
    if not lib.pn_data_next(data):
        return frozenset()
    kind = lib.pn_data_type(data)
    if kind == lib.PN_SYMBOL:
        return frozenset({_unpack(lib.pn_data_get_symbol(data)).decode("ascii", "replace")})
    if kind != lib.PN_ARRAY or lib.pn_data_get_array_type(data) != lib.PN_SYMBOL:
        return frozenset()
    found = set()
    lib.pn_data_enter(data)
    while lib.pn_data_next(data):
        found.add(_unpack(lib.pn_data_get_symbol(data)).decode("ascii", "replace"))
    lib.pn_data_exit(data)
    return frozenset(found)


def scalars(data: CData) -> dict[str, Scalar]:
    """Read the scalars among the `fields` that a peer sent (core 2.8.14): text, whole numbers, booleans."""
    if not data:  # a null pointer: proton makes none where nothing came
        return {}
    lib.pn_data_rewind(data)
    if not lib.pn_data_next(data) or lib.pn_data_type(data) != lib.PN_MAP:
        return {}
    found: dict[str, Scalar] = {}
    lib.pn_data_enter(data)
    while lib.pn_data_next(data):
        key = _scalar(data)
        if not lib.pn_data_next(data):
            break
        value = _scalar(data)
        if isinstance(key, str) and value is not None:
            found[key] = value
    lib.pn_data_exit(data)
    return found


def _scalar(data: CData) -> Scalar | None:
    kind = lib.pn_data_type(data)
    if kind == lib.PN_SYMBOL:
        return _unpack(lib.pn_data_get_symbol(data)).decode("ascii", "replace")
    if kind == lib.PN_STRING:
        return _unpack(lib.pn_data_get_string(data)).decode("utf-8", "replace")
    if kind == lib.PN_BOOL:
        return bool(lib.pn_data_get_bool(data))
    read = _INTEGERS.get(kind)
    return None if read is None else int(read(data))


def encoded(data: CData) -> bytes | None:
    """Encode what a piece of data holds: no bytes if it is empty, None if proton cannot encode it.

    Compound values come in their long forms, whichever they came in.
    """
    size = int(lib.pn_data_encoded_size(data))
    if size <= 0:
        return b"" if not size else None
    buffer = ffi.new("char[]", size)
    if lib.pn_data_encode(data, buffer, size) != size:
        return None
    raw: bytes = ffi.unpack(buffer, size)
    return raw


def put_symbols(data: CData, names: Sequence[str]) -> None:
    """Write an array of symbols."""
    lib.pn_data_clear(data)
    lib.pn_data_put_array(data, False, lib.PN_SYMBOL)  # noqa: FBT003 - a C function
    lib.pn_data_enter(data)
    for name in names:
        lib.pn_data_put_symbol(data, _span(name))
    lib.pn_data_exit(data)


def put_fields(data: CData, fields: Mapping[str, str | int | bool]) -> None:
    """Write an AMQP map with symbol keys (the type `fields`, core 2.8.14)."""
    lib.pn_data_clear(data)
    if not fields:
        return
    lib.pn_data_put_map(data)
    lib.pn_data_enter(data)
    for key, value in fields.items():
        lib.pn_data_put_symbol(data, _span(key))
        if isinstance(value, bool):
            lib.pn_data_put_bool(data, value)
        elif isinstance(value, int):
            lib.pn_data_put_long(data, value)
        else:
            lib.pn_data_put_string(data, _span(value))
    lib.pn_data_exit(data)


def write_condition(
    target: CData,
    condition: Condition | None,
    dialect: Dialect = "amqp",
    bytes_max: int = CONDITION_BYTES_MAX,
) -> None:
    """Write an error into a connection's, session's, link's or disposition's local condition.

    It may have so many bytes: proton divides no other frame than a transfer's, and one that is larger than
    the peer takes ends the connection.
    """
    lib.pn_condition_clear(target)
    if condition is None:
        return
    condition = condition.for_wire(dialect=dialect).within(bytes_max)
    lib.pn_condition_set_name(target, condition.name.encode())
    lib.pn_condition_set_description(target, condition.description.encode())
    put_fields(lib.pn_condition_info(target), condition.info)


def read_condition(source: CData) -> Condition | None:
    """Read what a peer says went wrong, with the scalars of its info map."""
    if not lib.pn_condition_is_set(source):
        return None
    return Condition(
        text(lib.pn_condition_get_name(source)) or "",
        text(lib.pn_condition_get_description(source)) or "",
        scalars(lib.pn_condition_info(source)),
    )


def condition_bytes_max(transport: CData) -> int:
    """Tell how large a condition may be for this connection's peer."""
    frame_bytes = int(lib.pn_transport_get_remote_max_frame(transport)) or CONDITION_BYTES_MAX
    return max(0, min(CONDITION_BYTES_MAX, frame_bytes - FRAME_OVERHEAD_BYTES))


def write_outcome(
    delivery: CData,
    outcome: Outcome,
    dialect: Dialect = "amqp",
    bytes_max: int = CONDITION_BYTES_MAX,
) -> None:
    """Set a delivery's local outcome; the caller settles, or not."""
    local = lib.pn_delivery_local(delivery)
    if outcome.state is DeliveryState.REJECTED:
        write_condition(lib.pn_disposition_condition(local), outcome.condition, dialect, bytes_max)
    elif outcome.state is DeliveryState.MODIFIED:
        lib.pn_disposition_set_failed(local, outcome.delivery_failed)
        lib.pn_disposition_set_undeliverable(local, outcome.undeliverable_here)
    lib.pn_delivery_update(delivery, int(outcome.state))


def delivery_tag(delivery: CData) -> bytes:
    """Read a delivery's tag (core 2.7.5)."""
    span = lib.pn_delivery_tag(delivery)
    return _unpack(span) if span.size else b""


def read_outcome(delivery: CData, state: int) -> Outcome:
    """Read a delivery's remote outcome. A state that is none of AMQP's outcomes counts as no state."""
    if state not in {
        DeliveryState.ACCEPTED,
        DeliveryState.REJECTED,
        DeliveryState.RELEASED,
        DeliveryState.MODIFIED,
    }:
        return Outcome(DeliveryState.NONE)
    remote = lib.pn_delivery_remote(delivery)
    if state == DeliveryState.REJECTED:
        return Outcome(DeliveryState.REJECTED, read_condition(lib.pn_disposition_condition(remote)))
    if state == DeliveryState.MODIFIED:
        return Outcome(
            DeliveryState.MODIFIED,
            delivery_failed=bool(lib.pn_disposition_is_failed(remote)),
            undeliverable_here=bool(lib.pn_disposition_is_undeliverable(remote)),
            annotations=_annotations(remote),
        )
    return Outcome(DeliveryState(state))


def _annotations(remote: CData) -> bytes:
    """Read the message-annotations of the outcome modified (core 3.4.5): a map, encoded.

    What is no map, or damaged, counts as none: the outcome means the same without them.
    """
    raw = encoded(lib.pn_disposition_annotations(remote))
    if not raw:
        return b""
    try:
        annotations, _ = codec.decode(raw)
    except codec.DecodeError:
        return b""
    return raw if annotations and isinstance(annotations, codec.Map) else b""


def forget_terminus(terminus: CData) -> None:
    """Free what proton keeps of a terminus: four pieces of data, each decoded because it was looked at."""
    lib.pn_terminus_copy(terminus, _NO_TERMINUS)


def renew_window(link: CData) -> None:
    """Have the session's window, if it has one, sent again in a flow that names no link.

    For a link that ends or has ended: proton would send the window with the link that took the last
    bytes, which it forgets to do when that link closes, or does with a handle that is free already.
    """
    session = lib.pn_link_session(link)
    capacity = lib.pn_session_get_incoming_capacity(session)
    if capacity:
        lib.pn_session_set_incoming_capacity(session, capacity)
