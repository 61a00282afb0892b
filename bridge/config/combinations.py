"""Settings that contradict each other: each is allowed, and together they cannot be meant.

Pure. Only what would fail late, or silently do something else than was asked for, is refused here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.config import librdkafka
from bridge.config.librdkafka_names import SYNONYMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bridge.config.librdkafka import Clients
    from bridge.config.settings import Settings

_KIB: Final = 1024
_WORKER_BUDGET_BYTES: Final = 1_048_576
_DEFAULT_MAX_POLL_INTERVAL_MS: Final = 300_000
_MECHANISM: Final = frozenset({"sasl.mechanism", "sasl.mechanisms"})
_LOCALHOST: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::", "*"})  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Keys that contradict each other, and a clause that names them and says how."""

    keys: tuple[str, ...]
    message: str


def contradictions(settings: Settings) -> Iterator[Contradiction]:
    """Yield everything that cannot be meant together."""
    yield from _listeners(settings)
    yield from _sizes(settings)
    yield from _workers(settings)
    yield from _order(settings)
    yield from _revocation(settings)
    yield from _redelivery(settings)
    for clients in _pass_through(settings):
        yield from _synonyms(settings, clients)
        yield from _security(settings, clients)


def _pass_through(settings: Settings) -> dict[Clients, Mapping[str, str]]:
    kafka = settings.kafka
    return {"common": kafka.common, "producer": kafka.producer, "consumer": kafka.consumer}


def _listeners(settings: Settings) -> Iterator[Contradiction]:
    amqp, management = settings.amqp, settings.management
    if not management.enabled or amqp.port != management.port or amqp.port == 0:
        return
    hosts = {amqp.host, management.host}
    if len(hosts) == 1 or hosts & _EVERYWHERE or hosts <= _LOCALHOST:
        yield Contradiction(
            ("management.port", "amqp.port"),
            f"amqp.port and management.port are both {amqp.port}; one port cannot serve both",
        )


def _sizes(settings: Settings) -> Iterator[Contradiction]:
    amqp = settings.amqp
    if 0 < amqp.session_window_bytes < amqp.max_frame_size_bytes:
        yield Contradiction(
            ("amqp.session.window.bytes", "amqp.max.frame.size.bytes"),
            f"amqp.session.window.bytes ({amqp.session_window_bytes}) is less than"
            f" amqp.max.frame.size.bytes ({amqp.max_frame_size_bytes}); a window holds a frame",
        )
    name = "queue.buffering.max.kbytes"
    key = librdkafka.join("producer", name)
    queue_kib = _number(settings.kafka.producer.get(name))
    if queue_kib is not None and queue_kib * _KIB < amqp.max_message_size_bytes:
        yield Contradiction(
            (key, "amqp.max.message.size.bytes"),
            f"{key} ({queue_kib} KiB) is less than amqp.max.message.size.bytes"
            f" ({amqp.max_message_size_bytes}); the queue holds a message",
        )


def _workers(settings: Settings) -> Iterator[Contradiction]:
    workers, budget_bytes = settings.bridge.workers, settings.source.budget_bytes
    if budget_bytes < workers * _WORKER_BUDGET_BYTES:
        yield Contradiction(
            ("source.budget.bytes", "bridge.workers"),
            f"source.budget.bytes ({budget_bytes}) is less than {_WORKER_BUDGET_BYTES} for each of"
            f" bridge.workers ({workers}), which share it",
        )


def _order(settings: Settings) -> Iterator[Contradiction]:
    """Yield requests in flight that would cost the order of records: they need idempotence."""
    if settings.kafka.acks != "1":
        return
    for clients, options in _pass_through(settings).items():
        for name in ("max.in.flight", "max.in.flight.requests.per.connection"):
            if options.get(name, "1") != "1":
                yield Contradiction(
                    (key := librdkafka.join(clients, name), "kafka.acks"),
                    f"{key} has to be 1 with kafka.acks=1: without idempotence, a retry would"
                    " be overtaken by what was sent after it",
                )


def _revocation(settings: Settings) -> Iterator[Contradiction]:
    name = "max.poll.interval.ms"
    key = librdkafka.join("consumer", name)
    wait_ms = settings.sink.revoke_wait_ms
    given = settings.kafka.consumer.get(name)
    interval_ms = _DEFAULT_MAX_POLL_INTERVAL_MS if given is None else _number(given)
    if interval_ms is not None and wait_ms >= interval_ms:
        yield Contradiction(
            ("sink.revoke.wait.ms", key),
            f"sink.revoke.wait.ms ({wait_ms}) is not less than {key} ({interval_ms}); the group"
            " would expel the consumer while it waits",
        )


def _redelivery(settings: Settings) -> Iterator[Contradiction]:
    sink = settings.sink
    if sink.redelivery_backoff_max_ms < sink.redelivery_backoff_ms:
        yield Contradiction(
            ("sink.redelivery.backoff.max.ms", "sink.redelivery.backoff.ms"),
            f"sink.redelivery.backoff.max.ms ({sink.redelivery_backoff_max_ms}) is less than"
            f" sink.redelivery.backoff.ms ({sink.redelivery_backoff_ms}); the longest pause is not shorter"
            " than the first",
        )
    if sink.dead_letter_topic == settings.deduplication.topic:
        yield Contradiction(
            ("sink.dead.letter.topic", "deduplication.topic"),
            f"sink.dead.letter.topic and deduplication.topic are both {sink.dead_letter_topic}, which the"
            " bridge alone writes and compacts",
        )


def _synonyms(settings: Settings, clients: Clients) -> Iterator[Contradiction]:
    options = _pass_through(settings)[clients]
    for second, first in SYNONYMS.items():
        if first in options and second in options:
            keys = librdkafka.join(clients, second), librdkafka.join(clients, first)
            yield Contradiction(keys, f"{keys[0]} and {keys[1]} are two names of one property; keep one")


def _security(settings: Settings, clients: Clients) -> Iterator[Contradiction]:
    """Yield credentials and certificates that the chosen protocol would never use."""
    options = _pass_through(settings)[clients]
    effective = {**settings.kafka.common, **options}
    protocol = effective.get("security.protocol", "plaintext").lower()
    protocol_key = librdkafka.join(clients, "security.protocol")
    for prefix, right, used in (
        ("sasl.", "sasl_ssl (or sasl_plaintext)", protocol.startswith("sasl_")),
        ("ssl.", "ssl (or sasl_ssl)", protocol.endswith("ssl")),
    ):
        key = _first_key(clients, (name for name in options if name.startswith(prefix)))
        if key and not used:
            yield Contradiction(
                (key, protocol_key),
                f"{key} is not used with {protocol_key}={protocol}; it takes {right}",
            )
    key = _first_key(clients, options.keys() & {"sasl.username", "sasl.password"})
    if key and protocol.startswith("sasl_") and not effective.keys() & _MECHANISM:
        mechanism_key = librdkafka.join(clients, "sasl.mechanism")
        yield Contradiction(
            (key, mechanism_key),
            f"{key} is not used without {mechanism_key}, such as SCRAM-SHA-512 or PLAIN: it is"
            " GSSAPI (Kerberos) when nothing is said",
        )


def _first_key(clients: Clients, names: Iterable[str]) -> str | None:
    return next((librdkafka.join(clients, name) for name in sorted(names)), None)


def _number(text: str | None) -> int | None:
    """Return a number; None for what is none, which librdkafka will refuse."""
    digits = 18
    if text is None or not (text.isascii() and text.isdigit() and len(text) <= digits):
        return None
    return int(text)
