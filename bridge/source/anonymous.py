"""The source link to the anonymous terminus: each message names its own destination in its property `to`.

A destination that is not known yet is asked for, and the messages behind it wait, so that the link's order
is kept. The link's window bounds how many can wait.

Source: OASIS Anonymous Terminus for Message Routing 1.0.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bridge.mapping.address import read_to
from bridge.mapping.errors import MappingError
from bridge.mapping.record import ANY_PARTITION
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure, Reach, Stored
from bridge.source import outcomes
from bridge.source.link import SourceLink
from bridge.source.outcomes import Place
from bridge.source.ports import Delivery, Destination

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.model.outcomes import Outcome
    from bridge.model.payloads import LargePayload
    from bridge.source.policy import SourcePolicy
    from bridge.source.ports import Peer, Produce, SourceDoors, SourceEvents, SourcePort

Found: TypeAlias = Destination | Condition | Failure
"""A destination, why there is none, or why that cannot be told now."""


class Destinations(Protocol):
    """Finds destinations by address."""

    def known(self, address: str) -> Found | None:
        """Give what is known, or None: then `ask`."""

    def ask(self, address: str, answered: Callable[[], None]) -> None:
        """Find out; `answered` is called later, when `known` has something to give."""

    def forget(self, topic: str) -> None:
        """Ask for this topic anew when it is needed again."""


LONGEST_QUOTE: Final = 100
"""So much of a peer's text is said back to it."""

_UNBOUNDED: Final = 1 << 30
_NOWHERE: Final = Destination(
    "",
    lambda *_: None,
    lambda *_: None,
    lambda: _UNBOUNDED,
    lambda _: (None, None, None, ANY_PARTITION, 0),
    0,
)


class AnonymousSourceLink(SourceLink):
    """The state machine of one sender whose messages go to many topics."""

    __slots__ = ("_destinations", "_produces_alone", "_waiting")

    def __init__(
        self,
        port: SourcePort,
        policy: SourcePolicy,
        destinations: Destinations,
        doors: SourceDoors,
        peer: Peer,
        events: SourceEvents,
    ) -> None:
        super().__init__(port, policy, _NOWHERE, doors, peer, events)
        self._is_plain = False
        self._destinations = destinations
        self._produces_alone: dict[str, Produce | None] = {}
        """How each topic's records are sent again; of topics that there are, so no more than these."""
        self._waiting: deque[tuple[Delivery, bytes, bool, int]] = deque()

    def transferred_large(self, delivery: Delivery, payload: LargePayload, settled: bool) -> None:  # noqa: FBT001 - as its base
        """Take one whole message of several frames, which has a destination of its own as any other."""
        self.transferred(delivery, bytes(payload.view()), settled)

    def close(self) -> None:
        """End the link: nothing is answered from now on."""
        if not self.closed:
            for delivery, _, settled, size in self._waiting:
                if settled:
                    self._presettled += 1
                self._abandon(
                    None if settled else delivery, size, "the link ended before its topic was found"
                )
            self._waiting.clear()
        super().close()

    def _take(self, delivery: Delivery, payload: bytes, settled: bool, size: int) -> None:  # noqa: FBT001 - as its base
        if self._waiting or not self._route(delivery, payload, settled, size):
            self._waiting.append((delivery, payload, settled, size))

    def _route(self, delivery: Delivery, payload: bytes, settled: bool, size: int) -> bool:  # noqa: FBT001 - as its base
        """Send a message where it wants to go; False if that has to be asked first."""
        try:
            address = read_to(payload)
        except MappingError as error:
            self._refuse(delivery, size, settled, outcomes.for_error(error, self._nowhere("")))
            return True
        if not address:
            outcome = outcomes.refused(
                conditions.PRECONDITION_FAILED,
                "the message has no `to`, which names its topic on a link to the anonymous terminus",
                self._nowhere(""),
            )
            self._refuse(delivery, size, settled, outcome)
            return True
        found = self._destinations.known(address)
        if found is None:
            self._destinations.ask(address, self._answered)
            return False
        if isinstance(found, Destination):
            self._goes_to(found)
            self._produces_alone[found.topic] = found.produce_alone
            if 0 < found.message_bytes_max < len(payload):
                self._refuse(delivery, size, settled, self._too_large(found))
            else:
                super()._take(delivery, payload, settled, size)
        elif isinstance(found, Condition):
            place = self._nowhere(address)
            self._refuse(delivery, size, settled, outcomes.refused(found.name, found.description, place))
        else:
            if settled:
                self._presettled += 1
            # Kafka was asked for the topic alone: no record was made.
            failure = replace(found, stored=Stored.NO)
            self.failed(None if settled else delivery, size, failure, self._nowhere(address))
        return True

    def _answered(self) -> None:
        """Go on with what waited. Never raises, as others are called after this link."""
        try:
            self._go_on()
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            self.broke(error)

    def _go_on(self) -> None:
        waiting = self._waiting
        while waiting and not self.closed:
            message = waiting.popleft()
            if not self._route(*message):
                waiting.appendleft(message)
                return
        if not self.closed:
            self._count_bytes()
            self._grant()

    def _ends_link(self, failure: Failure, place: Place) -> bool:
        """Go on where a topic is gone: the link has others."""
        if failure.reach in {Reach.TOPIC, Reach.PARTITION}:
            self._destinations.forget(place.topic)
            return False
        return super()._ends_link(failure, place)

    def alone(self, topic: str) -> Produce | None:
        """Give what sends a topic's record in a batch of its own."""
        return self._produces_alone.get(topic)

    def _nowhere(self, address: str) -> Place:
        return Place(address[:LONGEST_QUOTE], self._peer.reference)

    def _too_large(self, destination: Destination) -> Outcome:
        return outcomes.refused(
            conditions.LINK_MESSAGE_SIZE_EXCEEDED,
            f"the message is larger than the {destination.message_bytes_max} bytes that the route of"
            f" {destination.topic} allows",
            self._place(),
        )
