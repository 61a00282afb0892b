"""Renders `bridge.properties`: every option with its meaning, its variable and its default. Pure.

The file in the repository is this text; a test compares the two. To renew it, run
`python -m bridge.config.render > bridge.properties`.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from bridge.config.environment import OTHER_VARIABLES
from bridge.config.options import OPTIONS, SECTIONS, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.config.options import Option

_WIDTH: Final = 98

_HEAD: Final = """\
Configuration of the bridge between AMQP 1.0 and Apache Kafka.

Every option is here with its default; take away the '#' before a key to change it. The form is that \
of Java properties files, in UTF-8. An environment variable overrides the file: it is the key in \
capitals with '_' for '.', after BRIDGE_. What is unknown, or cannot be meant, is refused at the start.

bridge check --config bridge.properties    prints what would run
bridge run --config bridge.properties      runs it"""

_FOR_LIBRDKAFKA: Final = """\
Options of librdkafka, the client library for Kafka, are passed on to it under its own names (its \
CONFIGURATION.md explains them), except those that the bridge needs for its promises:

kafka.NAME              to all clients: addresses, TLS, SASL
kafka.producer.NAME     to producers
kafka.consumer.NAME     to consumers

For example, with a secret that is better given as BRIDGE_KAFKA_SASL_PASSWORD than in this file:

kafka.security.protocol=SASL_SSL
kafka.ssl.ca.location=/etc/bridge/ca.pem
kafka.sasl.mechanism=SCRAM-SHA-512
kafka.sasl.username=bridge
kafka.producer.compression.type=zstd
kafka.producer.linger.ms=10
kafka.consumer.session.timeout.ms=30000"""


def properties() -> str:
    """Return the text of `bridge.properties`."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from _comment(_HEAD)
    yield "#"
    yield from _comment("Variables that are not options:\n")
    for name, meaning in OTHER_VARIABLES.items():
        yield from _comment(f"{name:<24}{meaning}")
    for section, heading in SECTIONS.items():
        yield ""
        yield f"# {f'---- {heading} ':-<{_WIDTH}}"
        for option in OPTIONS:
            if option.section == section:
                yield ""
                yield from _option(option)
        if section == "kafka":
            yield ""
            yield from _comment(_FOR_LIBRDKAFKA)


def _option(option: Option) -> Iterator[str]:
    yield from _comment(option.meaning)
    yield from _comment(f"{option.kind.describe()}. {option.variable}")
    yield f"#{option.key}={written(option.default) or option.example}"


def _comment(text: str) -> Iterator[str]:
    for paragraph in text.split("\n"):
        # Short lines stay as they are: they may be aligned.
        lines = [paragraph] if len(paragraph) <= _WIDTH else textwrap.wrap(paragraph, _WIDTH)
        for line in lines:
            yield f"# {line}".rstrip()


if __name__ == "__main__":
    print(properties(), end="")  # noqa: T201 - its output is its product
