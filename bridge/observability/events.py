"""What operators are told: every log event of the service, one function for each, in one place.

An event's name says the subject and what happened to it. Its fields are few and bounded: identities
(connection, link, topic, partition, offset), numbers, and a reason. No message body, key, header or
secret is ever among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.model.conditions import Condition
    from bridge.model.failures import Failure
    from bridge.model.outcomes import Outcome
    from bridge.sink.ports import DeadLetter

_log: structlog.typing.FilteringBoundLogger = structlog.get_logger()


def service_started(version: str, amqp: str, management: str | None, kafka: str, *, compiled: bool) -> None:
    """Report that clients may connect; addresses are host:port, `compiled` is of bridge.mapping.compiled."""
    _log.info(
        "service started", version=version, amqp=amqp, management=management, kafka=kafka, compiled=compiled
    )


def service_stopping(reason: str, grace_seconds: float) -> None:
    """Report that the shutdown began."""
    _log.info("service stopping", reason=reason, grace_seconds=grace_seconds)


def service_stopped(unacknowledged: int) -> None:
    """Report the end; `unacknowledged` records had no answer from Kafka, their senders no outcome."""
    _log.info("service stopped", unacknowledged_records=unacknowledged)


def connection_accepted(connection: int, peer: str) -> None:
    """Report a new socket."""
    _log.debug("connection accepted", connection=connection, peer=peer)


def connection_opened(connection: int, container: str, peer: str) -> None:
    """Report a peer's open; `peer` is its address."""
    _log.info("connection opened", connection=connection, container=container, peer=peer)


def connection_failed(connection: int, condition: Condition, peer: str) -> None:
    """Report a connection that ended with an error."""
    _log.warning(
        "connection failed",
        connection=connection,
        peer=peer,
        condition=condition.name,
        description=condition.description,
    )


def connection_ended(connection: int) -> None:
    """Report that a socket is gone."""
    _log.info("connection ended", connection=connection)


def link_attached(connection: int, link: str, role: str, address: str, fields: Mapping[str, object]) -> None:
    """Report a link that was opened; `role` is "source" (into Kafka) or "sink" (out of it)."""
    _log.info("link attached", connection=connection, link=link, role=role, address=address, **fields)


def link_refused(connection: int, link: str, address: str | None, condition: Condition) -> None:
    """Report an attach that was answered with an error."""
    _log.warning(
        "link refused",
        connection=connection,
        link=link,
        address=address,
        condition=condition.name,
        description=condition.description,
    )


def link_ended(connection: int, link: str, role: str, fields: Mapping[str, object]) -> None:
    """Report a link that is over, with what it did."""
    _log.info("link ended", connection=connection, link=link, role=role, **fields)


def link_handler_failed(connection: int, link: str, error: BaseException) -> None:
    """Report a defect of the bridge that ended a link."""
    _log.error("link handler failed", connection=connection, link=link, exc_info=error)


def messages_refused(connection: int, link: str, topic: str, count: int, outcome: Outcome) -> None:
    """Report messages whose sender got another outcome than accepted; the last one's is given."""
    condition = outcome.condition
    _log.warning(
        "messages refused",
        connection=connection,
        link=link,
        topic=topic,
        count=count,
        outcome=outcome.state.name.lower(),
        condition=condition.name if condition else None,
        description=condition.description if condition else None,
    )


def messages_dropped(connection: int, link: str, topic: str, count: int, reason: str) -> None:
    """Report pre-settled messages that were lost; their sender allowed that."""
    _log.warning(
        "settled messages dropped",
        connection=connection,
        link=link,
        topic=topic,
        count=count,
        reason=reason,
    )


def record_skipped(connection: int, link: str, record: Mapping[str, object], why: Outcome) -> None:
    """Report a record that its receiver refused for good; it stays in Kafka."""
    condition = why.condition
    _log.warning(
        "record skipped",
        connection=connection,
        link=link,
        **record,
        outcome=why.state.name.lower(),
        condition=condition.name if condition else None,
        description=condition.description if condition else None,
    )


def records_redelivered(
    connection: int, link: str, record: Mapping[str, object], count: int, why: Outcome
) -> None:
    """Report records that will be sent again; the last one is named."""
    _log.info(
        "records redelivered",
        connection=connection,
        link=link,
        count=count,
        **record,
        outcome=why.state.name.lower(),
    )


def records_dead_lettered(
    connection: int, link: str, record: Mapping[str, object], count: int, why: DeadLetter
) -> None:
    """Report records that the dead-letter topic has; the last one is named."""
    condition = why.condition
    _log.warning(
        "records dead-lettered",
        connection=connection,
        link=link,
        count=count,
        **record,
        reason=why.reason.value,
        attempts=why.attempts,
        condition=condition.name if condition else None,
        description=condition.description if condition else None,
    )


def dead_letters_failed(
    connection: int, link: str, record: Mapping[str, object], count: int, failure: Failure
) -> None:
    """Report records that the dead-letter topic did not take; the last one is named."""
    _log.error(
        "dead letter failed",
        connection=connection,
        link=link,
        count=count,
        **record,
        kafka_error=failure.kafka_error,
        description=failure.description,
        retriable=failure.retriable,
    )


def consumer_rebalanced(connection: int, link: str, topic: str, kind: str, partitions: Sequence[int]) -> None:
    """Report partitions that were assigned, revoked or lost."""
    _log.info(
        "consumer rebalanced",
        connection=connection,
        link=link,
        topic=topic,
        kind=kind,
        partitions=list(partitions),
    )


def offset_reset(connection: int, link: str, record: Mapping[str, object], to: int) -> None:
    """Report an offset that was to be read and is not there; what lies before `to` was not delivered."""
    _log.warning("offset reset", connection=connection, link=link, **record, to=to)


def consumer_failed(connection: int, link: str, topic: str, failure: Failure) -> None:
    """Report a consumer that cannot go on; its link is detached."""
    _log.error(
        "consumer failed",
        connection=connection,
        link=link,
        topic=topic,
        kafka_error=failure.kafka_error,
        description=failure.description,
    )


def commit_failed(
    connection: int, link: str, topic: str, offsets: Mapping[int, int], failure: Failure
) -> None:
    """Report offsets that were not committed; the next commit covers them."""
    _log.warning(
        "commit failed",
        connection=connection,
        link=link,
        topic=topic,
        offsets=dict(offsets),
        kafka_error=failure.kafka_error,
        description=failure.description,
    )


def kafka_error(client: str, name: str, description: str, *, fatal: bool, repeated: int) -> None:
    """Report what librdkafka says of its connections, and how often it said so since the last time."""
    log = _log.error if fatal else _log.warning
    log(
        "kafka error",
        client=client,
        kafka_error=name,
        description=description,
        fatal=fatal,
        repeated=repeated,
    )


def memory_budget_exceeded(held_bytes: int, budget_bytes: int) -> None:
    """Report that no more is read from senders until Kafka has taken some of what they sent."""
    _log.warning("memory budget exceeded", held_bytes=held_bytes, budget_bytes=budget_bytes)


def memory_budget_relieved(held_bytes: int, budget_bytes: int) -> None:
    """Report that senders are read again."""
    _log.info("memory budget relieved", held_bytes=held_bytes, budget_bytes=budget_bytes)


def messages_given_up(links: int) -> None:
    """Report links that were ended, since they filled the memory with messages that did not go on."""
    _log.warning("messages given up", links=links)


def routes_loaded(file: str, routes: int, detached: int) -> None:
    """Report routes that are in force from now on, and how many links were detached for it."""
    _log.info("routes loaded", file=file, routes=routes, links_detached=detached)


def routes_refused(file: str, problems: Sequence[str]) -> None:
    """Report a file of routes that was not taken; the former routes stay in force."""
    _log.error("routes refused", file=file, problems=list(problems))


def topic_limits_unknown(failure: Failure) -> None:
    """Report that Kafka does not tell how large a topic's batches may be; the usual size is used."""
    _log.warning("topic limits unknown", kafka_error=failure.kafka_error, description=failure.description)


def producer_rebuilt() -> None:
    """Report that the acknowledged producer failed for good and was replaced."""
    _log.warning("producer rebuilt")


def report_handling_failed(error: BaseException) -> None:
    """Report a defect of the bridge in the handling of delivery reports."""
    _log.error("report handling failed", exc_info=error)


def kafka_reachable(*, reachable: bool) -> None:
    """Report that the cluster answers, or that it stopped to."""
    if reachable:
        _log.info("kafka reachable")
    else:
        _log.warning("kafka unreachable")
