"""The feed of a share link: the consumers with which it takes part in a share group (KIP-932).

A consumer gets a batch of records, and no other before all of that one are acknowledged. So one record that
takes its receiver long holds up the link's consumer, and a second one is started while there is credit and
the first has been held up for a while.

A consumer that nothing is wanted of leaves the group soon: Kafka spreads a topic's partitions over the
members, and those of a member that does not read would not be read by anybody.

Kafka's limit for a batch is soft: it gives whole batches as producers wrote them. So that a receiver with
little credit does not keep records from others that are ready, no more are asked for than there is credit
when a consumer is made; it is replaced when that has grown.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from bridge.kafka import failures
from bridge.kafka.share_member import Member
from bridge.model import conditions
from bridge.model.failures import Failure, Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.kafka.share_contract import ShareFeedEvents, ShareFeedLog, ShareFeedSettings
    from bridge.kafka.share_member import Acknowledgements

GROWTH: Final = 4
"""A consumer is replaced when there is so many times the credit that it was made for."""
GONE: Final = Failure(
    "_STATE",
    -172,
    "the consumer that had the record has left the share group",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.NO,
)


class ShareFeed:
    """The consumers of one share link. For the event loop's thread."""

    def __init__(self, settings: ShareFeedSettings, log: ShareFeedLog) -> None:
        self._settings = settings
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._events: ShareFeedEvents | None = None
        self._numbers = count(1)
        self._batches: dict[int, tuple[Member, asyncio.TimerHandle]] = {}
        self._members: list[Member] = []
        self._alive = 0
        """Members whose threads have not ended."""
        self._wanted = 0
        self._looking: tuple[int, Member] | None = None
        """Who looks for the end, and for which token; whoever takes its place goes on."""
        self._spare: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._is_joining = True
        """Nothing has come yet, perhaps since there are no partitions yet."""
        self._joined_at = 0.0
        self._stopping = False
        self.stopped: asyncio.Future[None] = self._loop.create_future()
        """Done when all consumers have left the group."""

    # ------------------------------------------------------------------ from the link

    def start(self, events: ShareFeedEvents) -> None:
        """Begin to serve a link; the group is joined when it first wants records."""
        self._events = events

    @property
    def members(self) -> int:
        """Count the consumers."""
        return len(self._members)

    def want(self, records: int) -> None:
        """Say for how many more records there is credit."""
        if records != self._wanted:
            self._wanted = records
            self._assign()

    def acknowledge(self, batch: int, answers: Acknowledgements, ticket: int) -> None:
        """Tell Kafka of records of a batch, soon."""
        if batch not in self._batches:  # its consumer is gone
            self._loop.call_soon(self._not_told, ticket, answers)
            return
        member, lapsing = self._batches[batch]
        member.unanswered -= len(answers)
        member.acknowledge(ticket, answers)
        if not member.unanswered:
            lapsing.cancel()
            del self._batches[batch]
            self._assign()

    def find_end(self, token: int) -> None:
        """Tell, with `reached_end`, when nothing has come for a while."""
        if not self._members and not self._stopping:
            self._add(self._size())
        idle = [member for member in self._members if not member.unanswered]
        if not idle:
            self._loop.call_soon(self.found_nothing, token)
            return
        wait_seconds = self._settings.end_wait_seconds
        if self._is_joining:
            wait_seconds = max(wait_seconds, self._joined_at + self._settings.join_seconds - time.monotonic())
        self._looking = token, idle[0]
        idle[0].find_end(token, wait_seconds)

    def stop(self) -> None:
        """Tell Kafka what was answered, and leave the group, soon."""
        if self._stopping:
            return
        self._stopping = True
        for timer in (self._spare, self._leaving):
            if timer is not None:
                timer.cancel()
        for member in self._members:
            member.stop()
        self._members.clear()
        self._check_stopped()

    # ------------------------------------------------------------------ from the members

    def got(self, member: Member, records: Sequence[Any], lapses_at: float) -> None:
        """Hand a batch over."""
        number = next(self._numbers)
        self._is_joining = False
        if self._looking is not None and self._looking[1] is member:
            self._looking = None
        member.unanswered = len(records)
        member.want(wanted=False)  # it may have been told while this was under way
        timer = self._loop.call_later(max(0.0, lapses_at - time.monotonic()), self._lapse, number)
        self._batches[number] = member, timer
        if self._wanted <= 0:
            # It had been asked for before. Others are to have it soon, unless credit comes back.
            is_leaving = member not in self._members
            self._loop.call_later(
                0.0 if is_leaving else self._settings.unwanted_seconds, self._is_unwanted, number
            )
        self._assign()
        self._call(lambda events: events.consumed(number, records))

    def told(self, tickets: Sequence[int], failed: dict[int, Failure]) -> None:
        """Hand over Kafka's answer to acknowledgements."""
        for ticket in tickets:
            self._call(partial(_acknowledged, ticket, failed))

    def found_nothing(self, token: int) -> None:
        """Hand over that nothing came for a while."""
        if self._looking is not None and self._looking[0] == token:
            self._looking = None
        self._call(lambda events: events.reached_end(token))

    def unreadable(self, partition: int, offset: int, failure: Failure) -> None:
        """Report a record that could not be read."""
        self._log.unreadable(partition, offset, failure)

    def member_failed(self, failure: Failure) -> None:
        """Hand over that a member cannot go on."""
        self._call(lambda events: events.failed(failure))

    def member_stopped(self, member: Member) -> None:
        """Forget a member that has left the group."""
        self._alive -= 1
        if member in self._members:
            self._members.remove(member)
        for number, (owner, lapsing) in list(self._batches.items()):
            if owner is member:
                lapsing.cancel()
                del self._batches[number]
        for ticket, answers in member.take_untold():
            self._not_told(ticket, answers)
        self._check_stopped()

    # ------------------------------------------------------------------ inside

    def _not_told(self, ticket: int, answers: Acknowledgements) -> None:
        """Hand over that Kafka was not told, and will not be."""
        self.told([ticket], {record.partition(): GONE for record, _ in answers})

    def _look_on(self) -> None:
        """Have another member look for the end where the one has gone that did, if it still matters."""
        if self._looking is not None and self._looking[1] not in self._members:
            (token, _), self._looking = self._looking, None
            if self._wanted > 0 and not self._stopping:
                self.find_end(token)

    def _lapse(self, number: int) -> None:
        self._call(lambda events: events.lapsing(number))

    def _is_unwanted(self, number: int) -> None:
        if number in self._batches:
            self._call(lambda events: events.unwanted(number))

    def _assign(self) -> None:
        """Let the members that are free get records, if some are wanted."""
        if self._stopping:
            return
        wanted = self._wanted
        free = [member for member in self._members if not member.unanswered]
        if wanted > 0:
            size = self._size()
            for member in list(free):
                if member.batch_records * GROWTH <= size:
                    free.remove(member)
                    self._members.remove(member)
                    member.stop()
            if not self._members:
                free.append(self._add(size))
        now = time.monotonic()
        self._look_on()
        for member in free:
            member.idle_since = None if wanted > 0 else member.idle_since or now
            member.want(wanted=wanted > 0)
        self._plan_spare(is_needed=wanted > 0 and not free)
        if wanted <= 0 and free and self._leaving is None:
            self._leaving = self._loop.call_later(self._settings.leave_after_seconds, self._leave)

    def _plan_spare(self, *, is_needed: bool) -> None:
        is_needed = is_needed and len(self._members) < self._settings.members_max
        if is_needed and self._spare is None:
            self._spare = self._loop.call_later(self._settings.spare_after_seconds, self._add_spare)
        elif not is_needed and self._spare is not None:
            self._spare.cancel()
            self._spare = None

    def _add_spare(self) -> None:
        self._spare = None
        self._add(self._size())
        self._assign()

    def _leave(self) -> None:
        """Let members leave the group of whom nothing was wanted for a while."""
        self._leaving = None
        now = time.monotonic()
        for member in list(self._members):
            since = member.idle_since
            if since is None or member.unanswered:
                continue
            if now - since >= self._settings.leave_after_seconds:
                self._members.remove(member)
                member.stop()
            elif self._leaving is None:
                self._leaving = self._loop.call_later(self._settings.leave_after_seconds, self._leave)

    def _size(self) -> int:
        """Tell for how many records a consumer that is made now asks at a time."""
        return max(1, min(self._wanted, self._settings.batch_records))

    def _add(self, batch_records: int) -> Member:
        member = Member(self._settings, batch_records, self, self._post)
        member.start()
        self._alive += 1
        self._members.append(member)
        self._is_joining = True
        self._joined_at = time.monotonic()
        return member

    def _check_stopped(self) -> None:
        if self._stopping and not self._alive and not self.stopped.done():
            self.stopped.set_result(None)

    def _call(self, call: Callable[[ShareFeedEvents], object]) -> None:
        if self._events is None:
            return
        try:
            call(self._events)
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            self._log.broke(error)
            self._events.failed(failures.classify_exception(error))

    def _post(self, call: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            # The loop is closed: the process is ending, and nobody is left to tell.
            for member in self._members:
                member.stop()


def _acknowledged(ticket: int, failed: dict[int, Failure], events: ShareFeedEvents) -> None:
    events.acknowledged(ticket, failed)
