from __future__ import annotations

import pytest

from bridge.mapping.options import MappingOptions
from bridge.mapping.plans import TIME, Plan, any_encoded, as_it_is, compile_plan, decisive_header


def plan(
    *headers: str, types: bytes | None = None, timed: bool = False, options: MappingOptions | None = None
) -> Plan:
    return compile_plan(headers, types, "address", options or MappingOptions(), timed=timed)


def test_headers_go_to_their_sections() -> None:
    made = plan(
        *("amqp.durable", "x-opt-a", "amqp.ma.b", "message-id", "subject", "count", "app.subject"),
        *("amqp.body", "amqp.ft.crc", "amqp-types"),
        types=b"v1;count=int",
    )
    assert (made.exact, made.bridged, made.damaged) == (True, True, False)
    assert made.header_fields == [(0, "amqp.durable")]
    assert [(place, before) for place, before, _ in made.annotations] == [
        (1, b"\xa3\x07x-opt-a"),
        (2, b"\xa3\x01b"),
    ]
    assert [place for place, _, _ in made.properties] == [3, 4]
    assert [(place, before) for place, before, _ in made.application] == [
        (5, b"\xa1\x05count"),
        (6, b"\xa1\x07subject"),
    ]
    assert made.body == 7
    assert [(place, before) for place, before, _ in made.footers] == [(8, b"\xa3\x03crc")]
    assert made.elsewhere == {0: "amqp.durable", 3: "message-id", 4: "subject", 8: "amqp.ft.crc"}


def test_properties_are_laid_out_with_nulls_and_the_address() -> None:
    made = plan("message-id", "subject", "group-id")
    assert [before for _, before, _ in made.properties] == [
        b"",
        b"\x40\xa1\x07address",
        b"\x40" * 6,
    ]
    assert (made.property_end, made.property_count) == (b"", 11)


def test_the_address_comes_last_if_nothing_follows() -> None:
    made = plan("message-id")
    assert (made.property_end, made.property_count) == (b"\x40\xa1\x07address", 3)
    assert plan().property_end == b"\x40\x40\xa1\x07address"


def test_without_an_address_there_may_be_no_properties() -> None:
    made = compile_plan((), None, "", MappingOptions(), timed=False)
    assert (made.properties, made.property_end, made.property_count) == ([], b"", 0)


def test_a_record_of_others_gets_its_time() -> None:
    made = plan("a", timed=True)
    assert made.timed
    assert made.properties == [(TIME, b"\x40\x40\xa1\x07address" + b"\x40" * 6, as_it_is)]
    assert not plan("a", timed=False).timed
    assert not plan("creation-time", timed=True).timed
    assert not plan("amqp.body", timed=True).timed
    assert not plan("amqp-types", types=b"v1;a=int", timed=True).timed
    assert not plan("a", timed=True, options=MappingOptions(creation_time_from_record=False)).timed


def test_what_the_bridge_would_fill_in_is_marked_as_the_records_own() -> None:
    made = plan("x-opt-partition-key", "to", "creation-time")
    assert [entry[2:-1] for entry in made.stored] == [b"x-opt-partition-key", b"to", b"creation-time"]
    assert made.own_partition_key


EXACT = [
    ((), None),
    (("a", "b"), None),
    (("subject", "a"), None),
    (("a", "amqp-types"), b"v1;a=int"),
    (("message-id", "a", "b", "amqp-types"), b"v1;message-id=uuid;b=null"),
    (("traceparent", "amqp-types"), b"v1;traceparent=annotation"),
    (("amqp.ma.#5", "amqp-types"), b"v1;amqp.ma.%235=symbol"),
    (("app.subject", "amqp-types"), b"v1;app.subject=boolean"),
    (("amqp.ma.traceparent", "traceparent"), None),
]

NOT_EXACT = [
    (("a", "a"), None),  # twice
    (("a", "subject"), None),  # another order
    (("subject", "message-id"), None),
    (("amqp.ttl", "amqp.durable"), None),
    (("a", "x-opt-a"), None),
    (("amqp-types", "a"), b"v1;a=int"),
    (("amqp.ft.a", "amqp.body"), None),
    (("a", "amqp-types"), b"v1;a=string"),  # hints that are not written
    (("subject", "amqp-types"), b"v1;subject=string"),
    (("a", "amqp-types"), b"v1"),
    (("a", "amqp-types"), b"v2;a=int"),
    (("a", "amqp-types"), None),
    (("a", "amqp-types"), b"v1;a=int;b=int"),
    (("a", "b", "amqp-types"), b"v1;b=int;a=int"),
    (("a", "amqp-types"), b"v1;a=int;a=int"),
    (("a", "amqp-types"), b"v1;%61=int"),
    (("a", "amqp-types"), b"v1;a=nonsense"),
    (("a", "amqp-types"), b"v1;a=annotation"),
    (("amqp.body", "amqp-types"), b"v1;amqp.body=int"),
    (("amqp.durable", "amqp-types"), b"v1;amqp.durable=boolean"),
    (("amqp.ft.a", "amqp-types"), b"v1;amqp.ft.a=int"),
    (("app.a",), None),  # names that are not written
    (("amqp.ma.#05",), None),
    (("amqp.unknown",), None),
    (("x-opt-é",), None),
    (("x-opt-bridge.offset",), None),
    (("x-opt-kafka-key",), None),
    (("amqp.da.a",), None),
    (("AMQPheaders", "a"), None),
    (("amqp.ma.traceparent",), None),
    (("traceparent", "amqp.ma.traceparent", "amqp-types"), b"v1;traceparent=annotation"),
]


@pytest.mark.parametrize(("headers", "types"), EXACT)
def test_headers_that_would_be_written_so_again(headers: tuple[str, ...], types: bytes | None) -> None:
    assert plan(*headers, types=types).exact


@pytest.mark.parametrize(("headers", "types"), NOT_EXACT)
def test_headers_that_would_be_written_otherwise(headers: tuple[str, ...], types: bytes | None) -> None:
    assert not plan(*headers, types=types).exact


@pytest.mark.parametrize("types", [None, b"v2;a=int", b"\xff"])
def test_types_that_cannot_be_read_are_damaged(types: bytes | None) -> None:
    assert plan("a", "amqp-types", types=types).damaged
    assert not plan("a", "amqp-types", types=b"v1;a=int").damaged


def test_the_last_of_two_headers_counts() -> None:
    assert [place for place, _, _ in plan("a", "b", "a").application] == [1, 2]


def test_headers_of_others_as_binary() -> None:
    binary = MappingOptions(foreign_headers="binary")
    [(_, _, writer)] = plan("a", options=binary).application
    assert writer(b"x") == b"\xa0\x01x"
    [(_, _, writer), _] = plan("a", "amqp.body", "b", options=binary).application
    assert writer(b"x") == b"\xa1\x01x"


def test_encoded_values_are_checked() -> None:
    assert any_encoded(b"\x54\x05") == b"\x54\x05"
    assert [any_encoded(text) for text in (None, b"", b"\x54", b"\x40\x40", b"\xff")] == [None] * 5


def test_the_header_that_decides_how_the_others_are_read() -> None:
    assert decisive_header(("a", "b")) is None
    assert decisive_header(("AMQPheaders", "a", "AMQPheaders")) == 2
    assert decisive_header(("amqp-types", "AMQPheaders")) == 0


def test_the_marker_of_event_hubs_says_that_values_are_encoded() -> None:
    names = ("subject", "a", "AMQPheaders")
    ours = compile_plan(names, b"\x41", "", MappingOptions(), timed=True, event_hubs=True)
    assert (ours.event_hubs, ours.bridged, ours.exact, ours.timed) == (True, True, True, False)
    assert ours.application_keys == {"a"}
    theirs = compile_plan(names, b"\x43", "", MappingOptions(), timed=True, event_hubs=True)
    assert (theirs.event_hubs, theirs.bridged, theirs.exact, theirs.timed) == (True, False, True, True)
    assert theirs.application_keys == {"a", "AMQPheaders"}


def test_headers_are_exact_only_for_the_profile_that_writes_them_so() -> None:
    for names in (("a",), ("a", "AMQPheaders")):
        exact = [
            compile_plan(names, b"\x41", "", MappingOptions(), timed=False, event_hubs=event_hubs).exact
            for event_hubs in (False, True)
        ]
        assert exact == [len(names) == 1, len(names) > 1]


def test_a_stored_key_of_the_wrong_type_falls_back() -> None:
    for types, texts in ((b"v1;x-opt-partition-key=int", b"5"), (b"v1;x-opt-partition-key=amqp", b"\x45")):
        [(_, _, write)] = plan("x-opt-partition-key", "amqp-types", types=types).annotations
        assert write(texts) is None


def test_a_dead_letter_is_delivered_with_what_became_of_it() -> None:
    made = plan("count", "amqp-types", "amqp.dlt.reason", "amqp.dlt.offset", types=b"v1;count=int")
    assert (made.exact, made.bridged) == (True, True)
    assert [(place, before) for place, before, _ in made.application] == [
        (0, b"\xa1\x05count"),
        (2, b"\xa1\x0famqp.dlt.reason"),
        (3, b"\xa1\x0famqp.dlt.offset"),
    ]
    assert made.stored == [b"\xa3\x08amqp.dlt\x41"]


def test_that_it_is_a_dead_letter_does_not_make_a_record_the_bridges() -> None:
    assert not plan("a", "amqp.dlt.reason", timed=True).bridged
    assert plan("a", "amqp.dlt.reason", timed=True).timed
    assert not plan("AMQPheaders", "amqp.dlt.reason", types=b"\x54\x00").bridged


@pytest.mark.parametrize(
    "headers",
    [
        ("amqp.dlt.reason", "a"),
        ("amqp.dlt.reason", "amqp.dlt.reason"),
        ("app.amqp.dlt.reason", "amqp.dlt.offset"),
        ("AMQPheaders", "amqp.dlt.reason"),
        ("amqp.dlt.annotations",),
    ],
)
def test_a_dead_letter_that_others_made_goes_along_whole(headers: tuple[str, ...]) -> None:
    assert not plan(*headers, types=b"\x54\x00").exact


def test_a_type_of_what_became_of_a_dead_letter_is_not_believed() -> None:
    made = plan("amqp-types", "amqp.dlt.offset", types=b"v1;amqp.dlt.offset=int")
    assert not made.exact
    assert made.application[0][2](b"17") == b"\xa1\x0217"
