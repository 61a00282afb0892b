from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.codec import Int, Long, Map, Symbol, Timestamp, UByte, UInt, ULong
from bridge.mapping import hop
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Message

if TYPE_CHECKING:
    from bridge.mapping.annotations import Hop
    from bridge.mapping.record import Headers

CAME = {"x-opt-bridge.offset": Long(5)}

FILLED: Headers = [
    ("amqp.durable", b"true"),
    ("amqp.priority", b"7"),
    ("amqp.ttl", b"900"),
    ("amqp.delivery-count", b"2"),
    ("x-opt-partition-key", b"k"),
    ("to", b"orders"),
    ("subject", b"s"),
    ("creation-time", b"1000"),
    ("region", b"eu"),
]


def test_a_message_of_another_origin_is_left_alone() -> None:
    assert hop.restore(FILLED, [b"x"], b"k", {"x-opt-kafka-headers": []}) == (FILLED, [b"x"], b"k")


def test_what_the_bridge_filled_in_is_taken_out() -> None:
    headers, hints, key = hop.restore(
        FILLED,
        [b"to=symbol", b"region=symbol"],
        b"from group-id",
        {**CAME, "x-opt-enqueued-time": Timestamp(1000)},
    )
    assert headers == [("amqp.priority", b"7"), ("subject", b"s"), ("region", b"eu")]
    assert hints == [b"region=symbol"]
    assert key is None


def test_what_the_record_had_itself_is_kept() -> None:
    stored = Map(
        [
            (Symbol("to"), True),
            (Symbol("creation-time"), True),
            (Symbol("x-opt-partition-key"), True),
            (Symbol("amqp.durable"), True),
            (Symbol("amqp.ttl"), UInt(1000)),
        ]
    )
    headers, _, key = hop.restore(
        FILLED,
        [],
        None,
        {
            **CAME,
            "x-opt-bridge.key": "k",
            "x-opt-bridge.stored": stored,
            "x-opt-enqueued-time": Timestamp(1000),
        },
    )
    assert headers == [
        ("amqp.durable", b"true"),
        ("amqp.priority", b"7"),
        ("amqp.ttl", b"1000"),
        *FILLED[4:],
    ]
    assert key == b"k"


def test_a_creation_time_that_is_not_the_records_is_kept() -> None:
    headers, *_ = hop.restore(
        [("creation-time", b"999")], [], None, {**CAME, "x-opt-enqueued-time": Timestamp(1000)}
    )
    assert headers == [("creation-time", b"999")]


def test_a_binary_key_comes_back_and_nonsense_counts_as_nothing() -> None:
    assert hop.restore([], [], b"x", {**CAME, "x-opt-bridge.key": b"\xff"})[2] == b"\xff"
    nonsense = {**CAME, "x-opt-bridge.stored": Int(5), "x-opt-enqueued-time": "now"}
    assert hop.restore([("to", b"x")], [], b"x", nonsense) == ([], [], None)


def test_the_headers_as_they_were() -> None:
    assert hop.verbatim({}) is None
    assert hop.verbatim({"x-opt-kafka-headers": []}) == []
    listed = [["a", b"1"], ["a", None], ["", b""]]
    assert hop.verbatim({"x-opt-kafka-headers": listed}) == [("a", b"1"), ("a", None), ("", b"")]


@pytest.mark.parametrize(
    "listed",
    [
        Map(),
        "x",
        [["a"]],
        [["a", b"1", b"2"]],
        ["a"],
        [[Symbol("a"), b""]],
        [["a", "text"]],
        [["a\0", b""]],
        [[b"a", b""]],
    ],
)
def test_headers_of_another_form_are_refused(listed: object) -> None:
    with pytest.raises(MappingError) as caught:
        hop.verbatim({"x-opt-kafka-headers": listed})
    assert caught.value.condition == "amqp:invalid-field"


def test_what_was_filled_in_is_taken_out_of_a_decoded_message() -> None:
    message = Message(
        header={"durable": True, "priority": UByte(7), "ttl": UInt(900), "delivery-count": UInt(2)},
        message_annotations=Map(
            [
                (Symbol("x-opt-partition-key"), "k"),
                (Symbol("x-opt-bridge.offset"), Long(5)),
                (Symbol("x-opt-a"), "a"),
                (ULong(5), "b"),
            ]
        ),
        properties={"to": "orders", "subject": "s", "creation-time": Timestamp(1000)},
    )
    passage: dict[str, object] = {**CAME, "x-opt-enqueued-time": Timestamp(1000)}
    assert hop.sent_message(message, passage) == Message(
        header={"priority": UByte(7)},
        message_annotations=Map([(Symbol("x-opt-a"), "a"), (ULong(5), "b")]),
        properties={"subject": "s"},
    )
    own = ("amqp.ttl", "to", "creation-time", "x-opt-partition-key")
    stored = Map((Symbol(name), UInt(1000) if name == "amqp.ttl" else True) for name in own)
    sent = hop.sent_message(message, {**passage, "x-opt-bridge.stored": stored})
    assert sent.header == {"priority": UByte(7), "ttl": UInt(1000)}
    assert sent.properties == message.properties
    assert sent.message_annotations.get(Symbol("x-opt-partition-key")) == "k"


def test_a_decoded_message_of_another_origin_keeps_all_but_the_annotations_of_a_hop() -> None:
    message = Message(
        header={"durable": True},
        message_annotations=Map([(Symbol("x-opt-partition-key"), "k"), (Symbol("x-opt-kafka-headers"), [])]),
        properties={"to": "orders"},
    )
    assert hop.sent_message(message, {"x-opt-kafka-headers": []}) == Message(
        header={"durable": True},
        message_annotations=Map([(Symbol("x-opt-partition-key"), "k")]),
        properties={"to": "orders"},
    )


def test_what_became_of_a_dead_letter_comes_back_behind_its_other_headers() -> None:
    headers: Headers = [("app.amqp.dlt.reason", b"rejected"), ("a", b"b")]
    own: Hop = {"x-opt-bridge.stored": Map([(Symbol("amqp.dlt"), True)])}
    assert hop.part_dead_letter(headers, own) == ([("a", b"b")], [("amqp.dlt.reason", b"rejected")])


def test_the_property_of_a_sender_is_not_taken_for_it() -> None:
    headers: Headers = [("app.amqp.dlt.reason", b"rejected"), ("a", b"b")]
    assert hop.part_dead_letter(headers, dict(CAME)) == (headers, [])
