"""The two laws of profile cloudevents, from those of native: only names and texts of headers differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.amqp_values import BY_TYPE, Message, compounds, messages, scalars

from bridge.mapping import cloudevents, native
from bridge.mapping.options import MappingOptions

if TYPE_CHECKING:
    from bridge.mapping.record import Headers

TIME_MS = 1_700_000_000_123
OPTIONS = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000)

hundreds = settings(max_examples=150, deadline=None)

to_record = cloudevents.message_to_record(OPTIONS)
to_native_record = native.message_to_record(OPTIONS)
to_message = cloudevents.record_to_message("orders", "orders", OPTIONS)

attribute_names = st.sampled_from(["id", "time", "specversion", "partitionkey", "", "é"])
prefixes = st.sampled_from(
    ["cloudEvents:", "cloudEvents_", "ce_", "app.ce_", "cloudEvents", "amqp.cloudevents"]
)
attributes = st.dictionaries(
    st.tuples(prefixes, attribute_names).map("".join), scalars | BY_TYPE["timestamp"] | compounds, max_size=4
)


@hundreds
@given(messages, attributes)
def test_a_message_that_is_stored_is_read_as_native_reads_it(
    message: Message, attributes: dict[str, object]
) -> None:
    message.application = [pair for pair in message.application if pair[0] not in attributes]
    message.application += attributes.items()
    value, _, headers, partition, time = to_record(message.encoded())
    reference = to_native_record(message.encoded())
    assert (value, partition, time) == (reference[0], *reference[3:])
    assert list(cloudevents.sent(headers or [])) == (reference[2] or [])


texts = st.sampled_from(
    [
        *(b"", b"1", b"true", b"1522900584000", b"2018-04-05T03:56:24Z", b"2018-04-05T03:56:24.000Z"),
        *(b"2018-04-05", b"AP8=", b"AP8", b"\xff", b"_", b"as-is", b"253402300800000", b"null"),
    ]
)
names = st.sampled_from(
    [
        *("ce_id", "ce_time", "app.ce_id", "app.app.ce_id", "cloudEvents:id", "cloudEvents_id"),
        *("app.cloudEvents:id", "amqp.cloudevents", "ce_", "app.ce_", "a", "content-type", "group-id"),
        *("ce_partitionkey", "subject"),
    ]
)
types = st.sampled_from(
    [
        *(b"v1;ce_time=timestamp", b"v1;ce_id=binary", b"v1;ce_id=timestamp", b"v1;ce_id=int", b"v2"),
        *(b"v1;app.ce_id=int", b"v1;cloudEvents%3Aid=int", b"v1;ce%5Fid=int", b"v1;ce_id=int;ce_id=long"),
        *(b"v1;a=int;ce_time=timestamp", b"\xff", b"v1;ce_=null"),
    ]
)
headers_of_records = st.lists(
    st.tuples(names, st.none() | texts) | st.tuples(st.just("amqp-types"), types), max_size=6
)


@hundreds
@given(headers_of_records, st.none() | st.binary(max_size=4), st.none() | texts)
@example([("ce_time", b"2018-04-05T03:56:24Z"), ("amqp-types", b"v1;ce_time=timestamp")], None, b"")
@example([("amqp.cloudevents", b"_"), ("ce_id", b"1")], None, b"")
@example([("amqp.cloudevents", b"as-is"), ("amqp.cloudevents", b"as-is")], None, b"")
def test_a_record_that_is_read_and_stored_is_the_same_record(
    headers: Headers, key: bytes | None, value: bytes | None
) -> None:
    delivered = to_message(3, 17, 1, TIME_MS, key, value, headers, 0)
    assert to_record(delivered) == (value, key, headers or None, 3, 0)
