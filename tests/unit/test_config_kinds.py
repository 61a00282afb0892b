from __future__ import annotations

import pytest

from bridge.config.kinds import Choice, Flag, Host, Kind, Servers, StartAt, Text, TopicTemplate, Value, Whole

SIZE = Whole(512, 1024, "bytes")
PORT = Whole(1, 65_535, zero="a free port")
WORD = Choice(("all", "1"), synonyms={"-1": "all"}, refused={"0": "nobody would know"})


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (SIZE, "512", 512),
        (SIZE, "1024", 1024),
        (SIZE, "0600", 600),
        (PORT, "0", 0),
        (PORT, "65535", 65_535),
        (WORD, "all", "all"),
        (WORD, "ALL", "all"),
        (WORD, "-1", "all"),
        (Flag(), "true", True),
        (Flag(), "False", False),
        (Text(5), "Grüße", "Grüße"),
        (StartAt(), "latest", "latest"),
        (StartAt(), "10m", "10m"),
        (StartAt(), "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        (TopicTemplate(), "{topic}.dlt", "{topic}.dlt"),
        (TopicTemplate(), "graves", "graves"),
        (Host(), "0.0.0.0", "0.0.0.0"),  # noqa: S104 - not bound to
        (Host(), "::1", "::1"),
        (Host(), "[::1]", "::1"),
        (Host(), "bridge.example", "bridge.example"),
        (Servers(), "kafka:9092", "kafka:9092"),
        (Servers(), "a:9092, b:9093 ,c", "a:9092,b:9093,c"),
        (Servers(), "SASL_SSL://a:9092", "SASL_SSL://a:9092"),
        (Servers(), "[fe80::1%eth0]:9092", "[fe80::1%eth0]:9092"),
        (Servers(), "[2001:db8::1]:9092", "[2001:db8::1]:9092"),
    ],
)
def test_values_that_are_allowed(kind: Kind, text: str, value: Value) -> None:
    parsed = kind.parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (SIZE, "511", "511 is not allowed: 512 to 1024"),
        (SIZE, "1025", "1025 is not allowed: 512 to 1024"),
        (SIZE, "0", "0 is not allowed: 512 to 1024"),
        (SIZE, "1k", "'1k' is not a whole number (of bytes; the unit is not written)"),
        (SIZE, "1.5", "'1.5' is not a whole number (of bytes; the unit is not written)"),
        (SIZE, "1_000", "'1_000' is not a whole number (of bytes; the unit is not written)"),
        (SIZE, "²", "'²' is not a whole number (of bytes; the unit is not written)"),
        (PORT, "-1", "-1 is not allowed: 1 to 65535 (0: a free port)"),
        (PORT, "--1", "'--1' is not a whole number"),
        (PORT, "9" * 5000, f"'{'9' * 40}...' is not a whole number"),
        (WORD, "2", "'2' is not one of all, 1"),
        (WORD, "0", "'0' is not allowed: nobody would know"),
        (Flag(), "yes", "'yes' is neither true nor false"),
        (TopicTemplate(), "None", "'None' is what a route says; leave it out here, and there is none"),
        (
            TopicTemplate(),
            "{topic}",
            "'{topic}' is the topic itself; write something beside it, as in: {topic}.dlt",
        ),
        (Text(5), "123456", "is longer than 5 characters"),
        (Text(5), "a\nb", "has a character that cannot be printed"),
        (Host(), "kafka:9092", "'kafka:9092' has a port, which is an option of its own"),
        (Host(), "a b", "'a b' is not a host name or an address"),
        (Host(), "http://a", "'http://a' is not a host name or an address"),
        (Servers(), "a:9092,,b", "server 2 of 3 is not host:port"),
        (Servers(), "a:65536", "65536 of server 1 is not a port"),
        (Servers(), "a:0", "0 of server 1 is not a port"),
        (Servers(), "http://a:9092/x", "server 1 of 1 is not host:port"),
    ],
)
def test_values_that_are_not(kind: Kind, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        kind.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["soon", "10", "-1m", "2026-01-31", "12:00:00Z"])
def test_places_to_begin_at_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        StartAt().parse(text)


def test_credentials_in_a_server_are_not_repeated() -> None:
    with pytest.raises(ValueError, match="not host:port") as caught:
        Servers().parse("alice:hunter2@kafka:9092")
    assert "hunter2" not in str(caught.value)


def test_kinds_say_what_they_allow() -> None:
    assert SIZE.describe() == "Whole number of bytes, 512 to 1024"
    assert PORT.describe() == "Whole number, 1 to 65535 (0: a free port)"
    assert WORD.describe() == "One of all, 1"
    assert Flag().describe() == "true or false"
    assert Text(5).describe() == "Text of at most 5 characters"
    assert Host().describe().startswith("Host name or address")
    assert Servers().describe().startswith("host:port")
