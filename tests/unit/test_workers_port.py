from __future__ import annotations

import socket
from contextlib import closing

import pytest

from bridge.workers.port import ReservedPort

HOST = "127.0.0.1"


def listening(port: int, *options: int, backlog: int = 8) -> socket.socket:
    made = socket.socket()
    for option in options:
        made.setsockopt(socket.SOL_SOCKET, option, 1)
    made.bind((HOST, port))
    made.listen(backlog)
    return made


def test_workers_listen_on_a_reserved_port_and_take_all_connections() -> None:
    with ReservedPort(HOST, 0) as reserved:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((HOST, reserved.port))
        options = (socket.SO_REUSEADDR, socket.SO_REUSEPORT)
        with listening(reserved.port, *options) as one, listening(reserved.port, *options) as other:
            one.settimeout(0)
            other.settimeout(0)
            taken = 0
            for _ in range(20):
                with socket.create_connection((HOST, reserved.port)):
                    for each in (one, other):
                        try:
                            each.accept()[0].close()
                        except BlockingIOError:
                            continue
                        taken += 1
            assert taken == 20


@pytest.mark.parametrize(
    "options",
    [(socket.SO_REUSEADDR,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)],
    ids=["one that listens alone", "one that would share"],
)
def test_a_port_where_another_program_listens_is_refused(options: tuple[int, ...]) -> None:
    with listening(0, *options) as other, pytest.raises(OSError, match="already in use"):
        ReservedPort(HOST, other.getsockname()[1])


def test_a_port_that_another_service_has_reserved_is_refused() -> None:
    with ReservedPort(HOST, 0) as other, pytest.raises(OSError, match="already in use"):
        ReservedPort(HOST, other.port)


def test_a_port_is_free_again_when_it_is_given_back() -> None:
    with ReservedPort(HOST, 0) as former:
        port = former.port
    with ReservedPort(HOST, port) as reserved:
        assert reserved.port == port


@pytest.mark.parametrize(
    "options",
    [(socket.SO_REUSEADDR,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)],
    ids=["alone", "of several workers"],
)
def test_connections_of_a_former_service_that_are_ending_are_no_obstacle(options: tuple[int, ...]) -> None:
    with listening(0, *options) as former:
        port = former.getsockname()[1]
        client = socket.create_connection((HOST, port))
        server, _ = former.accept()
        server.close()  # first, so that it is this end that waits for stray segments (TIME_WAIT)
        with closing(client):
            assert client.recv(1) == b""
    with ReservedPort(HOST, port) as reserved, listening(port, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        assert reserved.port == port
