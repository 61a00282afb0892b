"""What links tell the endpoints that opened them.

Shapes, and the one that stands in until a link is open. The calls are those of the hot path: positional, one
for each message or disposition, on the event loop's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from bridge.amqp.native import CData
    from bridge.model.outcomes import Outcome
    from bridge.model.payloads import LargePayload


class LinkHandler(Protocol):
    """What both kinds of handlers are told."""

    def batch_ended(self) -> None:
        """All events that the engine had are handled: the time to give credit, or to send."""

    def close(self) -> object:
        """Take notice that the link has ended. Called once."""


class IncomingHandler(LinkHandler, Protocol):
    """Told about a link on which the peer sends."""

    def transferred(self, delivery: CData, payload: bytes, settled: bool, /) -> None:  # noqa: FBT001 - positional: the hot path
        """Take one whole message. One that came settled may be asked for its tag, now, and for no more."""

    def transferred_large(self, delivery: CData, payload: LargePayload, settled: bool, /) -> None:  # noqa: FBT001 - as above
        """Take one whole message of several frames, whose bytes are there for as long as the call lasts."""

    def arriving(self, change_bytes: int, /) -> None:
        """Count bytes of a message of several frames; all are taken back when it is whole or given up."""

    def aborted(self) -> None:
        """Take notice of a transfer that was given up."""

    def settled(self, delivery: CData, /) -> None:
        """Take notice that the peer settled an unsettled delivery."""


class OutgoingHandler(LinkHandler, Protocol):
    """Told about a link on which the bridge sends.

    A peer may change its mind until a delivery is settled: the same one may come here again, with another
    outcome or with the same. Deliveries of a range come in no particular order.
    """

    def accepted(self, delivery: CData, /) -> None:
        """Take the outcome accepted."""

    def disposed(self, delivery: CData, outcome: Outcome, /) -> None:
        """Take any other outcome, or a settlement without one (state NONE)."""


class _NotOpenYet:
    """Handles a link that has no answer yet: nothing may happen on it, and nothing is kept."""

    def batch_ended(self) -> None: ...
    def close(self) -> None: ...
    def arriving(self, change_bytes: int, /) -> None: ...
    def aborted(self) -> None: ...
    def transferred(self, delivery: CData, payload: bytes, settled: bool, /) -> None: ...  # noqa: FBT001 - positional: the hot path
    def transferred_large(self, delivery: CData, payload: LargePayload, settled: bool, /) -> None: ...  # noqa: FBT001 - as above
    def settled(self, delivery: CData, /) -> None: ...
    def accepted(self, delivery: CData, /) -> None: ...
    def disposed(self, delivery: CData, outcome: Outcome, /) -> None: ...


NOT_OPEN_YET: Final = _NotOpenYet()
