"""What became of the messages that one connection sent, and how long it took: pure bookkeeping.

Reads no clock and no bytes: what was sent when, and which outcomes were read when, is told to it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.load.reading import OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bench.load.blocks import Mode

_AWAITED: Final = 1
_ANSWERED: Final = 2
_ANSWER: Final = bytes((0, _ANSWERED)) + bytes(range(2, 256))
"""Turns what is awaited into what is answered, and leaves the rest as it is."""
_PATTERNS: Final = {"settled": (0, 0), "unsettled": (_AWAITED, _AWAITED), "mixed": (0, _AWAITED)}
"""Whether outcomes come for messages with an even and with an odd number of forerunners on their link."""


@dataclass(slots=True)
class Tally:
    """What all senders of a run together have to do and have done, in messages."""

    left: int = 0
    """To be sent still."""
    awaited: int = 0
    """Sent, and the outcome has not come."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Of unsettled messages; the names are those of AMQP."""
    refusal: str = ""
    """What a peer said of the first message that it did not accept."""
    numbered: int = 0
    """Messages have the numbers from 0 on, whichever link they go over."""


class Outcomes:
    """The deliveries of one connection, by delivery-id from 0 on; `capacity` is how many there may be.

    Moments are microseconds of any clock, modulo 2^32: nothing may take longer than 71 minutes.
    """

    def __init__(self, mode: Mode, capacity: int, tally: Tally) -> None:
        self._tally = tally
        self._pattern = bytes(_PATTERNS[mode])
        # One byte for each delivery, as bytes for ranges and as an array for scattered ids.
        self._states = bytearray(capacity)
        self._states_array = np.frombuffer(self._states, np.uint8)
        # The moment of sending, which becomes the time taken when the outcome comes.
        self._times: NDArray[np.uint32] = np.zeros(capacity, np.uint32)
        self._answers: list[tuple[int, int, int]] = []
        self._scattered: list[tuple[NDArray[np.int64], int]] = []

    def expect(self, first_id: int, count: int, first_of_link: int) -> None:
        """Await the outcomes of `count` deliveries; `first_of_link` messages went before on their link."""
        start = first_of_link % 2
        awaited = (self._pattern * (count // 2 + 1))[start : start + count]
        self._states[first_id : first_id + count] = awaited
        self._tally.awaited += awaited.count(_AWAITED)

    def sent(self, first_id: int, end_id: int, now: int) -> None:
        """Note the moment at which the deliveries before `end_id` were given to the socket."""
        self._times[first_id:end_id] = now

    def answered(self, first_id: int, last_id: int, state: int) -> None:
        """Take an outcome of a range; it counts at the next call of `settle_up`."""
        if self._answers:
            before_first, before_last, before_state = self._answers[-1]
            if before_last + 1 == first_id and before_state == state:
                self._answers[-1] = (before_first, last_id, state)
                return
        self._answers.append((first_id, last_id, state))

    def answered_each(self, first_ids: NDArray[np.int64], last_ids: NDArray[np.int64], state: int) -> None:
        """Take outcomes of many ranges at once."""
        if (first_ids == last_ids).all():
            self._scattered.append((first_ids, state))
            return
        for first_id, last_id in zip(first_ids.tolist(), last_ids.tolist(), strict=True):
            self.answered(first_id, last_id, state)

    def settle_up(self, now: int) -> None:
        """Count the outcomes that were taken, all of which were read at this moment."""
        states, times, moment = self._states, self._times, np.uint32(now)
        for first_id, last_id, state in self._answers:
            end_id = last_id + 1
            if count := states.count(_AWAITED, first_id, end_id):
                states[first_id:end_id] = states[first_id:end_id].translate(_ANSWER)
                times[first_id:end_id] = moment - times[first_id:end_id]
                self._count(state, count)
        self._answers.clear()
        for ids, state in self._scattered:
            awaited = ids[self._states_array[ids] == _AWAITED]
            self._states_array[awaited] = _ANSWERED
            times[awaited] = moment - times[awaited]
            self._count(state, len(awaited))
        self._scattered.clear()

    def latencies(self, first_id: int, end_id: int) -> NDArray[np.uint32]:
        """Give how many microseconds the outcomes of a range of deliveries took, those that have come."""
        answered = self._states_array[first_id:end_id] == _ANSWERED
        times: NDArray[np.uint32] = self._times[first_id:end_id][answered]
        return times

    def _count(self, state: int, count: int) -> None:
        self._tally.awaited -= count
        self._tally.outcomes[OUTCOMES.get(state, "none")] += count
