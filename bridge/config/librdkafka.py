"""What may be passed on to librdkafka: which names the bridge must own, and where others belong.

Pure. It refuses what would break a promise of the bridge or have no effect, and advises on names.
Whether an unknown name or a value is right is left to librdkafka itself, which is asked elsewhere.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final, Literal, TypeAlias

from bridge.config.librdkafka_names import FOR_ALL, FOR_CONSUMERS, FOR_PRODUCERS, READ_BY
from bridge.config.options import BY_KEY

Clients: TypeAlias = Literal["common", "producer", "consumer"]

PREFIX: Final = "kafka."
_PREFIX_OF: Final[dict[Clients, str]] = {
    "common": PREFIX,
    "producer": f"{PREFIX}producer.",
    "consumer": f"{PREFIX}consumer.",
}
_ALLOWED: Final[dict[Clients, frozenset[str]]] = {
    "common": FOR_ALL,
    "producer": FOR_ALL | FOR_PRODUCERS,
    "consumer": FOR_ALL | FOR_CONSUMERS,
}

_OFFSETS: Final = (
    "the bridge commits an offset when the receiver has settled what is before it: see"
    " sink.commit.interval.ms and sink.commit.count"
)
_BOOTSTRAP: Final = "all clients use the same cluster: write kafka.bootstrap.servers"
_ACKS: Final = "it follows from what each link was promised: write kafka.acks"
_GROUP: Final = "the receiver's address names the group: topic/group.id/GROUP"
_TRANSACTIONS: Final = "the bridge's producers are not transactional"
_OWN_CODE: Final = "it is a value that only a program can give"
_LOG: Final = "librdkafka's log lines go where the bridge's go: see log.level"
_REPORTS: Final = "every unsettled message needs its delivery report"

OWNED: Final = {
    "acks": _ACKS,
    "allow.auto.create.topics": "topics are not created by being asked for",
    "auto.commit.enable": _OFFSETS,
    "auto.commit.interval.ms": _OFFSETS,
    "bootstrap.servers": _BOOTSTRAP,
    "builtin.features": "it says how librdkafka was built",
    "delivery.report.only.error": _REPORTS,
    "default.topic.config": _OWN_CODE,
    "default_topic_conf": _OWN_CODE,
    "enable.auto.commit": _OFFSETS,
    "enable.auto.offset.store": _OFFSETS,
    "enable.gapless.guarantee": "each message has an outcome of its own, and links go on after one",
    "enable.idempotence": "it is on with kafka.acks=all and off with kafka.acks=1",
    "enable.partition.eof": "the bridge has to know the end of a partition, to answer receivers that drain",
    "enabled_events": _OWN_CODE,
    "group.id": _GROUP,
    "group.instance.id": "it follows from the receiver's container-id and link name: see"
    " sink.static.membership",
    "group.protocol.type": _GROUP,
    "interceptors": _OWN_CODE,
    "log.queue": _LOG,
    "logger": _LOG,
    "max.poll.records": "librdkafka has it for share groups only: write sink.buffer.records",
    "message.max.bytes": "it follows from amqp.max.message.size.bytes: write that",
    "metadata.broker.list": _BOOTSTRAP,
    "msg_order_cmp": _OWN_CODE,
    "offset.store.method": _OFFSETS,
    "offset.store.path": _OFFSETS,
    "offset.store.sync.interval.ms": _OFFSETS,
    "on_commit": _OWN_CODE,
    "on_delivery": _OWN_CODE,
    "opaque": _OWN_CODE,
    "produce.offset.report": _REPORTS,
    "queuing.strategy": "the order within a link is the order in the partition",
    "request.required.acks": _ACKS,
    "share.acknowledgement.mode": "each record is answered as its receiver does: see kafka.share.enabled",
    "ssl_ca": f"{_OWN_CODE}: write ssl.ca.location or ssl.ca.pem",
    "ssl_certificate": f"{_OWN_CODE}: write ssl.certificate.location or ssl.certificate.pem",
    "ssl_engine_callback_data": _OWN_CODE,
    "ssl_key": f"{_OWN_CODE}: write ssl.key.location or ssl.key.pem",
    "test.mock.num.brokers": "each client would get an imitation of Kafka of its own",
    "transaction.timeout.ms": _TRANSACTIONS,
    "transactional.id": _TRANSACTIONS,
}
"""What the bridge sets itself, or leaves alone on purpose: the reason, and what to write instead."""

_CONVERTS: Final = "the bridge turns AMQP messages into records and back itself: leave it out"
_PEM: Final = "librdkafka reads PEM files"
_NO_JMX: Final = "librdkafka has no JMX: leave it out"

JAVA_ONLY: Final = {
    "auto.include.jmx.reporter": _NO_JMX,
    "buffer.memory": "librdkafka's name is queue.buffering.max.kbytes (in KiB)",
    "compression.gzip.level": "librdkafka's name is compression.level",
    "compression.lz4.level": "librdkafka's name is compression.level",
    "compression.zstd.level": "librdkafka's name is compression.level",
    "default.api.timeout.ms": "librdkafka's name is socket.timeout.ms",
    "exclude.internal.topics": "the bridge consumes the one topic that an address names",
    "fetch.max.wait.ms": "librdkafka's name is fetch.wait.max.ms",
    "interceptor.classes": "librdkafka loads no Java classes: leave it out",
    "key.deserializer": _CONVERTS,
    "key.serializer": _CONVERTS,
    "max.block.ms": "the bridge never blocks: it gives no credit while Kafka is slow",
    "max.request.size": "it follows from amqp.max.message.size.bytes: write that",
    "metadata.max.idle.ms": "librdkafka has nothing like it: leave it out",
    "metric.reporters": _NO_JMX,
    "metrics.num.samples": _NO_JMX,
    "metrics.recording.level": _NO_JMX,
    "metrics.sample.window.ms": _NO_JMX,
    "partitioner.adaptive.partitioning.enable": "librdkafka has nothing like it: leave it out",
    "partitioner.availability.timeout.ms": "librdkafka has nothing like it: leave it out",
    "partitioner.class": "librdkafka's name is partitioner (murmur2_random is Java's way)",
    "partitioner.ignore.keys": "librdkafka's name is partitioner (random ignores keys)",
    "receive.buffer.bytes": "librdkafka's name is socket.receive.buffer.bytes",
    "sasl.client.callback.handler.class": "librdkafka loads no Java classes: leave it out",
    "sasl.jaas.config": "librdkafka reads sasl.mechanism, sasl.username and sasl.password",
    "sasl.kerberos.kinit.cmd.path": "librdkafka's name is sasl.kerberos.kinit.cmd",
    "sasl.login.callback.handler.class": "librdkafka's way is sasl.oauthbearer.method=oidc",
    "sasl.login.class": "librdkafka loads no Java classes: leave it out",
    "security.providers": "librdkafka's name is ssl.providers (of OpenSSL)",
    "send.buffer.bytes": "librdkafka's name is socket.send.buffer.bytes",
    "socket.connection.setup.timeout.max.ms": "librdkafka has socket.connection.setup.timeout.ms",
    "ssl.enabled.protocols": "librdkafka follows OpenSSL's configuration: leave it out",
    "ssl.engine.factory.class": "librdkafka loads no Java classes: leave it out",
    "ssl.keymanager.algorithm": f"{_PEM}: leave it out",
    "ssl.keystore.certificate.chain": "librdkafka's name is ssl.certificate.pem",
    "ssl.keystore.key": "librdkafka's name is ssl.key.pem",
    "ssl.keystore.type": "librdkafka reads PKCS#12 there, or PEM with ssl.key.location and"
    " ssl.certificate.location: leave it out",
    "ssl.protocol": "librdkafka follows OpenSSL's configuration: leave it out",
    "ssl.provider": "librdkafka's name is ssl.providers (of OpenSSL)",
    "ssl.secure.random.implementation": "librdkafka uses OpenSSL's: leave it out",
    "ssl.trustmanager.algorithm": f"{_PEM}: leave it out",
    "ssl.truststore.certificates": "librdkafka's name is ssl.ca.pem",
    "ssl.truststore.location": f"{_PEM}: write ssl.ca.location with a file of certificates",
    "ssl.truststore.password": f"{_PEM}: write ssl.ca.location, which needs no password",
    "ssl.truststore.type": f"{_PEM}: write ssl.ca.location with a file of certificates",
    "transaction.two.phase.commit.enable": _TRANSACTIONS,
    "value.deserializer": _CONVERTS,
    "value.serializer": _CONVERTS,
}
"""Properties of Java's clients that librdkafka does not have, and what takes their place."""


def split(key: str) -> tuple[Clients, str]:
    """Return which clients a `kafka.` key is for, and librdkafka's name in it."""
    for clients in ("producer", "consumer"):
        prefix = _PREFIX_OF[clients]
        if key.startswith(prefix):
            return clients, key.removeprefix(prefix)
    return "common", key.removeprefix(PREFIX)


def join(clients: Clients, name: str) -> str:
    """Return the key under which a name is passed on to these clients."""
    return _PREFIX_OF[clients] + name


def refusal(clients: Clients, name: str) -> str | None:
    """Return why `name` cannot be passed on to these clients, as a clause, or None if it can."""
    if name in OWNED:
        return f"cannot be set: {OWNED[name]}"
    if name.endswith("_cb"):
        return f"cannot be set: {_OWN_CODE}"
    if name in JAVA_ONLY:
        return f"is of Java's Kafka clients: {JAVA_ONLY[name]}"
    if name in FOR_PRODUCERS and clients != "producer":
        return f"is read by producers only: write {join('producer', name)}"
    if name in FOR_CONSUMERS and clients != "consumer":
        return f"is read by consumers only: write {join('consumer', name)}"
    return None


def is_known(name: str) -> bool:
    """Tell whether the librdkafka that the names are of has one such."""
    return name in READ_BY


def with_prefix(name: str) -> str | None:
    """Return the key under which a property can be passed on; None if librdkafka has none such."""
    if name in FOR_PRODUCERS:
        clients: Clients = "producer"
    elif name in FOR_CONSUMERS:
        clients = "consumer"
    elif name in FOR_ALL:
        clients = "common"
    else:
        return None
    return None if refusal(clients, name) else join(clients, name)


def nearest(key: str) -> str | None:
    """Return the known key that an unknown `kafka.` key may have been meant to be."""
    clients, _ = split(key)
    usable = (name for name in _ALLOWED[clients] if refusal(clients, name) is None)
    candidates = [join(clients, name) for name in usable]
    candidates += [known for known in BY_KEY if known.startswith(PREFIX)]
    return next(iter(get_close_matches(key, candidates, n=1, cutoff=0.8)), None)


def misspelt_option(key: str) -> str | None:
    """Return the bridge's own option that an unknown `kafka.` key surely was meant to be."""
    own = [known for known in BY_KEY if known.startswith(PREFIX)]
    return next(iter(get_close_matches(key, own, n=1, cutoff=0.9)), None)
