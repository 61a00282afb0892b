"""The one table of the bridge's options: key, kind, meaning; everything else follows from it.

The environment variable, the field of the settings and the default are derived from the key;
`bridge.properties` is rendered from the table, and the settings are checked by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bridge.config.kinds import Choice, Flag, Host, Kind, Servers, StartAt, Text, TopicTemplate, Value, Whole
from bridge.config.settings import Settings

VARIABLE_PREFIX: Final = "BRIDGE_"

_DEFAULTS: Final = Settings()
_MS: Final = "milliseconds"
_BYTES: Final = "bytes"
_MESSAGES: Final = "messages"
_RECORDS: Final = "records"
_FLOW_CREDIT: Final = ("amqp.flowCredit", "flow.credit")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `key` as in bridge.properties, and one or two sentences for operators.

    `formerly` are the keys of the Java bridge that came before (see `ancestor`) which set it, too.
    `example` stands in the file where there is no default.
    """

    key: str
    kind: Kind
    meaning: str
    formerly: tuple[str, ...] = ()
    example: str = ""

    @property
    def section(self) -> str:
        """The field of `Settings` that the option belongs to."""
        return self.key.split(".", 1)[0]

    @property
    def field(self) -> str:
        """The field within the section."""
        return self.key.split(".", 1)[1].replace(".", "_")

    @property
    def variable(self) -> str:
        """The environment variable that overrides the file."""
        return variable_of(self.key)

    @property
    def default(self) -> Value | None:
        """The value when nobody gives one; None if there is none."""
        default: Value | None = getattr(getattr(_DEFAULTS, self.section), self.field)
        return default


def variable_of(key: str) -> str:
    """Return the environment variable for a key."""
    return VARIABLE_PREFIX + key.replace(".", "_").upper()


def written(value: Value | None) -> str:
    """Return a value as one writes it in the file."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)


SECTIONS: Final = {
    "bridge": "The service as a whole",
    "amqp": "AMQP clients",
    "mapping": "Messages and records",
    "source": "From AMQP senders to Kafka",
    "deduplication": "Duplicates that senders make when they send again",
    "routes": "What differs by address",
    "sink": "From Kafka to AMQP receivers (of each link)",
    "errors": "What AMQP peers are told of failures",
    "kafka": "Kafka",
    "management": "Probes and metrics over HTTP",
    "log": "Log, on standard error",
    "shutdown": "Shutdown",
}
"""The headings of the file, in its order."""

OPTIONS: Final = (
    Option(
        "bridge.workers",
        Whole(1, 256),
        "How many processes serve the AMQP port together; more than there are cores gain nothing. With more"
        " than one, another process watches them and has the management port (docs/operations.md). In"
        " Kubernetes take more pods instead.",
    ),
    Option(
        "amqp.host",
        Host(),
        "The address that AMQP clients connect to.",
        formerly=("amqp.bindHost", "bind.host"),
    ),
    Option(
        "amqp.port",
        Whole(1, 65_535, zero="a free port"),
        "The port that AMQP clients connect to.",
        formerly=("amqp.bindPort", "bind.port"),
    ),
    Option(
        "amqp.container.id",
        Text(255),
        "The name of the bridge as an AMQP container, which every client is told.",
    ),
    Option(
        "amqp.max.frame.size.bytes",
        Whole(512, 1_048_576, _BYTES),
        "The largest frame taken from a client; larger messages come in several.",
    ),
    Option(
        "amqp.max.message.size.bytes",
        Whole(1, 536_870_912, _BYTES),
        "The largest message taken from a client. Kafka's own limits (message.max.bytes of the"
        " broker, max.message.bytes of the topic) have to allow it as well.",
    ),
    Option(
        "amqp.channel.max",
        Whole(0, 32_767),
        "The highest channel number: one less than the sessions that a connection may have.",
    ),
    Option(
        "amqp.idle.timeout.ms",
        Whole(100, 86_400_000, _MS, zero="never"),
        "A client that is silent so long is taken for dead. Clients are told half of it.",
    ),
    Option(
        "amqp.session.window.bytes",
        Whole(512, 2_147_483_647, _BYTES, zero="no limit but the links' credit"),
        "How much a client may send on a session before the bridge has read it; a transfer counts as a"
        " whole frame, however small it is.",
    ),
    Option(
        "amqp.prefetch.credit",
        Whole(1, 1_000_000, _MESSAGES),
        "Credit of a link whose sender settles its messages itself (at most once).",
        formerly=_FLOW_CREDIT,
    ),
    Option(
        "amqp.manual.credit",
        Whole(1, 1_000_000, _MESSAGES),
        "Credit of any other sender's link: how many of its messages may wait for Kafka's acknowledgement.",
        formerly=_FLOW_CREDIT,
    ),
    Option(
        "amqp.mixed.settled",
        Choice(("ordered", "acks0")),
        "Settled messages of a sender that mixes them with unsettled ones: 'ordered' keeps the"
        " order among both, 'acks0' does not wait for Kafka.",
    ),
    Option(
        "mapping.default",
        Choice(("native", "eventhubs", "strimzi", "strimzi-json", "raw", "cloudevents")),
        "How messages become records, and records messages, at addresses whose route chooses no mapping."
        " 'native' keeps everything and is readable in Kafka; the others are what other bridges write.",
    ),
    Option(
        "source.budget.bytes",
        Whole(1_048_576, 1_099_511_627_776, _BYTES),
        "How much the messages of all senders that wait for Kafka may take together: each about twice its"
        " size, at most 64 KiB more, and 1.3 KB besides. Credit is given accordingly; beyond it sockets are"
        " not read. Each of several workers has an equal part of it.",
    ),
    Option(
        "source.outcomes",
        Choice(("listed", "all")),
        "To whom a failure that may pass is told as 'released' or 'modified': to peers that list these"
        " outcomes in their attach, or to all. Others are told 'rejected', as some clients take an"
        " outcome that they do not know for success.",
    ),
    Option(
        "deduplication.topic",
        Text(249),
        "The topic in which routes that suppress duplicates remember what was stored. The bridge makes"
        " it if it may.",
    ),
    Option(
        "deduplication.partitions",
        Whole(1, 10_000),
        "How many partitions that topic is made with.",
    ),
    Option(
        "deduplication.links.max",
        Whole(1, 100_000),
        "How many links of a process may suppress duplicates; each has a producer of its own.",
    ),
    Option(
        "deduplication.transaction.timeout.ms",
        Whole(1000, 900_000, _MS),
        "After how long Kafka aborts what a bridge left open that is gone. It must not be longer than"
        " the broker's transaction.max.timeout.ms.",
    ),
    Option(
        "routes.file",
        Text(4096),
        "A YAML file that says for which addresses the bridge uses another topic, mapping, acks or limits"
        " (docs/routes.md). It is read again on SIGHUP. Without one, all addresses are served alike.",
        example="routes.yaml",
    ),
    Option(
        "sink.start",
        StartAt(),
        "Where a receiver begins that does not say it itself, in partitions where its group has committed"
        " nothing or where it reads for no group. kafka.consumer.auto.offset.reset, which says where it goes"
        " on when the offset to read next is gone, says this, too, if sink.start is not given.",
    ),
    Option(
        "sink.order",
        Choice(("hold", "skip-ahead")),
        "Records behind one that is to be delivered again: with 'hold' those of its partition wait, so that"
        " the order stays; with 'skip-ahead' they are delivered in the meantime.",
    ),
    Option(
        "sink.skip.ahead.records",
        Whole(1, 1_000_000, _RECORDS),
        "How far ahead of the oldest unanswered record of a partition 'skip-ahead' may go. As many may be"
        " delivered again when the partition goes to another receiver.",
    ),
    Option(
        "sink.buffer.records",
        Whole(1, 1_000_000, _RECORDS),
        "How many records are read ahead for one receiver.",
    ),
    Option(
        "sink.buffer.bytes",
        Whole(1024, 1_073_741_824, _BYTES),
        "How many bytes are read ahead for one receiver.",
    ),
    Option(
        "sink.unsettled.bytes",
        Whole(1024, 1_099_511_627_776, _BYTES),
        "How much one receiver may have got and not answered, whatever credit it gives: records, and the"
        " messages made of them, count both. A larger message is sent alone.",
    ),
    Option(
        "sink.drain.wait.ms",
        Whole(0, 300_000, _MS),
        "How long a receiver that drains its credit waits for what Kafka has at that moment; then the rest"
        " of the credit is returned to it.",
    ),
    Option(
        "sink.commit.interval.ms",
        Whole(10, 3_600_000, _MS),
        "How often the offsets of settled deliveries are committed to Kafka.",
    ),
    Option(
        "sink.commit.count",
        Whole(1, 1_000_000, _RECORDS),
        "After how many settled deliveries a commit does not wait for the interval.",
    ),
    Option(
        "sink.revoke.wait.ms",
        Whole(0, 300_000, _MS),
        "How long the outcomes of deliveries are waited for when Kafka gives their partition to"
        " another consumer.",
    ),
    Option(
        "sink.static.membership",
        Choice(("durable", "always", "never")),
        "Which receivers are static members of their groups, so that one that comes back soon, with the same"
        " container-id and link name, finds its partitions again and the others keep theirs: those whose"
        " terminus is durable or never expires, all, or none. Until the session times out"
        " (kafka.consumer.session.timeout.ms), nobody else reads the partitions of one that has gone.",
    ),
    Option(
        "sink.redelivery.backoff.ms",
        Whole(0, 60_000, _MS),
        "The pause before a released or modified record is delivered again. It doubles each time.",
    ),
    Option(
        "sink.redelivery.backoff.max.ms",
        Whole(0, 3_600_000, _MS),
        "The longest such pause.",
    ),
    Option(
        "sink.max.attempts",
        Whole(1, 1_000_000),
        "How often a record is delivered, and fails, before it goes to the dead-letter topic. Without such a"
        " topic it is delivered for ever, with the longest pause.",
    ),
    Option(
        "sink.max.releases",
        Whole(1, 1_000_000),
        "How many releases of a record in a row count as one failed delivery. Released records would go"
        " round for ever otherwise.",
    ),
    Option(
        "sink.dead.letter.topic",
        TopicTemplate(),
        "The topic for records that receivers reject, cannot use, or fail with too often; {topic} stands for"
        " the record's own. It has to exist. Kafka has acknowledged a record there before the receiver's"
        " group moves on.",
        example="{topic}.dlt",
    ),
    Option(
        "sink.rejected",
        Choice(("skip", "detach")),
        "What becomes of a record that a receiver rejects where there is no dead-letter topic: 'skip' logs"
        " its topic, partition and offset and passes over it, 'detach' detaches the link and does not move"
        " the offset.",
    ),
    Option(
        "errors.dialect",
        Choice(("amqp", "strimzi")),
        "The names of conditions that peers are told: AMQP's own, or 'io.strimzi:...' as the bridge that"
        " came before said, where it had one. The info of a condition has that one in either case.",
    ),
    Option(
        "kafka.bootstrap.servers",
        Servers(),
        "The brokers that the cluster is found by.",
        formerly=("kafka.bootstrapServers", "bootstrap.servers"),
        example="localhost:9092",
    ),
    Option(
        "kafka.acks",
        Choice(
            ("all", "1"),
            synonyms={"-1": "all"},
            refused={
                "0": "a message is accepted when Kafka has it, which takes an acknowledgement"
                " (what clients send settled goes without one by itself)"
            },
        ),
        "When an unsettled message counts as stored: 'all' in-sync replicas have it (idempotent,"
        " without duplicates from retries), or the leader alone.",
        formerly=("kafka.producer.acks", "acks"),
    ),
    Option(
        "kafka.metadata.timeout.ms",
        Whole(100, 300_000, _MS),
        "How long Kafka is asked for a topic while a client attaches.",
    ),
    Option(
        "kafka.share.enabled",
        Flag(),
        "Whether receivers may attach to share groups, as in topic/share/GROUP. The brokers have to offer"
        " them (Kafka 4.2), and librdkafka calls its part a preview.",
    ),
    Option(
        "management.enabled",
        Flag(),
        "Whether the endpoint for probes and metrics listens.",
    ),
    Option("management.host", Host(), "The address that this endpoint listens on."),
    Option("management.port", Whole(1, 65_535, zero="a free port"), "The port that it listens on."),
    Option(
        "log.level", Choice(("debug", "info", "warning", "error")), "The least severe level that is logged."
    ),
    Option(
        "log.format",
        Choice(("json", "console")),
        "The form of the log: 'json' is one object a line, for machines; 'console' is for people.",
    ),
    Option(
        "shutdown.grace.ms",
        Whole(0, 3_600_000, _MS),
        "How long the bridge may take, after SIGTERM, to finish what it has taken. Keep it below the"
        " time after which the process is killed (terminationGracePeriodSeconds of Kubernetes).",
    ),
)

BY_KEY: Final = {option.key: option for option in OPTIONS}
