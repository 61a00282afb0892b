"""What a sender has to send, and what became of it: outlives the links and connections that it uses.

An outbox hands out numbers, remembers which delivery carries which, and takes outcomes. What was answered
with anything but accepted, and what had no answer when a connection was lost, it sends again, in order and
before anything new. It touches no socket; `crowd` drives it.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ACCEPTED: Final = 0x24
"""The descriptor of the outcome accepted (core 3.4.2)."""

SMALL_BYTES: Final = 100


def encoded(body: bytes, message_id: str | None = None) -> bytes:
    """Encode a message of one data section, and of a message-id where there is one."""
    head = b""
    if message_id is not None:
        text = message_id.encode()
        head = b"\0\x53\x73\xc0%c\x01\xa1%c%b" % (len(text) + 3, len(text), text)
    size = len(body)
    return head + (b"\0Su\xa0%c" % size if size < 1 << 8 else b"\0Su\xb0" + size.to_bytes(4, "big")) + body


def identity(body: bytes | None) -> tuple[int, int]:
    """Read from a message's body which outbox it came from, and its number there."""
    owner, number = (body or b"").split(b" ", 1)[0].split(b":")
    return int(owner), int(number)


class Outbox:
    """The messages of one sender. `count` None: as many as credit allows, until `stop` is called.

    A body begins with the owner's number, the message's, and a space; it has `size(number)` bytes. In mode
    `settled` there are no outcomes. With `named` each message has its identity as its message-id.
    """

    def __init__(
        self,
        owner: int,
        address: str,
        *,
        count: int | None = None,
        mode: str = "unsettled",
        size: Callable[[int], int] = lambda _number: SMALL_BYTES,
        named: bool = False,
        may_end: bool = False,
    ) -> None:
        self.owner = owner
        self.address = address
        self.mode = mode
        self.link_name = f"sender-{owner}"
        self._count = count
        self._size = size
        self._named = named
        self.may_end = may_end
        """Whether the bridge may end the link, which else is an error."""
        self.ended = ""
        """The condition that it ended the link with."""
        self._again: deque[int] = deque()
        self._next = 0
        self._paused = self._stopped = False
        self.waiting: dict[Any, int] = {}
        """The number of the message of each delivery that has no outcome yet."""
        self.accepted: set[int] = set()
        self.resent: set[int] = set()
        self.outcomes: Counter[int] = Counter()
        """How often each outcome came, by its descriptor."""
        self.deliveries = 0
        """How many messages were sent, those that were sent again included."""

    def __repr__(self) -> str:
        return (
            f"outbox {self.owner}: {self._next} numbers, {self.deliveries} deliveries,"
            f" {len(self.waiting)} waiting, {len(self._again)} to be sent again, {dict(self.outcomes)}"
        )

    @property
    def numbers(self) -> int:
        """How many different messages were sent so far."""
        return self._next

    def pause(self) -> None:
        """Send nothing for now."""
        self._paused = True

    def resume(self) -> None:
        """Send again."""
        self._paused = False

    def stop(self) -> None:
        """Begin no new messages from now on."""
        self._stopped = True

    def has_more(self) -> bool:
        """Tell whether there is a message to be sent now."""
        if self._paused:
            return False
        return bool(self._again) or (not self._stopped and (self._count is None or self._next < self._count))

    def is_done(self) -> bool:
        """Tell whether everything was sent and, unless it was sent settled, accepted."""
        return not self.has_more() and not self.waiting

    def take(self) -> int:
        """Take the number of the message that is to be sent next."""
        self.deliveries += 1
        if self._again:
            number = self._again.popleft()
            self.resent.add(number)
            return number
        self._next += 1
        return self._next - 1

    def message(self, number: int) -> bytes:
        """Encode a message."""
        name = f"{self.owner}:{number}"
        body = name.encode() + b" "
        return encoded(body.ljust(self._size(number), b"x"), name if self._named else None)

    def answered(self, delivery: Any, outcome: int) -> None:  # noqa: ANN401 - a C pointer
        """Take an outcome. Raises KeyError for a delivery that has one already."""
        number = self.waiting.pop(delivery)
        self.outcomes[outcome] += 1
        if outcome == ACCEPTED:
            self.accepted.add(number)
        else:
            self._again.append(number)

    def lost(self) -> None:
        """Take notice that the connection is gone: what has no answer is sent again, in order."""
        self._again = deque(sorted([*self.waiting.values(), *self._again]))
        self.waiting.clear()
