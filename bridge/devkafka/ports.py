"""Chooses TCP ports for brokers on the loopback address. Never listens on one."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from bridge.devkafka.errors import DevKafkaError

LOOPBACK = "127.0.0.1"

_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST_PORT = 20_000  # below it live the well-known services of a developer's machine
_MIN_CHOICE = 1_000
_MAX_PORT = 65_535
_ATTEMPTS = 1_000


def ephemeral_ports() -> range:
    """Return the ports the kernel gives to outgoing connections (ip(7): ip_local_port_range)."""
    low, high = _EPHEMERAL_RANGE.read_text().split()
    return range(int(low), int(high) + 1)


def candidate_ports(ephemeral: range) -> range:
    """Return the ports to choose from: those that no outgoing connection is ever given.

    A broker that is killed and started again needs its port back. A port of the ephemeral range may
    be lost to a client's connection meanwhile, most easily to one that tries to reach that broker.
    Where the kernel was told to use nearly every port for connections, any port has to do.
    """
    below = range(_FIRST_PORT, ephemeral.start)
    if len(below) >= _MIN_CHOICE:
        return below
    above = range(ephemeral.stop, _MAX_PORT + 1)
    if len(above) >= _MIN_CHOICE:
        return above
    return range(_FIRST_PORT, _MAX_PORT + 1)


def is_free(port: int) -> bool:
    """Tell whether a server could listen on the loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Java's server sockets do: closed connections that linger are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_ports(count: int, *, excluding: frozenset[int] = frozenset()) -> list[int]:
    """Return `count` different free loopback ports outside the ephemeral range.

    They are drawn at random, so that clusters started at the same time by several processes do not
    meet on the same ones. Raises DevKafkaError when so many free ports are not found.
    """
    candidates = candidate_ports(ephemeral_ports())
    chosen: list[int] = []
    for _ in range(_ATTEMPTS):
        if len(chosen) == count:
            return chosen
        port = random.choice(candidates)  # noqa: S311 - nothing secret
        if port not in chosen and port not in excluding and is_free(port):
            chosen.append(port)
    raise DevKafkaError(f"Found only {len(chosen)} of {count} free ports in {candidates}")
