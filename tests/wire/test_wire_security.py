"""SASL, and peers that speak something else than AMQP 1.0."""

from __future__ import annotations

import pytest
from proton import SASL, Connection, symbol
from support.frames import AMQP_HEADER, SASL_HEADER, make_frame, make_opening
from support.wire import Client, Cut, Pair, incoming, transfer

from bridge.model import conditions


def test_without_sasl_a_client_is_let_in() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        transfer(sender, b"x")
        pair.pump()
        assert incoming(link).payloads == [b"x"]


@pytest.mark.parametrize("cut", [None, lambda _left: 1])
def test_anonymous_is_let_in(cut: Cut | None) -> None:
    with Pair(client=Client(sasl="ANONYMOUS"), cut=cut) as pair:
        sender, link = pair.attach_sender()
        transfer(sender, b"x")
        pair.pump()
        assert incoming(link).payloads == [b"x"]
        names = pair.take_names()
        assert names[:3] == ["< sasl-mechanisms", "> sasl-init", "< sasl-outcome"]


def test_anonymous_is_all_that_is_offered() -> None:
    with Pair() as pair:
        pair.inject(SASL_HEADER)
        pair.to_client()
        [mechanisms] = pair.take_frames()
        assert mechanisms.fields["mechanisms"].elements == (symbol("ANONYMOUS"),)


def test_a_client_that_can_only_log_in_with_a_password_fails() -> None:
    with Pair(client=Client(sasl="PLAIN")) as pair:
        pair.open_session()
        pair.pump()
        assert pair.client.connection.state & Connection.REMOTE_UNINIT
        assert SASL(pair.client.transport).outcome not in {None, SASL.OK}
        assert pair.events.opened_by == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "EXTERNAL", ""])
def test_a_login_with_what_was_not_offered_fails(mechanism: str) -> None:
    with Pair() as pair:
        pair.inject(SASL_HEADER)
        pair.inject(
            make_frame(
                "sasl-init",
                fields={"mechanism": symbol(mechanism), "initial-response": b"\0user\0secret"},
            )
        )
        pair.to_client()
        outcome = pair.take_frames()[-1]
        assert outcome.text == "< sasl-outcome"
        assert outcome.fields["code"] == 1
        pair.engine.receive(make_opening())
        pair.to_client()
        assert pair.over
        assert pair.events.opened_by == []


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: bridge\r\n\r\n",
        b"AMQP\x00\x00\x09\x01",
        b"AMQP\x09\x01\x00\x00",
        bytes(1000),
        b"\xff" * 100_000,
        AMQP_HEADER + b"GET / HTTP/1.1\r\nHost: bridge\r\n\r\n",
        AMQP_HEADER + AMQP_HEADER,
        AMQP_HEADER + b"\x00\x00\x00\x08\x01\x00\x00\x00",
        AMQP_HEADER + b"\x00\x00\x00\x04\x02\x00\x00\x00",
        AMQP_HEADER + b"\x7f\xff\xff\xff\x02\x00\x00\x00",
        AMQP_HEADER + b"\x00\x00\x00\x0c\x02\x00\x00\x00\x00\x53\x99\x45",
        SASL_HEADER + b"\x00\x00\x00\x0c\x02\x01\x00\x00\x00\x53\x99\x45",
    ],
)
def test_garbage_ends_the_connection_and_raises_nothing(garbage: bytes) -> None:
    with Pair() as pair:
        pair.engine.receive(garbage)
        pair.to_client()
        pair.engine.end_of_input()
        pair.to_client()
        assert pair.over
        assert pair.events.opened_by == []
        assert len(pair.events.closed_with) == 1


def test_an_http_client_sees_a_framing_error() -> None:
    with Pair() as pair:
        pair.engine.receive(b"GET / HTTP/1.1\r\nHost: bridge\r\n\r\n")
        pair.to_client()
        assert pair.over
        [opening, close] = pair.take_frames()
        assert (opening.name, close.name) == ("open", "close")
        assert close.condition == conditions.CONNECTION_FRAMING_ERROR
        [condition] = pair.events.closed_with
        assert condition is not None
        assert condition.name == conditions.CONNECTION_FRAMING_ERROR
        assert "GET / HTTP/1.1" in condition.description


def test_tls_on_a_plain_port_ends_the_connection() -> None:
    client_hello = bytes.fromhex("16030100c8010000c40303") + b"\x11" * 193
    with Pair(sniff=False) as pair:
        pair.engine.receive(client_hello)
        pair.to_client()
        assert pair.over


@pytest.mark.parametrize("name", ["begin", "attach", "flow", "transfer", "disposition", "detach", "end"])
def test_frames_out_of_place_end_the_connection(name: str) -> None:
    with Pair() as pair:
        pair.inject(make_opening())
        pair.to_client()
        pair.inject(make_frame(name, channel=300))
        pair.to_client()
        assert pair.over
        assert len(pair.events.closed_with) == 1
