"""A layout gives what the ordinary way gives, whatever the values of later records are."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.mapping_laws import ADDRESS, TIME_MS, Headers, headers_of_records, texts

from bridge.mapping.native import MappingOptions, record_to_message
from bridge.mapping.to_message import USES_BEFORE_LAYOUT

BRIDGED: Headers = [
    ("amqp.durable", b"true"),
    ("message-id", b"order-1"),
    ("content-type", b"application/json"),
    ("creation-time", b"1700000000123"),
    ("count", b"100000"),
    ("price", b"12.5"),
    ("urgent", b"true"),
    ("trace", b"00000000-0400-0000-0000-000000000000"),
    ("amqp-types", b"v1;count=int;price=double;urgent=boolean;trace=uuid"),
]
FOREIGN: Headers = [("a", b"1"), ("b", "é".encode())]
OTHER_VALUES = st.sampled_from(
    [None, b"", b"x" * 255, b"x" * 256, b"\xff", "é".encode(), b"-1", b"1e400", b"true"]
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([BRIDGED, FOREIGN]) | headers_of_records,
    st.data(),
    st.none() | st.binary(max_size=9) | st.text(max_size=9).map(str.encode),
    st.binary(max_size=3) | st.sampled_from([b"x" * 255, b"x" * 256]),
)
@example([("x-opt-a", b"1"), ("a", b"2")], None, b"k", b"v")
@example([("amqp.ttl", b"1000"), ("a", b"2")], None, None, b"v")
def test_a_record_like_many_before_it_is_encoded_as_if_it_were_the_first(
    headers: Headers, data: st.DataObject | None, key: bytes | None, value: bytes
) -> None:
    for options in (
        MappingOptions(),
        MappingOptions(foreign_headers="binary", creation_time_from_record=False),
        MappingOptions(now_ms=lambda: TIME_MS + 500, expired="skip", event_streams=True),
    ):
        experienced = record_to_message("orders", ADDRESS, options)
        for number in range(USES_BEFORE_LAYOUT):
            experienced(3, number, 1, TIME_MS, key, value, headers, 0)
        later = headers
        if data is not None:
            changed = data.draw(
                st.lists(st.none() | OTHER_VALUES | texts, min_size=1, max_size=len(headers) + 1)
            )
            pairs = zip(headers, changed, strict=False)
            later = [(name, other if other is not None else text) for (name, text), other in pairs]
            later += headers[len(later) :]
        for record in (
            headers,
            later,
            [*later, ("more", b"1")],
            [(name + "2", text) for name, text in later],
        ):
            for attempts, again in ((0, False), (1, True)):
                given_to_both = (3, 10**9, 1, TIME_MS + 7, key, value, record, attempts, again)
                fresh = record_to_message("orders", ADDRESS, options)
                assert experienced(*given_to_both) == fresh(*given_to_both)
                assert experienced.damaged == 0 or fresh.damaged in {0, 1}
