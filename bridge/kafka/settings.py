"""librdkafka's configuration for each of the bridge's clients.

What operators set with `kafka.*`, `kafka.producer.*` and `kafka.consumer.*` wins over the defaults
here; what the bridge must own cannot be set and is written last.

Source: librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

Options: TypeAlias = dict[str, Any]

ErrorSink: TypeAlias = Callable[[str, str, str, bool], None]
"""Takes what librdkafka says: which client, the error's name, its text, whether it is fatal."""

RECORD_OVERHEAD_BYTES: Final = 65536
"""Room for a record's key and headers beside the AMQP message's own size."""
QUEUE_OPTION: Final = "queue.buffering.max.kbytes"
QUEUE_BYTES: Final = 268_435_456
"""How much a producer's queue holds, unless it is said."""
BATCH_BYTES: Final = 1_000_000
"""librdkafka's own `batch.size`."""
WAITING_RECORD_BYTES: Final = 512
"""What a record takes in a queue beside its value: a queue of small ones is bounded by that."""
QUEUE_RECORDS_MIN: Final = 4096
QUEUE_RECORDS_MAX: Final = 500_000
FETCH_BYTES_MIN: Final = 1 << 20
"""librdkafka wants an answer to hold a `message.max.bytes`, of which consumers have the default."""
FETCH_BYTES_MAX: Final = 50 << 20
PARTITION_FETCH_BYTES_MAX: Final = 1 << 20
"""librdkafka's own, and Kafka's."""
AHEAD_RECORD_BYTES: Final = 1024
"""What a record takes that is read ahead, beside its value: a queue of small ones is bounded by that."""
SESSION_TIMEOUT_MS: Final = 10_000
"""When a member that is silent is given up. Kafka does not hear of one that leaves while it joins: with
librdkafka's own 45 seconds a group whose receivers come and go stood still for so long. A static member
is to be waited for."""
ADMIN_RECONNECT_MS: Final = 1000
"""That a broker is back should be seen soon: readiness and credit wait for it."""

_LOGGER: Final = logging.getLogger("librdkafka")
# What fails is told by error_cb as well, in a form that can be counted.
_LOGGER.addFilter(lambda record: not record.getMessage().startswith(("FAIL", "FATAL")))


def _common(client: str, bootstrap_servers: str, on_error: ErrorSink) -> Options:
    def report(error: KafkaError) -> None:
        on_error(client, error.name(), error.str(), error.fatal())

    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "amqp-kafka-bridge",
        "error_cb": report,
        "logger": _LOGGER,
    }


def producer(
    bootstrap_servers: str,
    pass_through: Mapping[str, str],
    *,
    acks: str,
    message_max_bytes: int,
    on_error: ErrorSink,
    queue_bytes: int = QUEUE_BYTES,
    batch_max_bytes: int | None = None,
) -> Options:
    """Options of a shared producer; `acks` is "all", "1" or "0".

    `queue_bytes` bounds the values (not the keys and headers) of all records that it holds, and their number
    accordingly; it is raised to what the largest message needs, which otherwise would wait for room for
    ever. `batch_max_bytes` bounds a batch of several records, with its overhead and before it is compressed;
    a record that is larger is a batch of its own.
    """
    record_max_bytes = message_max_bytes + RECORD_OVERHEAD_BYTES
    owned: Options = {
        "acks": acks,
        "enable.idempotence": acks == "all",
        "message.max.bytes": record_max_bytes,
    }
    if batch_max_bytes is not None:
        owned["batch.size"] = batch_max_bytes
    if acks == "0":
        # A pre-settled message has nobody to tell of its success.
        owned["delivery.report.only.error"] = True
    if acks == "1":
        # Without idempotence a retried batch may overtake the next one.
        owned["max.in.flight.requests.per.connection"] = 1
    return {
        **_common("producer", bootstrap_servers, on_error),
        # librdkafka's own default does not agree with the Java clients.
        "partitioner": "murmur2_random",
        "linger.ms": 2,
        "queue.buffering.max.messages": max(
            QUEUE_RECORDS_MIN, min(queue_bytes // WAITING_RECORD_BYTES, QUEUE_RECORDS_MAX)
        ),
        QUEUE_OPTION: -(-max(queue_bytes, record_max_bytes) // 1024),
        # How long an unknown topic or partition is waited for: a new topic's metadata spreads
        # in that time, and a sender to a missing one should not wait for half a minute.
        "topic.metadata.propagation.max.ms": 3000,
        **pass_through,
        **owned,
    }


def consumer(
    bootstrap_servers: str,
    pass_through: Mapping[str, str],
    *,
    group: str,
    queue_bytes: int,
    on_error: ErrorSink,
    instance_id: str | None = None,
) -> Options:
    """Options of one link's consumer.

    `queue_bytes` bounds what librdkafka reads ahead, the largest record aside. With `instance_id` it is a
    static member of its group (KIP-345): its partitions wait for it when it goes, for as long as the
    session timeout.
    """
    membership: Options = {"partition.assignment.strategy": "cooperative-sticky"}
    if instance_id is None:
        membership["session.timeout.ms"] = SESSION_TIMEOUT_MS
    if pass_through.get("group.protocol") == "consumer":
        # The newer protocol (KIP-848) assigns and watches on the broker's side.
        membership = {}
    identity = {} if instance_id is None else {"group.instance.id": instance_id}
    return {
        **_common("consumer", bootstrap_servers, on_error),
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        **membership,
        **_read_ahead(queue_bytes),
        "fetch.queue.backoff.ms": 2,
        # The topic was there when the link was attached: if it is unknown then it was deleted.
        "topic.metadata.propagation.max.ms": 3000,
        **pass_through,
        "group.id": group,
        **identity,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
    }


def _read_ahead(queue_bytes: int) -> Options:
    """Bound what one consumer reads ahead, which it does whether its link wants it or not.

    librdkafka counts what it holds, and not the answers under way: one of each broker. Each record takes
    a few hundred bytes beside its value, and so their number is bounded as well. The bounds are soft where
    a record is larger than they are (KIP-74): it comes alone.
    """
    share_bytes = max(FETCH_BYTES_MIN, queue_bytes // 4)
    return {
        "queued.max.messages.kbytes": share_bytes // 1024,
        "queued.min.messages": share_bytes // AHEAD_RECORD_BYTES,
        "fetch.max.bytes": min(share_bytes, FETCH_BYTES_MAX),
        "fetch.message.max.bytes": min(share_bytes // 4, PARTITION_FETCH_BYTES_MAX),
    }


def asking(
    bootstrap_servers: str,
    pass_through: Mapping[str, str],
    *,
    on_error: ErrorSink,
) -> Options:
    """Options of the consumer that only asks for offsets, for all links.

    `pass_through` is that of the links' consumers: where a partition ends depends on `isolation.level`.
    """
    return {
        **consumer(bootstrap_servers, pass_through, group="offsets", queue_bytes=0, on_error=on_error),
        "allow.auto.create.topics": False,
    }


def admin(
    bootstrap_servers: str,
    pass_through: Mapping[str, str],
    *,
    on_error: ErrorSink,
) -> Options:
    """Options of the clients that ask for topics."""
    # The longest pause may not be shorter than the first, if operators say that.
    reconnect = (
        {} if "reconnect.backoff.ms" in pass_through else {"reconnect.backoff.max.ms": ADMIN_RECONNECT_MS}
    )
    return {**_common("admin", bootstrap_servers, on_error), **reconnect, **pass_through}


def batch_bytes(options: Options) -> int:
    """Give the largest batch of several records that a producer with these options makes.

    Source: `rd_kafka_msgset_writer_write_msgq`, which begins to count with the request's header.
    """
    return min(int(options.get("batch.size", BATCH_BYTES)), int(options["message.max.bytes"]))


def queue_records(options: Options) -> int:
    """Give how many records a producer with these options holds; 0 stands for any number."""
    return int(options["queue.buffering.max.messages"])
