"""Which producer a topic's records go through: one for each acknowledgement class and size of batches.

librdkafka's `batch.size` belongs to a producer, not to a topic, and a batch that the broker finds too
large is not divided: all its records are refused for it. So topics that take less than a usual batch
share producers with smaller ones, in sizes that are powers of two: few at most, each made when it is
first needed. They are kept, since an idle one costs little more than its threads. The size is that of
the batch before it is compressed, since nobody knows before how small it will become.

A producer that fails for good is replaced, at once at first, then after growing pauses: what it may not do
(a cluster that grants no idempotent writes, say) the next one may not do either. Records are then refused
for that very reason.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from bridge.kafka import failures, settings
from bridge.kafka.producers import SharedProducer
from bridge.model.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.kafka.producers import ReportPump
    from bridge.kafka.settings import ErrorSink

Acks: TypeAlias = Literal["all", "1", "0"]

SMALLEST_BATCH_BYTES: Final = 1024
"""Topics that take less get a batch for each record."""
SINGLE_RECORDS_BYTES: Final = 1
SMALL_QUEUES: Final = 64
"""Each producer for small batches gets such a part of its class's queue, the usual one three quarters."""
REBUILD_PAUSE_SECONDS: Final = 1.0
REBUILD_PAUSE_MAX_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """What all producers have in common, and how much each acknowledgement class may hold.

    `pass_through` is given to librdkafka as it is. `queue_bytes` bounds the values of the records that
    all producers of a class hold together; operators who set `queue.buffering.max.kbytes` replace it.
    """

    bootstrap_servers: str
    pass_through: Mapping[str, str]
    message_max_bytes: int
    queue_bytes: Mapping[Acks, int] = field(default_factory=dict)

    def queue_share(self, acks: Acks, batch_bytes: int | None) -> int:
        """Give how many bytes the producer for batches of a size (None: the usual one) may hold."""
        whole = self.queue_bytes.get(acks, settings.QUEUE_BYTES)
        if settings.QUEUE_OPTION in self.pass_through:
            whole = int(self.pass_through[settings.QUEUE_OPTION]) * 1024
        return whole * 3 // 4 if batch_bytes is None else whole // SMALL_QUEUES


def batch_class(limit_bytes: int | None, usual_bytes: int) -> int | None:
    """Give the `batch.size` for topics with a limit (`max.message.bytes`); None where the usual one fits."""
    if limit_bytes is None or limit_bytes >= usual_bytes:
        return None
    if limit_bytes < SMALLEST_BATCH_BYTES:
        return SINGLE_RECORDS_BYTES
    return int(1 << limit_bytes.bit_length() - 1)


class ProducerPool:
    """Makes and keeps producers.

    `on_error` is told of everything that librdkafka says, `on_rebuilt` of a producer that was replaced.
    The usual producer of a class is made when it is first asked for: ask at the start, since ValueError
    says that librdkafka refuses an option.
    """

    def __init__(
        self,
        pool_settings: PoolSettings,
        pump: ReportPump,
        on_error: ErrorSink,
        on_rebuilt: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = pool_settings
        self._pump = pump
        self._on_error = on_error
        self._on_rebuilt = on_rebuilt
        self._producers: dict[tuple[Acks, int | None], SharedProducer] = {}
        self._usual_batch_bytes: dict[Acks, int] = {}
        self._refusal: Failure | None = None
        """Why a producer was replaced the last time, if that is what its successor will say, too."""

    def classify(self, error: object) -> Failure:
        """Read the error of a report. It may be a Failure already: of a producer that is not of the pool.

        What a producer gives up when it is replaced has the reason for that, where it is one that lasts.
        """
        failure = error if isinstance(error, Failure) else failures.classify_report(error)
        return self._refusal or failure if failure.kafka_error == failures.GIVEN_UP else failure

    def get(self, acks: Acks, topic_limit_bytes: int | None = None) -> SharedProducer:
        """Give the producer for a topic that takes batches of so many bytes; None where that is unknown.

        The same one for as long as the process lives. Raises ValueError when none can be made.
        """
        usual = self._producers.get((acks, None))
        if usual is None:
            usual = self._make(acks, None)
        batch_bytes = batch_class(topic_limit_bytes, self._usual_batch_bytes[acks])
        if batch_bytes is None:
            return usual
        return self._producers.get((acks, batch_bytes)) or self._make(acks, batch_bytes)

    def alone(self, acks: Acks) -> SharedProducer:
        """Give the producer that sends each record in a batch of its own.

        For a record whose batch was refused (Reach.BATCH), perhaps for a neighbour: sent again through
        this one it is refused for itself alone, or stored; after records that were sent later than it was
        at first. The message of a report has its key, value and partition, but not its headers and time.
        """
        return self.get(acks, 0)

    def __len__(self) -> int:
        """Count the producers that were made."""
        return len(self._producers)

    def _make(self, acks: Acks, batch_bytes: int | None) -> SharedProducer:
        rebuilding = _Rebuilding(self._on_rebuilt)

        def on_error(client: str, name: str, description: str, fatal: bool) -> None:  # noqa: FBT001 - ErrorSink
            self._on_error(client, name, description, fatal)
            if fatal:
                self._refusal = producer.refusal = failures.classify_end(name, description)
                rebuilding.begin()

        options = settings.producer(
            self._settings.bootstrap_servers,
            {
                key: value
                for key, value in self._settings.pass_through.items()
                if key != settings.QUEUE_OPTION
            },
            acks=acks,
            message_max_bytes=self._settings.message_max_bytes,
            on_error=on_error,
            queue_bytes=self._settings.queue_share(acks, batch_bytes),
            batch_max_bytes=batch_bytes,
        )
        producer = rebuilding.producer = SharedProducer(options, self._pump.wake)
        if batch_bytes is None:
            self._usual_batch_bytes[acks] = settings.batch_bytes(options)
        self._producers[acks, batch_bytes] = producer
        self._pump.add(producer)
        return producer


class _Rebuilding:
    """Replaces a producer after its fatal errors."""

    def __init__(self, on_rebuilt: Callable[[], None]) -> None:
        self._on_rebuilt = on_rebuilt
        self._loop = asyncio.get_running_loop()
        self._pause_seconds = 0.0
        self._rebuilt_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self.producer: SharedProducer | None = None

    def begin(self) -> None:
        """Replace it soon; called from within its own error callback."""
        if self._timer is not None:
            return
        if self._loop.time() - self._rebuilt_at > REBUILD_PAUSE_MAX_SECONDS:
            self._pause_seconds = 0.0
        self._timer = self._loop.call_later(self._pause_seconds, self._rebuild)
        doubled = max(REBUILD_PAUSE_SECONDS, 2 * self._pause_seconds)
        self._pause_seconds = min(doubled, REBUILD_PAUSE_MAX_SECONDS)

    def _rebuild(self) -> None:
        self._timer = None
        self._rebuilt_at = self._loop.time()
        if self.producer is None:
            return
        try:
            self.producer.rebuild()
        except ValueError:
            # The options were taken before: the machine has no threads or memory to spare at the moment.
            self.begin()
        else:
            self._on_rebuilt()
