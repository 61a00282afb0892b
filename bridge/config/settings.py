"""What the bridge runs with: frozen values, made by `bridge.config.load` and read by every part.

Declares shapes only: the meaning, limits and names of the options are in `bridge.config.options`,
whose defaults are the ones given here. Units are in the names. Printing settings shows no secret.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bridge.config.redaction import PassThrough

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """The service as a whole."""

    workers: int = 1
    """How many processes serve the AMQP port. 1: this one alone."""


@dataclass(frozen=True, slots=True)
class AmqpSettings:
    """Where AMQP clients connect, what is announced to them, and how much credit senders get."""

    host: str = "127.0.0.1"
    port: int = 5672
    """0: a free port."""
    container_id: str = "amqp-kafka-bridge"
    max_frame_size_bytes: int = 65_536
    max_message_size_bytes: int = 16_777_216
    channel_max: int = 255
    """The highest channel number of a session, so one less than the number of sessions."""
    idle_timeout_ms: int = 60_000
    """A peer that is silent so long is gone; half of it is announced. 0: no such limit."""
    session_window_bytes: int = 0
    """0: credit alone says how much may be sent."""
    prefetch_credit: int = 1000
    """Messages that a link whose sender settles them itself may send ahead."""
    manual_credit: int = 1000
    """Messages of a link that may wait for Kafka's acknowledgement."""
    mixed_settled: Literal["ordered", "acks0"] = "ordered"


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """How messages travel from AMQP senders to Kafka."""

    budget_bytes: int = 268_435_456
    """What all senders' messages that wait for Kafka may take together. Each of several workers is given its
    part of it."""
    outcomes: Literal["listed", "all"] = "listed"
    """To whom released and modified are said: to peers that list them, or to all."""


@dataclass(frozen=True, slots=True)
class MappingSettings:
    """How messages become records, and records messages."""

    default: Literal["native", "eventhubs", "strimzi", "strimzi-json", "raw", "cloudevents"] = "native"
    """The mapping of addresses whose route chooses none."""


@dataclass(frozen=True, slots=True)
class ErrorsSettings:
    """How failures are told to AMQP peers."""

    dialect: Literal["amqp", "strimzi"] = "amqp"


@dataclass(frozen=True, slots=True)
class DeduplicationSettings:
    """The ledger of messages that were stored, for routes that suppress duplicates."""

    topic: str = "__amqp_bridge_ledger"
    partitions: int = 8
    """How many the topic is made with; those of an existing one stay."""
    links_max: int = 100
    """How many links of a process may suppress duplicates: each has a producer of its own."""
    transaction_timeout_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class RoutesSettings:
    """Where the routes are: what differs by address."""

    file: str | None = None
    """The path of routes.yaml. None: there are no routes."""


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """How records travel from Kafka to AMQP receivers. Buffers and limits are those of one link."""

    start: str = "earliest"
    """As it is written, for `bridge.filters.starts.parse_start`, which takes it."""
    order: Literal["hold", "skip-ahead"] = "hold"
    skip_ahead_records: int = 1000
    """How far behind the newest record sent of a partition its oldest unanswered one may be."""
    buffer_records: int = 1000
    buffer_bytes: int = 4_194_304
    unsettled_bytes: int = 67_108_864
    """How much may be sent and not answered."""
    drain_wait_ms: int = 5000
    commit_interval_ms: int = 1000
    commit_count: int = 1000
    """Records that are settled and not yet committed before a commit is made at once."""
    revoke_wait_ms: int = 3000
    static_membership: Literal["durable", "always", "never"] = "durable"
    redelivery_backoff_ms: int = 100
    redelivery_backoff_max_ms: int = 10_000
    max_attempts: int = 10
    max_releases: int = 10
    """Releases in a row that count as one failed attempt."""
    dead_letter_topic: str | None = None
    """A template: `bridge.config.dead_letters.topic_for` fills it. None: there is no such topic."""
    rejected: Literal["skip", "detach"] = "skip"
    """What becomes of a rejected record without a dead-letter topic."""


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """The Kafka cluster, and what is passed on to librdkafka.

    `common` is for all clients; `producer` and `consumer` win over it. Names are librdkafka's own.
    """

    bootstrap_servers: str | None = None
    acks: Literal["all", "1"] = "all"
    metadata_timeout_ms: int = 10_000
    share_enabled: bool = False
    """Whether receivers may attach to share groups."""
    common: Mapping[str, str] = field(default_factory=PassThrough)
    producer: Mapping[str, str] = field(default_factory=PassThrough)
    consumer: Mapping[str, str] = field(default_factory=PassThrough)

    def __post_init__(self) -> None:
        for name in ("common", "producer", "consumer"):
            given = getattr(self, name)
            if not isinstance(given, PassThrough):
                object.__setattr__(self, name, PassThrough(given))


@dataclass(frozen=True, slots=True)
class ManagementSettings:
    """The HTTP endpoint for probes."""

    enabled: bool = True
    host: str = "127.0.0.1"
    port: int = 8080
    """0: a free port."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What is logged, and in which form."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "console"] = "json"


@dataclass(frozen=True, slots=True)
class ShutdownSettings:
    """How the service ends."""

    grace_ms: int = 25_000


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one bridge process."""

    bridge: BridgeSettings = field(default_factory=BridgeSettings)
    amqp: AmqpSettings = field(default_factory=AmqpSettings)
    mapping: MappingSettings = field(default_factory=MappingSettings)
    source: SourceSettings = field(default_factory=SourceSettings)
    deduplication: DeduplicationSettings = field(default_factory=DeduplicationSettings)
    routes: RoutesSettings = field(default_factory=RoutesSettings)
    sink: SinkSettings = field(default_factory=SinkSettings)
    errors: ErrorsSettings = field(default_factory=ErrorsSettings)
    kafka: KafkaSettings = field(default_factory=KafkaSettings)
    management: ManagementSettings = field(default_factory=ManagementSettings)
    log: LogSettings = field(default_factory=LogSettings)
    shutdown: ShutdownSettings = field(default_factory=ShutdownSettings)
