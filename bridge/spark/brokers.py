"""Asks Kafka, before a query starts, whether it answers and has the topics.

A query would find out too, but late, after several attempts, and without naming the topic.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped] # py4j has no types

from bridge.spark.errors import SparkSideError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

_CONNECT_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 20


def parse(bootstrap_servers: str) -> list[tuple[str, int]]:
    """Return hosts and ports of `HOST:PORT,HOST:PORT`; an IPv6 address stands in brackets.

    Raises SparkSideError when it is not of that form.
    """
    addresses = []
    for address in bootstrap_servers.split(","):
        host, colon, port = address.strip().rpartition(":")
        if not (host and colon and port.isdecimal()):
            raise SparkSideError(f"{address.strip()!r} is not HOST:PORT")
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def check_reachable(bootstrap_servers: str) -> None:
    """Raise SparkSideError, with the reason of each, if no bootstrap server accepts a connection.

    One that does suffices, as for every Kafka client. Costs milliseconds, and needs no Java.
    """
    reasons = []
    for host, port in parse(bootstrap_servers):
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
        except (OSError, OverflowError, UnicodeError) as error:  # also port 99999, host `a..b`
            reasons.append(f"{host}:{port}: {error}")
        else:
            return
    raise SparkSideError(f"No Kafka broker can be reached: {'; '.join(reasons)}")


def check_topics(
    spark: SparkSession, bootstrap_servers: str, topics: Sequence[str], options: Mapping[str, str]
) -> None:
    """Raise SparkSideError if the brokers do not answer or a topic is unknown to them.

    `options` are those of Spark's Kafka source; the ones that begin with `kafka.` are the client's.
    """
    java: Any = spark._jvm  # noqa: SLF001 - Spark has no door of its own to Kafka's administration
    settings = java.java.util.Properties()
    for key, value in options.items():
        if key.lower().startswith("kafka."):
            settings.setProperty(key[len("kafka.") :], value)
    settings.setProperty("bootstrap.servers", bootstrap_servers)
    for timeout in ("default.api.timeout.ms", "request.timeout.ms"):
        settings.setProperty(timeout, str(_ANSWER_SECONDS * 1000))
    try:
        admin = java.org.apache.kafka.clients.admin.AdminClient.create(settings)
        try:
            every = java.org.apache.kafka.clients.admin.ListTopicsOptions().listInternal(True)  # noqa: FBT003 - Java knows no names
            known = set(admin.listTopics(every).names().get())
        finally:
            admin.close()
    except Py4JJavaError as error:
        raise SparkSideError(f"Kafka at {bootstrap_servers}: {_reason(error)}") from None
    if unknown := sorted(set(topics) - known):
        raise SparkSideError(
            f"Kafka at {bootstrap_servers} has no topic {', '.join(unknown)}, or does not show it "
            "to this client"
        )


def _reason(error: Py4JJavaError) -> str:
    """Return the message of the innermost cause, which is the one that tells."""
    exception = error.java_exception
    while (cause := exception.getCause()) is not None:
        exception = cause
    return f"{exception.getMessage() or exception.toString()}"
