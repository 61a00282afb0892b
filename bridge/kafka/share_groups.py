"""Share groups as Kafka keeps them (KIP-932): what a group is set to, and what keeps a consumer from joining.

Where a share group begins, for how long a record is locked, and how often one is given to members before it
is dropped are settings of the group at the brokers, not of its consumers. They are asked for when a receiver
attaches. Two of them, whose defaults would surprise, are set where nobody has set them for the group: a new
group would begin at the end of the topic and miss all that is there, and it would read records of
transactions that are not committed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException, ShareConsumer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported there, its documented home
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from bridge.kafka import failures, questions, settings
from bridge.model import conditions
from bridge.model.failures import Failure, Stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.kafka.settings import ErrorSink, Options

START: Final = "share.auto.offset.reset"
ISOLATION: Final = "share.isolation.level"
LOCK: Final = "share.record.lock.duration.ms"
ATTEMPTS: Final = "share.delivery.count.limit"
ATTEMPTS_DEFAULT: Final = 5
"""What brokers have that do not tell (before KIP-1240): `group.share.delivery.count.limit`."""
HOLD: Final = 0.7
"""The part of a lock's duration for which a record is held: what remains is for Kafka to hear of it."""
IDLE_MS_MAX: Final = 86_400_000
"""librdkafka's longest `max.poll.interval.ms`: a consumer that waits for credit does not poll."""

_NOT_APPLICABLE: Final = frozenset(
    {
        "auto.offset.reset",
        "consume.callback.max.messages",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.partition.eof",
        "fetch.error.backoff.ms",
        "fetch.queue.backoff.ms",
        "group.instance.id",
        "group.protocol",
        "group.protocol.type",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "isolation.level",
        "message.copy.max.bytes",
        "partition.assignment.strategy",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "session.timeout.ms",
        "topic.blacklist",
    }
)
"""What librdkafka refuses with a share consumer, and operators may have set for other receivers."""

_NOT_OFFERED: Final = (
    "these brokers offer no share groups (KIP-932: Kafka 4.2 with the feature share.version)"
)
_UNSUPPORTED: Final = frozenset({"UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE", "INVALID_REQUEST"})
_OTHER_KIND: Final = frozenset({"GROUP_ID_NOT_FOUND", "INCONSISTENT_GROUP_PROTOCOL"})
"""What a heartbeat meets in a group that has members of another kind."""

# Of each share consumer librdkafka says that it is a preview; the documentation says it once.
logging.getLogger("librdkafka").addFilter(lambda record: '"Preview"' not in record.getMessage())


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """What a share group is set to: for how long a record is locked, how often it is given to members."""

    lock_seconds: float
    attempts_max: int


def read(failure: Failure) -> Failure:
    """Read what keeps a consumer out of a share group."""
    if failure.kafka_error in _UNSUPPORTED:
        description = f"{_NOT_OFFERED}; {failure.description}"
        return replace(
            failure, condition=conditions.NOT_IMPLEMENTED, description=description, retriable=False
        )
    if failure.kafka_error in _OTHER_KIND:
        description = (
            f"the group is not a share group, a group of another kind has its name; {failure.description}"
        )
        return replace(
            failure, condition=conditions.PRECONDITION_FAILED, description=description, retriable=False
        )
    return failure


def options(
    bootstrap_servers: str,
    pass_through: Mapping[str, str],
    *,
    group: str,
    fetch_bytes: int,
    on_error: ErrorSink,
) -> Options:
    """Options of a share link's consumers; `fetch_bytes` is how much one answer of a broker has at most.

    Kafka gives whole batches as producers wrote them, so that a single larger one comes all the same.
    """
    base = settings.consumer(
        bootstrap_servers, pass_through, group=group, queue_bytes=fetch_bytes, on_error=on_error
    )
    return {
        **{key: value for key, value in base.items() if key not in _NOT_APPLICABLE},
        "fetch.max.bytes": fetch_bytes,
        "max.poll.interval.ms": IDLE_MS_MAX,
        "share.acknowledgement.mode": "explicit",
    }


def check(consumer_options: Options) -> None:
    """Let librdkafka judge the options of share consumers. Raises ValueError with its words."""
    try:
        ShareConsumer(consumer_options).close()
    except KafkaException as error:
        raise ValueError(f"librdkafka refuses the share consumer's options: {error}") from error


async def prepare(
    admin_options: Options, group: str, *, start: str, isolation: str, timeout_seconds: float
) -> ShareGroup | Failure:
    """Ask what a group is set to, and set where it begins and what it reads if nobody has.

    `start` is "earliest", "latest" or "by_duration:" with an ISO 8601 duration, `isolation` as of consumers.
    """
    try:
        return await questions.ask(
            lambda: _prepare(admin_options, group, {START: start, ISOLATION: isolation}, timeout_seconds)
        )
    except KafkaException as error:
        return read(failures.classify_exception(error))


def _prepare(
    admin_options: Options, group: str, wanted: Mapping[str, str], timeout_seconds: float
) -> ShareGroup | Failure:
    client = AdminClient(admin_options)
    resource = ConfigResource(ConfigResource.Type.GROUP, group)
    said = client.describe_configs([resource], request_timeout=timeout_seconds)[resource].result()
    if LOCK not in said:
        return Failure(
            "UNSUPPORTED_VERSION",
            35,
            _NOT_OFFERED,
            conditions.NOT_IMPLEMENTED,
            retriable=False,
            stored=Stored.NO,
        )
    unset = {
        name: value
        for name, value in wanted.items()
        if name in said and said[name].is_default and said[name].value != value
    }
    if unset:
        failure = _set(client, group, unset, timeout_seconds)
        if failure is not None:
            return failure
    attempts = said[ATTEMPTS].value if ATTEMPTS in said else ATTEMPTS_DEFAULT
    return ShareGroup(int(said[LOCK].value) / 1000, int(attempts))


def _set(
    client: AdminClient, group: str, values: Mapping[str, str], timeout_seconds: float
) -> Failure | None:
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in values.items()
    ]
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=entries)
    try:
        client.incremental_alter_configs([resource], request_timeout=timeout_seconds)[resource].result()
    except KafkaException as error:
        failure = failures.classify_exception(error)
        settings_text = ",".join(f"{name}={value}" for name, value in values.items())
        return replace(
            failure,
            description=f"the share group is not set up, and Kafka does not let the bridge do it:"
            f" kafka-configs.sh --alter --entity-type groups --entity-name {group}"
            f" --add-config {settings_text}; {failure.description}",
        )
    return None
