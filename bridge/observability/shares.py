"""Turns what share links report beside what every sink link does into log events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from bridge.observability.links import Burst, SinkReporter

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from bridge.model.failures import Failure
    from bridge.model.outcomes import Outcome
    from bridge.observability.metrics_links import SinkTotals

_log: structlog.typing.FilteringBoundLogger = structlog.get_logger()


def acknowledgements_unrecorded(
    connection: int, link: str, record: Mapping[str, object], count: int, what: str, failure: Failure
) -> None:
    """Report records of which Kafka did not take the answer; they may be delivered again."""
    _log.warning(
        "acknowledgements unrecorded",
        connection=connection,
        link=link,
        count=count,
        **record,
        acknowledgement=what,
        kafka_error=failure.kafka_error,
        description=failure.description,
    )


def records_lapsed(connection: int, link: str, record: Mapping[str, object], count: int) -> None:
    """Report records that were not answered in time, and went back to the share group."""
    _log.warning("records lapsed", connection=connection, link=link, count=count, **record)


def records_answered_late(
    connection: int, link: str, record: Mapping[str, object], count: int, outcome: Outcome
) -> None:
    """Report outcomes that came after that; others may have got these records."""
    _log.warning(
        "records answered late",
        connection=connection,
        link=link,
        count=count,
        **record,
        outcome=outcome.state.name.lower(),
    )


def record_unreadable(connection: int, link: str, record: Mapping[str, object], failure: Failure) -> None:
    """Report a record that librdkafka could not read; it has rejected or released it by itself."""
    _log.error(
        "record unreadable",
        connection=connection,
        link=link,
        **record,
        kafka_error=failure.kafka_error,
        description=failure.description,
    )


class ShareReporter(SinkReporter):
    """Reports one share link and its consumers.

    `on_end` is called when the link is over; its end is reported a little later, when Kafka has answered.
    """

    def __init__(
        self,
        connection: int,
        link: str,
        topic: str,
        loop: asyncio.AbstractEventLoop,
        on_end: Callable[[], object],
        totals: SinkTotals | None = None,
    ) -> None:
        super().__init__(connection, link, topic, loop, lambda: None, totals)
        self._on_closed = on_end
        self._where = connection, link
        self._unrecorded: Burst[tuple[dict[str, object], str, Failure]] = Burst(
            loop,
            lambda count, last: acknowledgements_unrecorded(
                connection, link, last[0], count, last[1], last[2]
            ),
        )
        self._lapsed: Burst[dict[str, object]] = Burst(
            loop, lambda count, last: records_lapsed(connection, link, last, count)
        )
        self._late: Burst[tuple[dict[str, object], Outcome]] = Burst(
            loop, lambda count, last: records_answered_late(connection, link, last[0], count, last[1])
        )

    def unrecorded(self, partition: int, offset: int, acknowledgement: str, failure: Failure) -> None:
        """Report an answer that Kafka did not take."""
        self._unrecorded.add((self._record(partition, offset), acknowledgement, failure))

    def lapsed(self, partition: int, offset: int) -> None:
        """Report a record that was not answered in time."""
        self._lapsed.add(self._record(partition, offset))

    def answered_late(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Report an outcome that came after that."""
        self._late.add((self._record(partition, offset), outcome))

    def unreadable(self, partition: int, offset: int, failure: Failure) -> None:
        """Report a record that librdkafka could not read."""
        record_unreadable(*self._where, self._record(partition, offset), failure)

    def closed(self) -> None:
        """Take notice that the link is over."""
        self._on_closed()

    def ended(self, accepted: int, unanswered: int) -> None:
        """Report the link's end."""
        for burst in (self._unrecorded, self._lapsed, self._late):
            burst.flush()
        super().ended(accepted, unanswered)
