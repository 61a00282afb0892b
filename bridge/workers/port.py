"""Reserves the port that several processes are to listen on, and proves that no other program has it.

Linux lets every process of a user listen on a port whose listeners have all been opened with SO_REUSEPORT.
So two services would share a port, without a word, and each would have half of the clients. A bind without
that option tells: it fails if anybody listens, or has reserved the port as it is done here.

Source: socket(7), SO_REUSEPORT and SO_REUSEADDR; `inet_csk_bind_conflict` of Linux.
"""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, TypeAlias, cast

if TYPE_CHECKING:
    from types import TracebackType

Address: TypeAlias = tuple[str | int, ...]
"""Host and port, and for IPv6 what else there is."""


class ReservedPort:
    """A port of all of a host's addresses. A context manager: it is reserved until the end.

    Its sockets are bound and do not listen, so that no connection is ever given to them. Raises OSError if
    the port is taken.
    """

    def __init__(self, host: str, port: int) -> None:
        self.port = port
        """The port, which the system has chosen if 0 was asked for."""
        self._sockets = ExitStack()
        try:
            for family, address in _addresses(host, port):
                self.port = self._reserve(family, (address[0], self.port, *address[2:]))
        except BaseException:
            self._sockets.close()
            raise

    def __enter__(self) -> Self:
        """Give the port."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back."""
        self._sockets.close()

    def _reserve(self, family: int, address: Address) -> int:
        # As asyncio binds: connections of an earlier process that are still ending are in nobody's way.
        with _bound(family, address, socket.SO_REUSEADDR):
            pass
        try:
            bound = _bound(family, address, socket.SO_REUSEPORT)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            # Such connections, of a process that listened alone. They are no obstacle so; but another service
            # that starts in this very second would not be refused either.
            bound = _bound(family, address, socket.SO_REUSEPORT, socket.SO_REUSEADDR)
        self._sockets.enter_context(bound)
        port: int = bound.getsockname()[1]
        return port


def _addresses(host: str, port: int) -> list[tuple[int, Address]]:
    """Give the addresses that asyncio binds for a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # The types know of systems without IPv6, whose addresses have bytes.
    return list(dict.fromkeys((family, cast("Address", address)) for family, *_, address in found))


def _bound(family: int, address: Address, *options: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        for option in options:
            made.setsockopt(socket.SOL_SOCKET, option, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
