"""What the deduplicating producers ask of the memory of messages, and tell their links. Shapes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure

LEDGER_TOPIC: Final = "__amqp_bridge_ledger"


class Window(Protocol):
    """The messages of one scope that are remembered; used on the event loop's thread."""

    @property
    def key_prefix(self) -> bytes:
        """How the keys of the scope's records begin."""

    @property
    def window_ms(self) -> int:
        """For how long messages are remembered."""

    @property
    def is_shared(self) -> bool:
        """Tell whether other links write into the scope as well."""

    @property
    def position(self) -> int:
        """The offset up to which it has learnt; -1 before it learnt anything."""

    def learn(self, records: Sequence[tuple[int, bytes, bytes | None]], now_ms: int) -> None:
        """Learn from records: offset, key and value."""

    def reached(self, offset: int) -> None:
        """Learn that nothing more was committed before this offset."""


class Ledger(Protocol):
    """One link's part of a window.

    `claim`, `write`, `has_claimed`, `is_stolen` and `has_stored` are used by the link's thread while
    the event loop learns: they read and set single values. All else is the loop's.
    """

    writer: bytes
    has_claimed: bool
    """The claim was found in the ledger."""
    is_stolen: bool
    """The ledger has a later claim to the link's name."""

    @property
    def window(self) -> Window:
        """The scope's."""

    def partition(self, partitions: int) -> int:
        """Choose the ledger's partition."""

    def fingerprint(self, identity: bytes) -> bytes:
        """Give what stands for a message's identity."""

    def remembers(self, fingerprint: bytes, now_ms: int) -> bool:
        """Tell whether a message was stored before."""

    def sequence(self, now_ms: int) -> int:
        """Give the next message its number."""

    def write(self, sequence: int, time_ms: int, fingerprint: bytes) -> tuple[bytes, bytes]:
        """Encode a message's entry: key and value."""

    def claim(self, token: bytes, now_ms: int) -> tuple[bytes, bytes]:
        """Encode a claim to the link's name, and look out for it: key and value."""

    def remember(self, stored: Sequence[tuple[int, int, bytes]], now_ms: int) -> None:
        """Learn that messages of this link were stored: sequence, time and fingerprint of each."""

    def has_stored(self, sequence: int) -> bool:
        """Tell whether the ledger knows the message of that number as stored."""


class DeduplicationEvents(Protocol):
    """What a deduplicating producer tells its link, on the event loop's thread."""

    def ready(self) -> None:
        """Report, once, that messages can be judged: the time for the first credit."""

    def stolen(self) -> None:
        """Report that the link was attached elsewhere: nothing more is stored here."""

    def failed(self, failure: Failure) -> None:
        """Report that the producer cannot begin, or cannot go on."""


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """How duplicates are suppressed in this process.

    `producer` are options as `settings.producer` gives them for acks=all, `client` those of
    `settings.admin`. `delivery_timeout_seconds` bounds how long a message waits for its outcome. An open
    transaction of a bridge that died is given up by Kafka after `transaction_timeout_ms`, and
    `retention_ms` covers the longest window of all routes.
    """

    producer: Options
    client: Options
    topic: str = LEDGER_TOPIC
    partitions: int = 8
    replication_factor: int = -1
    retention_ms: int = 86_400_000
    transactional_id_prefix: str = "amqp-bridge-"
    transaction_timeout_ms: int = 10_000
    delivery_timeout_seconds: float = 120.0
    links_max: int = 64

    def topic_config(self) -> Mapping[str, str]:
        """Give the configuration of the ledger's topic."""
        return {
            "cleanup.policy": "compact,delete",
            "retention.ms": str(self.retention_ms),
            # Only closed segments are compacted, and a new link reads what is not.
            "segment.bytes": str(32 * 1024 * 1024),
            "min.cleanable.dirty.ratio": "0.2",
        }
