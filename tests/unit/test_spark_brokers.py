from __future__ import annotations

import socket

import pytest

from bridge.spark.brokers import check_reachable, parse
from bridge.spark.errors import SparkSideError


def closed_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


def test_addresses_are_read() -> None:
    assert parse("a:1") == [("a", 1)]
    assert parse("a:1, [::1]:9092,b.c:65535") == [("a", 1), ("::1", 9092), ("b.c", 65535)]


@pytest.mark.parametrize("text", ["", "a", "a:", ":9092", "a:b", "a:1,", "http://a"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(SparkSideError, match="is not HOST:PORT"):
        parse(text)


def test_one_server_that_answers_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_reachable(f"127.0.0.1:{closed_port()},127.0.0.1:{server.getsockname()[1]}")


def test_each_server_s_reason_is_told() -> None:
    first, second = closed_port(), 70_000
    with pytest.raises(SparkSideError) as caught:
        check_reachable(f"127.0.0.1:{first},127.0.0.1:{second}")
    assert f"127.0.0.1:{first}: [Errno 111] Connection refused" in str(caught.value)
    assert "127.0.0.1:70000: " in str(caught.value)
