"""A link that answers one question: it sends the messages it was opened with, once each, and then nothing.

Credit is used as far as it goes, and a drain is answered as soon as nothing waits. Outcomes mean nothing: a
message that was released, modified or rejected is settled and not sent again. It tells how it was, and who
attaches again is told how it is. What the receiver does not take is forgotten with the link.

Source: AMQP 1.0 core, sections 2.6.7 (credit, drain) and 2.6.12 (settlement).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.model.outcomes import Outcome
    from bridge.sink.ports import Delivery, SinkPort

_TAG_BYTES = 4


class InfoLink:
    """The state machine of such a link; its methods are those of `bridge.amqp.links.OutgoingHandler`.

    `settles`: the receiver attached with snd-settle-mode settled. `ended` is called once, with how many
    messages were accepted and how many were sent and never answered.
    """

    def __init__(
        self,
        port: SinkPort,
        messages: Iterable[bytes],
        *,
        settles: bool,
        ended: Callable[[int, int], object],
    ) -> None:
        self._port = port
        self._waiting = deque(enumerate(messages))
        self._settles = settles
        self._ended = ended
        self._unsettled: set[Delivery] = set()
        self._settling: list[Delivery] = []
        self.closed = False
        self.accepted_count = 0

    def opened(self) -> None:
        """Begin: the engine has answered the attach, and there may be credit already."""
        self._pump()

    def batch_ended(self) -> None:
        """Settle what was answered, and send what credit and room allow."""
        if self._settling:
            settling, self._settling = self._settling, []
            self._port.settle(settling)
        self._pump()

    def accepted(self, delivery: Delivery) -> None:
        """Take the outcome accepted."""
        if self._answered(delivery):
            self.accepted_count += 1

    def disposed(self, delivery: Delivery, _outcome: Outcome) -> None:
        """Take any other outcome, or a settlement without one."""
        self._answered(delivery)

    def close(self) -> None:
        """End."""
        if self.closed:
            return
        self.closed = True
        unanswered = len(self._unsettled)
        self._waiting.clear()
        self._unsettled.clear()
        self._settling.clear()
        self._ended(self.accepted_count, unanswered)

    # ------------------------------------------------------------------ inside

    def _answered(self, delivery: Delivery) -> bool:
        """Have a delivery settled; gives False where it has been already."""
        if delivery not in self._unsettled:
            return False
        self._unsettled.discard(delivery)
        self._settling.append(delivery)
        return True

    def _pump(self) -> None:
        if self.closed:
            return
        port, waiting = self._port, self._waiting
        credit = port.credit()
        if waiting and credit > 0:
            while waiting and credit > 0 and port.room_bytes() > 0:
                number, message = waiting.popleft()
                credit -= 1
                self._send(number.to_bytes(_TAG_BYTES), message)
            port.sent()
        # What waits for room goes out before credit is given back: `batch_ended` comes when there is some.
        if credit > 0 and not waiting and port.draining():
            port.drained()

    def _send(self, tag: bytes, message: bytes) -> None:
        if self._settles:
            self._port.send_settled(tag, message)
        else:
            self._unsettled.add(self._port.send(tag, message))
