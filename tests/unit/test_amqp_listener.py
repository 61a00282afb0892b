"""The asyncio side of a connection, on a transport in memory: no socket is opened."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING

from support.frames import AMQP_HEADER, make_attach, make_begin, make_frame, make_opening, make_transfer
from support.wire import SETTINGS, Incoming

from bridge.amqp.links import IncomingLink
from bridge.amqp.listener import (
    INPUT_BYTES,
    LARGE_INPUT_BYTES,
    LARGE_SPEED,
    TURN_BYTES,
    WRITE_BUFFER_BYTES,
    Connection,
    Listener,
)
from bridge.model import conditions
from bridge.model.conditions import Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from bridge.amqp.contract import AnyLink

REASON = Condition(conditions.CONNECTION_FORCED, "the bridge is shutting down")


class Wire(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 50_000)})
        self.written: list[bytes] = []
        self.limit = 0
        self._reads = True
        self.ended = ""

    def pause_reading(self) -> None:
        assert self._reads
        self._reads = False

    def resume_reading(self) -> None:
        assert not self._reads
        self._reads = True

    def reads(self) -> bool:
        return self._reads

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert low is None
        self.limit = high or 0

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = self.ended or "aborted"


class Told:
    """What operators were told."""

    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []

    def accepted(self, connection_id: int, peer: str) -> None:
        self.lines.append(("accepted", connection_id, peer))

    def opened(self, connection_id: int, container_id: str) -> None:
        self.lines.append(("opened", connection_id, container_id))

    def failed(self, connection_id: int, condition: Condition) -> None:
        self.lines.append(("failed", connection_id, condition.name))

    def ended(self, connection_id: int) -> None:
        self.lines.append(("ended", connection_id))

    def handler_failed(self, connection_id: int, link_name: str, error: Exception) -> None:
        self.lines.append(("handler failed", connection_id, link_name, repr(error)))


class Setup:
    """A listener with one connection on a transport in memory."""

    def __init__(self) -> None:
        self.told = Told()
        self.links: list[IncomingLink] = []
        self.listener = Listener(SETTINGS, self.told, self._attach)
        self.wire = Wire()
        self.connection = Connection(self.listener, 1)
        self.connection.connection_made(self.wire)

    def another(self, number: int) -> tuple[Wire, Connection]:
        """Make one more connection."""
        wire, connection = Wire(), Connection(self.listener, number)
        connection.connection_made(wire)
        return wire, connection

    def _attach(self, connection: Connection, link: AnyLink) -> None:
        assert connection in self.listener.connections
        assert isinstance(link, IncomingLink)
        self.links.append(link)
        link.open(Incoming(), 1_000)
        link.grant(10)


def on_a_loop(test: Callable[[Setup], Coroutine[None, None, None]]) -> None:
    async def run() -> None:
        setup = Setup()
        try:
            await test(setup)
        finally:
            if setup.connection in setup.listener.connections:
                setup.connection.connection_lost(None)

    asyncio.run(run())


async def turns() -> None:
    """Let the loop do what was asked of it."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_a_life_is_told_from_end_to_end() -> None:
    async def test(setup: Setup) -> None:
        assert setup.wire.limit == WRITE_BUFFER_BYTES
        assert setup.listener.connections == {setup.connection}
        setup.connection.received(make_opening())
        setup.connection.received(make_frame("close"))
        assert setup.wire.ended == "closed"
        setup.connection.connection_lost(None)
        assert setup.listener.connections == set()
        assert setup.told.lines == [
            ("accepted", 1, "127.0.0.1:50000"),
            ("opened", 1, "by-hand"),
            ("ended", 1),
        ]

    on_a_loop(test)


def given(connection: Connection, data: bytes) -> None:
    """Give a connection bytes as the loop does."""
    room = connection.get_buffer(-1)
    room[: len(data)] = data
    connection.buffer_updated(len(data))


def test_a_connection_that_sends_without_end_lets_others_have_their_turn() -> None:
    async def test(setup: Setup) -> None:
        given(setup.connection, make_opening())
        body = b"x" * 60_000
        for number in range(TURN_BYTES // len(body)):
            given(setup.connection, make_transfer(number, body))
        assert setup.wire.reads()
        given(setup.connection, make_transfer(TURN_BYTES // len(body), body))
        assert not setup.wire.reads()
        await turns()
        assert setup.wire.reads()

    on_a_loop(test)


def test_messages_of_several_frames_are_read_in_larger_pieces_and_more_of_them_in_a_turn() -> None:
    async def test(setup: Setup) -> None:
        given(setup.connection, make_opening())
        setup.links[0].max_message_size_bytes = 2 * LARGE_SPEED * TURN_BYTES
        assert len(setup.connection.get_buffer(-1)) == INPUT_BYTES
        body = b"x" * 60_000
        for _ in range(LARGE_SPEED * TURN_BYTES // len(body)):
            given(setup.connection, make_transfer(0, body, more=True))
            assert len(setup.connection.get_buffer(-1)) == LARGE_INPUT_BYTES
        assert setup.wire.reads()
        given(setup.connection, make_transfer(0, body, more=True))
        assert not setup.wire.reads()
        await turns()
        given(setup.connection, make_transfer(0, body) + make_transfer(1, b"small"))
        assert len(setup.connection.get_buffer(-1)) == INPUT_BYTES

    on_a_loop(test)


def test_a_turn_that_is_over_and_a_throttle_do_not_disturb_each_other() -> None:
    async def test(setup: Setup) -> None:
        given(setup.connection, make_opening())
        body = b"x" * 60_000
        for number in range(TURN_BYTES // len(body) + 1):
            given(setup.connection, make_transfer(number, body))
        setup.listener.stop_reading()
        await turns()
        assert not setup.wire.reads()
        setup.listener.start_reading()
        assert setup.wire.reads()

    on_a_loop(test)


def test_what_comes_of_input_is_written_at_once() -> None:
    async def test(setup: Setup) -> None:
        setup.connection.received(make_opening())
        assert len(setup.wire.written) == 1
        assert setup.wire.written[0].startswith(AMQP_HEADER)
        await turns()
        assert len(setup.wire.written) == 1

    on_a_loop(test)


def test_what_links_do_later_is_written_once_for_all() -> None:
    async def test(setup: Setup) -> None:
        setup.connection.received(make_opening())
        setup.connection.received(make_transfer(0, b"x") + make_transfer(1, b"y"))
        setup.wire.written.clear()
        [link] = setup.links
        assert isinstance(link.handler, Incoming)
        for delivery in link.handler.deliveries:
            link.accept([delivery], settle=True)
        link.grant(2)
        assert setup.wire.written == []
        await turns()
        assert len(setup.wire.written) == 1

    on_a_loop(test)


def test_nothing_is_written_while_the_socket_takes_nothing() -> None:
    async def test(setup: Setup) -> None:
        setup.connection.pause_writing()
        setup.connection.received(make_opening())
        await turns()
        assert setup.wire.written == []
        setup.connection.resume_writing()
        await turns()
        assert len(setup.wire.written) == 1

    on_a_loop(test)


def test_garbage_is_answered_told_and_the_socket_closed() -> None:
    async def test(setup: Setup) -> None:
        setup.connection.received(b"GET / HTTP/1.1\r\n\r\n")
        assert setup.wire.ended == "closed"
        assert b"framing-error" in b"".join(setup.wire.written)
        assert setup.told.lines[-1] == ("failed", 1, conditions.CONNECTION_FRAMING_ERROR)

    on_a_loop(test)


def test_an_end_of_input_closes_the_socket() -> None:
    async def test(setup: Setup) -> None:
        setup.connection.received(make_opening() + b"\x00")
        setup.connection.eof_received()
        assert setup.wire.ended == "closed"
        assert setup.told.lines[-1] == ("failed", 1, conditions.CONNECTION_FRAMING_ERROR)

    on_a_loop(test)


def test_a_dead_peer_whose_socket_is_full_is_not_waited_for() -> None:
    async def test(setup: Setup) -> None:
        setup.connection.received(make_opening())
        setup.connection.pause_writing()
        now_ms = int(setup.listener.loop.time() * 1000)
        setup.connection.engine.tick(now_ms + SETTINGS.idle_timeout_ms * 2)
        setup.connection.engine.tick(now_ms + SETTINGS.idle_timeout_ms * 4)
        await turns()
        assert setup.wire.ended == "aborted"

    on_a_loop(test)


def test_a_close_by_the_bridge_is_written_and_closes_the_socket() -> None:
    async def test(setup: Setup) -> None:
        setup.connection.received(make_opening())
        setup.listener.close(REASON)
        await turns()
        assert REASON.name.encode() in b"".join(setup.wire.written)
        assert setup.wire.ended == "closed"

    on_a_loop(test)


def test_nothing_is_asked_of_a_connection_that_is_lost() -> None:
    async def test(setup: Setup) -> None:
        setup.connection.received(make_opening())
        [link] = setup.links
        link.grant(1)
        setup.connection.connection_lost(ConnectionResetError())
        written = len(setup.wire.written)
        setup.connection.close(REASON)
        link.grant(1)
        await turns()
        assert len(setup.wire.written) == written
        assert link.ended

    on_a_loop(test)


def test_a_connection_that_is_lost_does_not_wait_for_the_garbage_collector() -> None:
    async def test(setup: Setup) -> None:
        _, connection = setup.another(2)
        connection.received(make_opening())
        await turns()
        engine = weakref.ref(connection.engine)
        gc.disable()
        try:
            setup.links.clear()
            connection.connection_lost(None)
            del connection
            assert engine() is None
        finally:
            gc.enable()

    on_a_loop(test)


def test_an_exception_in_a_handler_is_told_with_its_link() -> None:
    class Broken(Incoming):
        def transferred(self, _delivery: object, _payload: bytes, _settled: bool, /) -> None:  # noqa: FBT001
            raise ValueError("oh")

    async def test(setup: Setup) -> None:
        setup.connection.received(make_opening())
        [link] = setup.links
        link.handler = Broken()
        setup.connection.received(make_transfer(0, b"x"))
        assert setup.told.lines[-1] == ("handler failed", 1, "sender", "ValueError('oh')")
        assert setup.wire.ended == ""

    on_a_loop(test)


# ---------------------------------------------------------------------- back-pressure


def sending(setup: Setup) -> None:
    """Let the peer attach a link to send on."""
    setup.connection.received(make_opening())
    assert setup.links


def test_a_peer_that_sends_is_not_read_until_there_is_room_again() -> None:
    async def test(setup: Setup) -> None:
        sending(setup)
        setup.listener.stop_reading()
        assert not setup.wire.reads()
        setup.listener.stop_reading()
        setup.listener.start_reading()
        assert setup.wire.reads()
        setup.listener.start_reading()

    on_a_loop(test)


def test_a_peer_that_sends_nothing_is_read_all_the_same() -> None:
    async def test(setup: Setup) -> None:
        opening = AMQP_HEADER + make_frame("open", fields={"container-id": "by-hand"}) + make_begin()
        setup.connection.received(opening)
        setup.listener.stop_reading()
        assert setup.wire.reads()
        setup.connection.received(make_attach("sender", 0))
        assert not setup.wire.reads(), "it does now"

    on_a_loop(test)


def test_a_peer_that_is_not_read_is_not_taken_for_dead() -> None:
    async def test(setup: Setup) -> None:
        sending(setup)
        now_ms = int(asyncio.get_running_loop().time() * 1000)
        setup.connection.engine.tick(now_ms)
        setup.listener.stop_reading()
        for minutes in (1, 2, 3, 60):
            setup.connection.engine.tick(now_ms + minutes * 60_000)
        await turns()
        assert [line for line in setup.told.lines if line[0] == "failed"] == []

        setup.listener.start_reading()
        setup.connection.caught_up()
        setup.connection.engine.tick(now_ms + 61 * 60_000)
        assert setup.told.lines[-1][0] == "failed", "it is read again, and nothing came"

    on_a_loop(test)


def test_a_deadline_that_passes_while_a_peer_is_not_read_is_looked_at_when_it_is_read_again() -> None:
    class Watched(Connection):
        __slots__ = ("ticks",)

        def tick(self) -> None:
            self.ticks = getattr(self, "ticks", 0) + 1
            super().tick()

    async def test(setup: Setup) -> None:
        ticks = []
        for number, passes in ((2, False), (3, True)):
            connection = Watched(setup.listener, number)
            connection.connection_made(Wire())
            connection.received(make_opening())
            await turns()
            setup.listener.stop_reading()
            if passes:
                connection.tick()
            setup.listener.start_reading()
            before = connection.ticks
            connection.caught_up()
            await turns()
            ticks.append(connection.ticks - before)
            connection.connection_lost(None)
        assert ticks == [0, 1]

    on_a_loop(test)


def test_one_peer_may_finish_the_message_that_it_is_in_the_middle_of() -> None:
    async def test(setup: Setup) -> None:
        sending(setup)
        setup.connection.received(make_transfer(0, b"x" * 100, more=True))
        setup.listener.stop_reading()
        assert not setup.wire.reads()
        setup.listener.finish_one_message(another=False)
        assert setup.wire.reads()
        setup.connection.received(make_transfer(0, b"x" * 100, more=True))
        assert setup.wire.reads()
        setup.connection.received(make_transfer(0, b"x" * 100))
        assert not setup.wire.reads(), "the message is whole"
        setup.listener.finish_one_message(another=False)
        assert not setup.wire.reads(), "there is none to finish"

    on_a_loop(test)


def test_the_link_with_the_most_of_a_message_is_given_up_and_the_others_are_not() -> None:
    async def test(setup: Setup) -> None:
        sending(setup)
        _, other = setup.another(2)
        other.received(make_opening())
        setup.connection.received(make_transfer(0, b"x" * 100, more=True))
        other.received(make_transfer(0, b"x" * 101, more=True))
        small, large = setup.links
        reason = Condition("amqp:resource-limit-exceeded", "no room")

        assert setup.listener.give_up_largest(reason)
        assert (small.ended, large.ended) == (False, True)
        other.received(make_transfer(0, b"x" * 100, more=True))
        assert large.assembling is None, "nothing is kept of what is still on its way"
        assert setup.listener.give_up_largest(reason)
        assert small.ended
        assert not setup.listener.give_up_largest(reason)
        other.connection_lost(None)

    on_a_loop(test)


def test_peers_that_send_no_more_of_their_messages_give_way_to_the_next_in_turn() -> None:
    async def test(setup: Setup) -> None:
        peers = [(setup.wire, setup.connection), *(setup.another(number) for number in (2, 3))]
        for _, connection in peers:
            connection.received(make_opening())
            connection.received(make_transfer(0, b"x" * 100, more=True))
        setup.listener.stop_reading()

        def readers(*, another: bool) -> list[int]:
            setup.listener.finish_one_message(another=another)
            alive = [peer for peer in peers if peer[1] in setup.listener.connections]
            return [connection.connection_id for wire, connection in alive if wire.reads()]

        assert readers(another=True) == [1]
        assert readers(another=False) == [1], "something came of it: it goes on"
        assert [readers(another=True) for _ in range(3)] == [[2], [3], [1]]
        setup.connection.connection_lost(None)
        assert readers(another=False) == [2], "it is gone, whatever came last"
        for _, connection in peers[1:]:
            connection.connection_lost(None)
        assert readers(another=False) == []

    on_a_loop(test)
