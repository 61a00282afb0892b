from __future__ import annotations

import socket

import pytest

from bridge.devkafka.errors import DevKafkaError
from bridge.devkafka.ports import LOOPBACK, candidate_ports, ephemeral_ports, free_ports, is_free


def test_candidates_lie_below_the_ephemeral_range() -> None:
    assert candidate_ports(range(32_768, 61_000)) == range(20_000, 32_768)


def test_candidates_lie_above_a_range_that_leaves_no_room_below() -> None:
    assert candidate_ports(range(1_024, 60_000)) == range(60_000, 65_536)


def test_any_port_will_do_where_all_are_ephemeral() -> None:
    assert candidate_ports(range(1_024, 65_536)) == range(20_000, 65_536)


def test_the_kernel_tells_its_range() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:  # port 0: the kernel takes one of the range
        assert server.getsockname()[1] in ephemeral_ports()


def test_a_port_in_use_is_not_free() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_free_ports_are_different_and_free_and_candidates() -> None:
    ports = free_ports(9)

    assert len(set(ports)) == 9
    assert all(is_free(port) for port in ports)
    assert set(ports) <= set(candidate_ports(ephemeral_ports()))


def test_excluded_ports_are_not_chosen() -> None:
    candidates = candidate_ports(ephemeral_ports())
    all_but_odd = frozenset(port for port in candidates if port % 2 == 0)

    assert all(port % 2 == 1 for port in free_ports(20, excluding=all_but_odd))


def test_too_few_free_ports_are_an_error() -> None:
    candidates = candidate_ports(ephemeral_ports())

    with pytest.raises(DevKafkaError, match="0 of 1 free ports"):
        free_ports(1, excluding=frozenset(candidates))
