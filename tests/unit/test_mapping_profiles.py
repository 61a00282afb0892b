from __future__ import annotations

import pytest

from bridge.codec import Described, Map, Symbol, ULong, encode
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, parse
from bridge.mapping.options import MappingOptions
from bridge.mapping.profiles import DEFAULT, PROFILES

OPTIONS = MappingOptions()
TIME_MS = 1_700_000_000_123


def sent(*sections: tuple[int, object]) -> bytes:
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


MESSAGE = sent(
    (0x70, [True]),
    (0x72, Map([(Symbol("x-opt-bridge.key"), "k")])),
    (0x73, [None, None, None, "subject"]),
    (0x74, Map([("a", 1.5)])),
    (0x75, b"body"),
)


def test_each_profile_has_the_name_that_finds_it() -> None:
    assert DEFAULT in PROFILES
    assert all(profile.name == name for name, profile in PROFILES.items())


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_refuses_what_is_no_message(name: str) -> None:
    with pytest.raises(MappingError) as caught:
        PROFILES[name].message_to_record(OPTIONS)(b"no message")
    assert caught.value.condition == "amqp:decode-error"


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_finds_the_key(name: str) -> None:
    assert PROFILES[name].message_to_record(OPTIONS)(MESSAGE)[1] == b"k"


@pytest.mark.parametrize("reader", PROFILES)
@pytest.mark.parametrize("writer", PROFILES)
def test_every_profile_reads_what_every_profile_wrote(writer: str, reader: str) -> None:
    value, key, headers, _, _ = PROFILES[writer].message_to_record(OPTIONS)(MESSAGE)
    to_message = PROFILES[reader].record_to_message("orders", "orders", OPTIONS)
    delivered = parse(to_message(3, 17, 1, TIME_MS, key, value, headers, 0))
    assert isinstance(delivered.body, Data)


@pytest.mark.parametrize("reader", PROFILES)
@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (b"", None),
        (None, None),
        (b"\xff", [("a", None), ("a", b"\xff"), ("", b"")]),
        (b"\xff", [("AMQPheaders", None), ("amqp.body", b"\xff"), ("amqp.ttl", b"\x70")]),
        (b"\xff", [("amqp-types", b"\xff"), ("amqp.body", b"value;int")]),
        (None, [("amqp.raw", b"0")]),
        (b"", [("amqp.raw", b"0")]),
        (b"\x00Sw", [("amqp.raw", b"0")]),
        (b"{", [("ce_id", b"\xff"), ("content-type", b"\xff")]),
    ],
)
def test_no_record_fails_a_delivery(
    reader: str, value: bytes | None, headers: list[tuple[str, bytes | None]] | None
) -> None:
    to_message = PROFILES[reader].record_to_message("orders", "orders", OPTIONS)
    for delivery_count in (0, 1):
        assert parse(to_message(3, 17, 1, TIME_MS, b"\xff", value, headers, delivery_count)).body is not None
    assert to_message.damaged >= 0
