from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bridge import codec
from bridge.amqp import native
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState, Outcome
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UNDELIVERABLE = Outcome(DeliveryState.MODIFIED, undeliverable_here=True)
REJECTED = Outcome(
    DeliveryState.REJECTED,
    Condition(
        conditions.INVALID_FIELD, "partition 7 of 3", {"topic": "orders", "kafka-code": 3, "retriable": False}
    ),
)


@pytest.fixture
def data() -> Iterator[Any]:
    """Give an empty piece of AMQP data."""
    made = lib.pn_data(0)
    yield made
    lib.pn_data_free(made)


@pytest.fixture
def connection() -> Iterator[Any]:
    """Give a connection that is bound to nothing."""
    made = lib.pn_connection()
    yield made
    lib.pn_connection_release(made)
    lib.pn_decref(made)


def put_symbols(data: Any, *values: str) -> None:  # noqa: ANN401 - a pointer
    for value in values:
        encoded = ffi.from_buffer(value.encode())
        lib.pn_data_put_symbol(data, (len(encoded), encoded))


def put_array(data: Any, kind: int, put: Callable[[], None]) -> None:  # noqa: ANN401 - a pointer
    lib.pn_data_put_array(data, False, kind)  # noqa: FBT003 - a C function
    lib.pn_data_enter(data)
    put()
    lib.pn_data_exit(data)


# ---------------------------------------------------------------------- text


def test_a_missing_string_is_none() -> None:
    assert native.text(ffi.NULL) is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(b"", ""), (b"orders", "orders"), ("Grüße".encode(), "Grüße"), (b"\xff!", "\ufffd!")],
)
def test_text_is_utf_8_and_never_fails(raw: bytes, expected: str) -> None:
    assert native.text(ffi.new("char[]", raw)) == expected


# ---------------------------------------------------------------------- symbols


def test_nothing_is_no_symbol(data: Any) -> None:  # noqa: ANN401 - a pointer
    assert native.symbols(data) == frozenset()


def test_one_symbol(data: Any) -> None:  # noqa: ANN401 - a pointer
    put_symbols(data, "amqp:accepted:list")
    assert native.symbols(data) == {"amqp:accepted:list"}
    assert native.symbols(data) == {"amqp:accepted:list"}


def test_an_array_of_symbols(data: Any) -> None:  # noqa: ANN401 - a pointer
    put_array(data, lib.PN_SYMBOL, lambda: put_symbols(data, "a", "b", "a"))
    assert native.symbols(data) == {"a", "b"}


def test_equal_symbols_are_one_object(data: Any) -> None:  # noqa: ANN401 - a pointer
    put_array(data, lib.PN_SYMBOL, lambda: put_symbols(data, "a", "b"))
    assert native.symbols(data) is native.symbols(data)


def test_an_array_of_something_else(data: Any) -> None:  # noqa: ANN401 - a pointer
    put_array(data, lib.PN_INT, lambda: lib.pn_data_put_int(data, 1))
    assert native.symbols(data) == frozenset()


def test_a_value_of_another_type(data: Any) -> None:  # noqa: ANN401 - a pointer
    lib.pn_data_put_int(data, 1)
    assert native.symbols(data) == frozenset()


def test_what_proton_keeps_of_a_terminus_can_be_forgotten() -> None:
    connection = lib.pn_connection()
    terminus = lib.pn_link_remote_source(lib.pn_receiver(lib.pn_session(connection), b"link"))
    lib.pn_terminus_set_address(terminus, b"orders")
    put_symbols(lib.pn_terminus_outcomes(terminus), "amqp:accepted:list")
    native.forget_terminus(terminus)
    assert native.text(lib.pn_terminus_get_address(terminus)) is None
    assert native.symbols(lib.pn_terminus_outcomes(terminus)) == frozenset()
    lib.pn_connection_release(connection)


# ---------------------------------------------------------------------- fields


def read_fields(data: Any) -> dict[str, object]:  # noqa: ANN401 - a pointer
    lib.pn_data_rewind(data)
    if not lib.pn_data_next(data):
        return {}
    assert lib.pn_data_type(data) == lib.PN_MAP
    count = lib.pn_data_get_map(data) // 2
    lib.pn_data_enter(data)
    found: dict[str, object] = {}
    for _ in range(count):
        lib.pn_data_next(data)
        assert lib.pn_data_type(data) == lib.PN_SYMBOL
        span = lib.pn_data_get_symbol(data)
        key = ffi.unpack(span.start, span.size).decode()
        lib.pn_data_next(data)
        kind = lib.pn_data_type(data)
        if kind == lib.PN_BOOL:
            found[key] = bool(lib.pn_data_get_bool(data))
        elif kind == lib.PN_LONG:
            found[key] = int(lib.pn_data_get_long(data))
        else:
            assert kind == lib.PN_STRING
            span = lib.pn_data_get_string(data)
            found[key] = ffi.unpack(span.start, span.size).decode()
    return found


def test_fields_keep_their_types(data: Any) -> None:  # noqa: ANN401 - a pointer
    fields: dict[str, str | int | bool] = {
        "topic": "Grüße",
        "kafka-code": -195,
        "retriable": True,
        "empty": "",
    }
    native.put_fields(data, fields)
    assert read_fields(data) == fields
    assert read_fields(data)["retriable"] is True


def test_no_fields_are_no_map(data: Any) -> None:  # noqa: ANN401 - a pointer
    native.put_fields(data, {"old": 1})
    native.put_fields(data, {})
    assert read_fields(data) == {}
    assert lib.pn_data_encoded_size(data) == 0


# ---------------------------------------------------------------------- encoding


def decode_into(data: Any, raw: bytes) -> None:  # noqa: ANN401 - a pointer
    lib.pn_data_decode(data, ffi.from_buffer(raw), len(raw))
    lib.pn_data_rewind(data)


def test_nothing_is_encoded_as_nothing(data: Any) -> None:  # noqa: ANN401 - a pointer
    assert native.encoded(data) == b""


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        codec.Map(
            [(codec.Symbol("a"), codec.ULong(7)), (codec.Symbol("b"), codec.Described(codec.Int(1), b"x"))]
        ),
        [codec.UByte(1), [], codec.Array("uint", (codec.UInt(1), codec.UInt(2)))],
    ],
    ids=str,
)
def test_what_is_encoded_has_its_values_and_types(data: Any, value: object) -> None:  # noqa: ANN401 - a pointer
    decode_into(data, codec.encode(value))
    raw = native.encoded(data)
    assert raw is not None
    decoded, end = codec.decode(raw)
    assert end == len(raw)
    assert codec.encode(decoded) == codec.encode(value)
    # It can be done again, and in between.
    lib.pn_data_next(data)
    assert native.encoded(data) == raw


def test_what_proton_cannot_encode_is_none(data: Any) -> None:  # noqa: ANN401 - a pointer
    # An array of many nulls in ten bytes: proton takes what it has room for, and no array's type.
    decode_into(data, b"\xf0\x00\x00\x00\x05\x80\x00\x00\x00\x40")
    assert native.encoded(data) is None


# ---------------------------------------------------------------------- conditions


def test_a_condition_is_written_and_read(connection: Any) -> None:  # noqa: ANN401 - a pointer
    target = lib.pn_connection_condition(connection)
    assert native.read_condition(target) is None
    native.write_condition(target, Condition(conditions.NOT_FOUND, "no topic", {"topic": "orders"}))
    assert native.read_condition(target) == Condition(conditions.NOT_FOUND, "no topic", {"topic": "orders"})
    assert read_fields(lib.pn_condition_info(target)) == {"topic": "orders"}


def test_an_older_condition_leaves_nothing_behind(connection: Any) -> None:  # noqa: ANN401 - a pointer
    target = lib.pn_connection_condition(connection)
    native.write_condition(target, Condition(conditions.NOT_FOUND, "no topic", {"topic": "orders"}))
    native.write_condition(target, Condition(conditions.INTERNAL_ERROR, "oh"))
    assert native.read_condition(target) == Condition(conditions.INTERNAL_ERROR, "oh")
    assert read_fields(lib.pn_condition_info(target)) == {}
    native.write_condition(target, None)
    assert native.read_condition(target) is None


# ---------------------------------------------------------------------- outcomes


def local_outcome(delivery: Any) -> Outcome:  # noqa: ANN401 - a pointer
    """Read what `write_outcome` has set."""
    state = DeliveryState(lib.pn_delivery_local_state(delivery))
    local = lib.pn_delivery_local(delivery)
    condition = native.read_condition(lib.pn_disposition_condition(local))
    return Outcome(
        state,
        condition,
        bool(lib.pn_disposition_is_failed(local)),
        bool(lib.pn_disposition_is_undeliverable(local)),
    )


@pytest.mark.parametrize("outcome", [ACCEPTED, RELEASED, MODIFIED_FAILED, UNDELIVERABLE])
def test_an_outcome_is_written(connection: Any, outcome: Outcome) -> None:  # noqa: ANN401 - a pointer
    link = lib.pn_receiver(lib.pn_session(connection), b"link")
    delivery = lib.pn_delivery(link, (3, ffi.from_buffer(b"tag")))
    native.write_outcome(delivery, outcome)
    assert local_outcome(delivery) == outcome


def test_a_rejection_is_written_with_its_reason(connection: Any) -> None:  # noqa: ANN401 - a pointer
    link = lib.pn_receiver(lib.pn_session(connection), b"link")
    delivery = lib.pn_delivery(link, (3, ffi.from_buffer(b"tag")))
    native.write_outcome(delivery, REJECTED)
    assert local_outcome(delivery) == REJECTED


@pytest.mark.parametrize("state", [0, DeliveryState.RECEIVED, 0x33, 0x34, 2**63])
def test_what_is_no_outcome_counts_as_none(connection: Any, state: int) -> None:  # noqa: ANN401 - a pointer
    link = lib.pn_receiver(lib.pn_session(connection), b"link")
    delivery = lib.pn_delivery(link, (3, ffi.from_buffer(b"tag")))
    assert native.read_outcome(delivery, state) == Outcome(DeliveryState.NONE)
