"""What receivers annotate, and records that become dead letters: whatever they are, the laws hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.amqp_values import Message, messages, values
from support.mapping_laws import ADDRESS, TIME_MS, Headers, headers_of_records, receivers_maps, sections

from bridge.codec import Map, Symbol, decode, encode
from bridge.mapping import names
from bridge.mapping.annotate import ANNOTATIONS_BYTES_MAX, annotate, merge
from bridge.mapping.annotations import KEY_RANKS
from bridge.mapping.dead_letter import Origin, dead_letter_headers
from bridge.mapping.options import MappingOptions
from bridge.mapping.profiles import PROFILES
from bridge.model.conditions import Condition

GENEROUS = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000)
ORIGIN = Origin("orders", 3, 17, TIME_MS, "billing")

hundreds = settings(max_examples=200, deadline=None)


def pairs(encoded: bytes) -> dict[bytes, bytes]:
    """Give a map's pairs, encoded, without what no receiver may set."""
    content = decode(encoded)[0] if encoded else Map()
    assert isinstance(content, Map)
    return {
        encode(key): encode(value)
        for key, value in content
        if not isinstance(key, Symbol) or not (names.is_hop(key) or key in KEY_RANKS or "\0" in key)
    }


@hundreds
@given(messages, receivers_maps)
def test_annotations_are_merged_and_all_else_is_as_it_was(message: Message, given_map: bytes) -> None:
    before = message.encoded()
    after = annotate(before, given_map)
    expected, found = sections(before), sections(after)
    wanted = {encode(key): encode(value) for key, value in message.annotations} | pairs(given_map)
    assert {encode(key): encode(value) for key, value in found.annotations} == wanted
    found.annotations = expected.annotations
    assert found.encoded() == expected.encoded()
    assert annotate(after, given_map) == after


@hundreds
@given(
    messages.map(Message.encoded) | st.binary(max_size=40), receivers_maps | st.binary(max_size=30), st.data()
)
def test_nothing_fails_and_no_byte_of_the_rest_is_lost(
    message: bytes, given_map: bytes, data: st.DataObject
) -> None:
    damaged = bytearray(given_map)
    if damaged:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    annotated = annotate(message, bytes(damaged))
    assert annotated == message or len(annotated) > len(message) - ANNOTATIONS_BYTES_MAX
    merged = merge(bytes(damaged), given_map)
    assert merge(merged, b"") == merge(b"", merged) == merged


@hundreds
@given(receivers_maps, receivers_maps, receivers_maps)
def test_merging_is_the_same_in_any_grouping(first: bytes, second: bytes, third: bytes) -> None:
    assert pairs(merge(first, second)) == pairs(first) | pairs(second)
    assert pairs(merge(merge(first, second), third)) == pairs(merge(first, merge(second, third)))
    assert annotate(annotate(b"", first), second) == annotate(b"", merge(first, second))


@hundreds
@given(
    headers_of_records,
    st.none() | st.binary(max_size=9),
    st.none() | st.binary(max_size=9) | values.map(encode),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["native", "eventhubs", "cloudevents"]),
    st.none() | st.builds(Condition, st.text(max_size=9), st.text(max_size=9)),
    st.just(b"") | receivers_maps,
)
def test_a_dead_letter_that_is_read_and_stored_is_the_same_record(
    headers: Headers,
    key: bytes | None,
    value: bytes | None,
    timestamp_type: int,
    profile: str,
    condition: Condition | None,
    annotations: bytes,
) -> None:
    letter = dead_letter_headers(
        headers, ORIGIN, reason="rejected", attempts=2, condition=condition, annotations=annotations
    )
    read = PROFILES[profile].record_to_message("orders.dlt", ADDRESS, GENEROUS)
    message = read(3, 5, timestamp_type, TIME_MS, key, value, letter, 0)

    told = {str(name): said for name, said in sections(message).application}
    assert told["amqp.dlt.reason"] == "rejected"
    assert told["amqp.dlt.offset"] == "17"
    if dict(letter).get("amqp.body") == b"value;json":
        return  # it comes back as such where the route writes JSON
    stored = PROFILES[profile].message_to_record(GENEROUS)(message)
    assert stored == (value, key, letter, 3, 0)
