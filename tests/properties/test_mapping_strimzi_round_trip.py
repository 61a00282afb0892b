"""What survives the profiles strimzi and strimzi-json: as their docstrings tell, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.amqp_values import BY_TYPE, DATA, VALUE, Message, bodies, messages

from bridge.codec import Float, Int, Long, Map, Symbol, ULong, encode
from bridge.mapping import names, strimzi, strimzi_json
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, Value, parse
from bridge.mapping.options import MappingOptions
from bridge.mapping.profiles import PROFILES
from bridge.mapping.to_text import double_text, float_text

if TYPE_CHECKING:
    from bridge.mapping.message import Body
    from bridge.mapping.record import Headers

TIME_MS = 1_700_000_000_123
ADDRESS = "orders/group.id/billing"
OPTIONS = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000)

hundreds = settings(max_examples=100, deadline=None)
keys = st.none() | st.binary(max_size=8) | st.text(max_size=8)
both = pytest.mark.parametrize("profile", ["strimzi", "strimzi-json"])

data = st.lists(st.tuples(st.just(DATA), BY_TYPE["binary"]), min_size=1, max_size=3)
string_or_null = (BY_TYPE["string"] | st.none()).map(lambda value: [(VALUE, value)])


@hundreds
@given(messages, data | string_or_null, keys)
def test_body_and_key_of_a_message_survive_strimzi(
    message: Message, body: list[tuple[int, object]], key: str | bytes | None
) -> None:
    message.body = body
    message.annotations += [(Symbol("x-opt-bridge.key"), key)] if key is not None else []
    value, record_key, headers, _, _ = strimzi.message_to_record(OPTIONS)(message.encoded())
    assert record_key == (key.encode() if isinstance(key, str) else key)
    assert headers is None
    to_message = strimzi.record_to_message("orders", ADDRESS, OPTIONS)
    back = parse(to_message(3, 17, 1, TIME_MS, record_key, value, headers, 0))
    content = parse(message.encoded()).body
    if isinstance(content, Data):
        assert back.body == Data((b"".join(content.sections),))
    elif isinstance(content, Value):
        text = content.value
        assert back.body == (Data((text.encode(),)) if isinstance(text, str) else content)
    assert back.properties == {"to": ADDRESS}
    assert not back.application_properties


def left_by_json(value: object) -> object:
    """Give what JSON leaves of a value."""
    if isinstance(value, bool | bytes) or value is None:
        return value
    if isinstance(value, float):
        # A float has the shortest text for 32 bits, which is another number as a double.
        text = (float_text if isinstance(value, Float) else double_text)(value).decode()
        return float(text) if isfinite(value) else text
    if isinstance(value, int):
        kinds = ((Int, 31), (Long, 63), (ULong, 64))
        return next(kind(value) for kind, bits in kinds if -(2**bits) <= value < 2**bits)
    if isinstance(value, list):
        return [left_by_json(element) for element in value]
    if isinstance(value, Map):
        members = {str(key): left_by_json(content) for key, content in value}
        return Map(members.items())
    assert isinstance(value, str | UUID)
    return str(value)


_single = st.one_of(*(kind for name, kind in BY_TYPE.items() if not name.startswith("decimal")))


def _compounds(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    pairs = st.dictionaries(st.text(max_size=5), inner, max_size=3).map(lambda members: Map(members.items()))
    return st.lists(inner, max_size=3) | pairs


json_values = st.recursive(_single, _compounds, max_leaves=8)
json_bodies: st.SearchStrategy[list[tuple[int, object]]] = (
    data | string_or_null | _compounds(json_values).map(lambda value: [(VALUE, value)])
)
pairs_of = st.dictionaries(st.text(max_size=5), json_values, max_size=4)
own_annotations = st.dictionaries(
    st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=5).map(Symbol),
    json_values,
    max_size=4,
)


def expected_body(body: Body) -> Body:
    if isinstance(body, Data):
        return Data((b"".join(body.sections),))
    assert isinstance(body, Value)
    return Value.of(left_by_json(body.value))


@hundreds
@given(messages, json_bodies, pairs_of, own_annotations)
def test_a_message_survives_strimzi_json_in_the_types_of_json(
    message: Message,
    body: list[tuple[int, object]],
    application: dict[str, object],
    annotations: dict[Symbol, object],
) -> None:
    message = replace(
        message, body=body, application=list(application.items()), annotations=list(annotations.items())
    )
    there = parse(message.encoded())
    record = strimzi_json.message_to_record(OPTIONS)(message.encoded())
    to_message = strimzi_json.record_to_message("orders", ADDRESS, OPTIONS)
    delivered = to_message(3, 17, 1, TIME_MS, record[1], record[0], record[2], 0)
    assert to_message.damaged == 0
    back = parse(delivered)
    assert back.body == expected_body(there.body)
    assert encode(back.application_properties) == encode(left_by_json(there.application_properties))
    kept = Map(pair for pair in back.message_annotations if not names.is_hop(str(pair[0])))
    assert encode(Map((str(key), value) for key, value in kept)) == encode(
        left_by_json(there.message_annotations)
    )
    stored = {name: there.properties.get(name) for name in ("to", "subject", "reply-to")}
    stored["to"] = stored["to"] if stored["to"] is not None else ADDRESS
    assert stored == {name: back.properties.get(name) for name in stored}
    for name in ("message-id", "correlation-id"):
        identity = there.properties.get(name)
        assert back.properties.get(name) == (str(identity) if isinstance(identity, UUID) else identity)
    # Once it has the types of JSON, it keeps them.
    assert strimzi_json.message_to_record(OPTIONS)(delivered) == (*record[:3], 3, 0)


headers_of_records = st.lists(
    st.tuples(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
        | st.sampled_from(["subject", "amqp-types", "amqp.body", "x-opt-a"]),
        st.none() | st.binary(max_size=6),
    ),
    max_size=4,
)


@hundreds
@given(headers_of_records, st.none() | st.binary(max_size=9), st.none() | st.binary(max_size=20))
def test_every_record_survives_strimzi(headers: Headers, key: bytes | None, value: bytes | None) -> None:
    to_message = strimzi.record_to_message("orders", ADDRESS, OPTIONS)
    delivered = to_message(3, 17, 1, TIME_MS, key, value, headers, 1)
    assert strimzi.message_to_record(OPTIONS)(delivered) == (value, key, headers or None, 3, 0)


json_texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("properties", "applicationProperties", "messageAnnotations", "body", "type"),
                    *("section", "messageId", "to", "length", "array", "arrayOffset"),
                ]
            ),
            inner | st.sampled_from(["data", "amqpValue", "AP8", 2, 0]),
            max_size=4,
        )
    ),
    max_leaves=10,
)


@hundreds
@given(headers_of_records, st.none() | st.binary(max_size=9), json_texts | st.none())
def test_key_and_headers_of_every_record_survive_strimzi_json(
    headers: Headers, key: bytes | None, root: object
) -> None:
    value = None if root is None else json.dumps(root).encode()
    to_message = strimzi_json.record_to_message("orders", ADDRESS, OPTIONS)
    delivered = to_message(3, 17, 1, TIME_MS, key, value, headers, 1)
    try:
        stored = strimzi_json.message_to_record(OPTIONS)(delivered)
    except MappingError as error:  # a body that the Java bridge wrote for none of its own
        assert error.condition == "amqp:not-implemented"  # noqa: PT017 - either is allowed
        return
    assert stored[1:] == (key, headers or None, 3, 0)
    assert (stored[0] is None) == (value is None)


@both
@hundreds
@given(messages, bodies, st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=3))
def test_a_message_of_any_kind_is_a_record_or_refused(
    profile: str, message: Message, body: list[tuple[int, object]], damage: list[tuple[int, int]]
) -> None:
    message.body = body
    damaged = bytearray(message.encoded())
    for place, byte in damage:
        if damaged:
            damaged[place % len(damaged)] = byte
    try:
        value, key, headers, _, _ = PROFILES[profile].message_to_record(OPTIONS)(bytes(damaged))
    except MappingError:
        return
    to_message = PROFILES[profile].record_to_message("orders", ADDRESS, OPTIONS)
    parse(to_message(0, 0, 1, TIME_MS, key, value, headers, 0))
    assert to_message.damaged == 0
