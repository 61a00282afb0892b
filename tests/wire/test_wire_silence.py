"""Time: heartbeats both ways, and peers that fall silent at any stage."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from proton import uint
from support.frames import AMQP_HEADER, SASL_HEADER, make_frame
from support.wire import SETTINGS, Client, Pair, incoming

from bridge.model import conditions

if TYPE_CHECKING:
    from bridge.model.conditions import Condition

TIMEOUT_MS = SETTINGS.idle_timeout_ms
START_MS = 1_000


def reason(pair: Pair) -> Condition:
    [condition] = pair.events.closed_with
    assert condition is not None
    return condition


def test_half_of_the_timeout_is_announced() -> None:
    with Pair() as pair:
        pair.open_session()
        pair.pump()
        opening = next(frame for frame in pair.take_frames() if frame.text == "< open")
        assert opening.fields["idle-time-out"] == TIMEOUT_MS // 2
        assert opening.fields["max-frame-size"] == SETTINGS.max_frame_size_bytes
        assert opening.fields["channel-max"] == SETTINGS.channel_max
        assert opening.fields["container-id"] == "the-bridge"


def test_a_client_that_wants_heartbeats_gets_them() -> None:
    client = Client()
    client.transport.idle_timeout = 20  # seconds; half of it is announced
    with Pair(client=client) as pair:
        pair.open_session()
        pair.pump()
        deadline = pair.engine.tick(START_MS)
        assert deadline == START_MS + 5_000
        assert not pair.to_client()
        now = START_MS
        for _ in range(5):
            now = deadline
            deadline = pair.engine.tick(now)
            written: list[bytes] = []
            assert pair.engine.flush(written.append)
            assert b"".join(written) == b"\x00\x00\x00\x08\x02\x00\x00\x00"
            assert now < deadline <= now + 5_000


def test_a_client_that_wants_no_heartbeats_gets_none() -> None:
    with Pair() as pair:
        pair.open_session()
        pair.pump()
        pair.engine.tick(START_MS)
        pair.engine.tick(START_MS + TIMEOUT_MS - 1)
        assert not pair.to_client()


def test_a_silent_peer_is_given_up_after_the_whole_timeout() -> None:
    with Pair() as pair:
        sender, link = pair.attach_sender()
        assert pair.engine.tick(START_MS) == START_MS + TIMEOUT_MS
        assert pair.engine.tick(START_MS + TIMEOUT_MS - 1) == START_MS + TIMEOUT_MS
        pair.to_client()
        assert pair.events.closed_with == []
        pair.engine.tick(START_MS + TIMEOUT_MS)
        pair.to_client()
        assert pair.over
        assert reason(pair).name == conditions.RESOURCE_LIMIT_EXCEEDED
        assert "idle-timeout" in reason(pair).description
        assert pair.client.connection.remote_condition is not None
        assert pair.client.connection.remote_condition.name == conditions.RESOURCE_LIMIT_EXCEEDED
        pair.lose()
        assert incoming(link).closed == 1
        assert sender.name == "sender"


def test_any_byte_keeps_a_peer_alive() -> None:
    with Pair() as pair:
        pair.open_session()
        pair.pump()
        now = START_MS
        pair.engine.tick(now)
        for _ in range(10):
            now += TIMEOUT_MS - 1
            pair.engine.receive(b"\x00\x00\x00\x08\x02\x00\x00\x00")
            assert pair.engine.tick(now) == now + TIMEOUT_MS
        assert pair.events.closed_with == []


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"AMQ",
        SASL_HEADER,
        AMQP_HEADER,
        AMQP_HEADER + make_frame("open", fields={"container-id": "half"})[:-1],
    ],
)
def test_a_peer_that_does_not_open_is_given_up(begun: bytes) -> None:
    with Pair() as pair:
        deadline = pair.engine.tick(START_MS)
        assert deadline == START_MS + TIMEOUT_MS
        pair.inject(begun)
        pair.to_client()
        assert pair.engine.tick(deadline - 1) == deadline
        changes = pair.changes
        pair.engine.tick(deadline)
        assert pair.changes > changes
        pair.to_client()
        assert pair.over
        assert reason(pair).name == conditions.RESOURCE_LIMIT_EXCEEDED
        pair.engine.tick(deadline + TIMEOUT_MS)
        pair.to_client()
        assert pair.over


def test_a_peer_that_opened_in_time_has_all_the_time() -> None:
    with Pair() as pair:
        deadline = pair.engine.tick(START_MS)
        pair.open_session()
        pair.pump()
        pair.engine.tick(deadline - 1)
        pair.engine.receive(b"\x00\x00\x00\x08\x02\x00\x00\x00")
        assert pair.engine.tick(deadline) == deadline + TIMEOUT_MS
        assert pair.events.closed_with == []


def test_without_a_timeout_nobody_is_given_up() -> None:
    with Pair(settings=replace(SETTINGS, idle_timeout_ms=0)) as pair:
        assert pair.engine.tick(START_MS) == 0
        pair.inject(AMQP_HEADER)
        assert pair.engine.tick(START_MS + 10 * TIMEOUT_MS) == 0
        pair.inject(make_frame("open", fields={"container-id": "x", "max-frame-size": uint(512)}))
        pair.to_client()
        assert pair.engine.tick(START_MS + 20 * TIMEOUT_MS) == 0
        assert pair.events.closed_with == []
        opening = next(frame for frame in pair.take_frames() if frame.text == "< open")
        assert "idle-time-out" not in opening.fields


def test_a_silent_peer_is_given_up_even_if_its_socket_takes_nothing() -> None:
    with Pair() as pair:
        pair.open_session()
        pair.pump()
        pair.engine.tick(START_MS)
        pair.engine.congested = True
        pair.engine.tick(START_MS + TIMEOUT_MS)
        assert not pair.engine.flush(lambda _data: pytest.fail("the socket is congested"))


def test_an_end_of_input_without_a_close_is_an_error() -> None:
    with Pair() as pair:
        pair.open_session()
        pair.pump()
        pair.engine.end_of_input()
        pair.to_client()
        assert pair.over
        assert reason(pair).name == conditions.CONNECTION_FRAMING_ERROR


def test_an_end_of_input_in_the_middle_of_a_frame_is_an_error() -> None:
    with Pair() as pair:
        _, link = pair.attach_sender()
        pair.engine.receive(make_frame("close")[:-1])
        pair.engine.end_of_input()
        pair.to_client()
        assert pair.over
        assert reason(pair).name == conditions.CONNECTION_FRAMING_ERROR
        pair.lose()
        assert incoming(link).closed == 1


def test_an_end_of_input_after_a_close_is_none() -> None:
    with Pair() as pair:
        pair.open_session()
        pair.client.connection.close()
        pair.pump()
        pair.engine.end_of_input()
        assert pair.events.closed_with == [None]


@pytest.mark.parametrize("begun", [b"", b"AMQ", SASL_HEADER, AMQP_HEADER, AMQP_HEADER + b"\x00"])
def test_an_end_of_input_before_an_open(begun: bytes) -> None:
    with Pair() as pair:
        pair.engine.receive(begun)
        pair.engine.end_of_input()
        pair.to_client()
        assert pair.over
        assert reason(pair).name == conditions.CONNECTION_FRAMING_ERROR
