"""The receiver of python-qpid-proton: its blocking connection, its options for filters and browsing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from interop.contract import Answer, Attach, Delivery
from interop.proton_values import to_python
from proton import Condition, Described, Disposition, symbol, ulong
from proton.reactor import Copy, Filter, Selector
from support import blocking
from support.clients import MODES, body_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STATES: Final = {
    "accepted": Disposition.ACCEPTED,
    "released": Disposition.RELEASED,
    "modified": Disposition.MODIFIED,
    "rejected": Disposition.REJECTED,
}


@contextmanager
def attached(port: int, attach: Attach) -> Iterator[ProtonReceiver]:
    """Attach a receiver, as `Client` says."""
    with blocking.Client(port) as client:
        receiver = ProtonReceiver(client, attach)
        yield receiver
        receiver.close()


class ProtonReceiver:
    """A receiver on a blocking connection."""

    def __init__(self, client: blocking.Client, attach: Attach) -> None:
        self._client = client
        self._second = attach.mode == "second"
        self._inbox = blocking.Inbox()
        self._taken: list[blocking.Received] = []
        self._link = client.connection.create_receiver(
            attach.address,
            credit=0,
            handler=self._inbox,
            name=client.link_name(),
            options=[MODES[attach.mode], *_options(attach)],
        )
        applied: Any = self._link.link.remote_source.filter
        applied.rewind()
        self.applied = frozenset(map(str, applied.get_dict() if applied.next() else ()))

    def credit(self, count: int) -> None:
        """Give so much credit more."""
        self._link.flow(count)

    def take(self, count: int) -> list[Delivery]:
        """Wait for so many messages."""
        waiting = self._inbox.waiting
        self._client.wait(lambda: len(waiting) >= count, f"message {count}")
        return [self._described(waiting.popleft()) for _ in range(count)]

    def answer(self, deliveries: Sequence[Delivery], answer: Answer) -> None:
        """Give an outcome."""
        answered = [self._taken[each.number].delivery for each in deliveries]
        for delivery in answered:
            local: Any = delivery.local  # Proton's annotations say of some attributes that they are read-only
            local.failed, local.undeliverable = answer.failed, answer.undeliverable
            if answer.annotations:
                local.annotations = {symbol(name): each for name, each in answer.annotations.items()}
            if answer.condition:
                local.condition = Condition(answer.condition, answer.description)
            delivery.update(_STATES[answer.state])
            if not self._second:
                delivery.settle()
        if self._second:
            self._client.wait(lambda: all(each.settled for each in answered), "the settlement")
            for delivery in answered:
                delivery.settle()
        # A blocking connection works only while it is waited for.
        transport: Any = self._link.link.connection.transport
        self._client.wait(lambda: transport.pending() == 0, "the outcomes to be sent")

    def drain(self) -> list[Delivery]:
        """Ask for what is there and no more."""
        self._link.link.drain(0)
        self._client.wait(lambda: not self._link.link.draining(), "the drain")
        return self.take(len(self._inbox.waiting))

    def close(self) -> None:
        """Detach."""
        self._link.close()  # type: ignore[no-untyped-call] # proton's

    def _described(self, received: blocking.Received) -> Delivery:
        message = received.message
        self._taken.append(received)
        return Delivery(
            len(self._taken) - 1,
            message.body if isinstance(message.body, str) else body_of(message).decode(),
            message.delivery_count,
            # Proton's own classes of integers are written with their names.
            {
                str(name): str(int(each) if isinstance(each, int) else each)
                for name, each in (message.annotations or {}).items()
            },
        )


def _options(attach: Attach) -> Iterator[Any]:
    if attach.selector:
        yield Selector(attach.selector)
    if attach.filters:
        yield Filter(
            {
                symbol(each.name): Described(
                    ulong(each.code) if each.code else symbol(each.name), to_python(each.value)
                )
                for each in attach.filters
            }
        )
    if attach.copies:
        yield Copy()
