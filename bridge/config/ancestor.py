"""The names of the Java bridge that came before (EnMasse, then Strimzi), so that its files can be used.

Pure. Old names become today's; what has no effect here is passed over; what the old bridge did and
this one does not is refused with the reason, never ignored.

Source: the application.properties of its versions, from 2016 to the end of its AMQP support in 2022.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bridge.config.options import OPTIONS
from bridge.config.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.config.problems import Entry

_PASSED_ON: Final = {
    "auto.offset.reset": "kafka.consumer.auto.offset.reset",
    "kafka.consumer.autoOffsetReset": "kafka.consumer.auto.offset.reset",
}


def _renamed() -> dict[str, tuple[str, ...]]:
    renamed: dict[str, tuple[str, ...]] = {old: (new,) for old, new in _PASSED_ON.items()}
    for option in OPTIONS:
        for old in option.formerly:
            renamed[old] = (*renamed.get(old, ()), option.key)
    return renamed


RENAMED: Final = _renamed()
"""Old keys, and the keys of today that each of them sets."""

_CONVERTERS: Final = {
    f"{head}{kind}MessageConverter": mapping
    for head in ("", "Amqp")
    for kind, mapping in (("Default", "strimzi"), ("Json", "strimzi-json"), ("Raw", "raw"))
}
"""The classes that converted messages, and the mappings that do as they did."""

CONVERTER_KEYS: Final = ("amqp.message.convert", "amqp.messageConverter", "message.converter")


def _mode(value: str) -> str | None:
    match value.lower():
        case "server":
            return None
        case "client":
            return (
                "CLIENT is not offered: the bridge does not connect to a router or broker yet, it"
                " listens (SERVER); let clients, or the router, connect to it"
            )
        case _:
            return "is neither SERVER nor CLIENT; leave it out, the bridge is a server"


def _amqp_enabled(value: str) -> str | None:
    if value.lower() == "true":
        return None
    return "AMQP cannot be switched off: it is all that this bridge speaks; leave it out"


def _http_enabled(value: str) -> str | None:
    if value.lower() == "false":
        return None
    return (
        "HTTP is not bridged to Kafka: AMQP is all that this bridge speaks; leave it out (probes"
        " over HTTP have options of their own: see management.port)"
    )


def _certificates(value: str) -> str | None:
    return "the bridge does not serve TLS to AMQP clients yet; leave it out" if value else None


JUDGED: Final[dict[str, Callable[[str], str | None]]] = {
    "amqp.certDir": _certificates,
    "amqp.enabled": _amqp_enabled,
    "amqp.mode": _mode,
    "http.enabled": _http_enabled,
}
"""Old keys without a successor, and why a value of theirs cannot be honoured, or None if it can."""

_CONVERTS: Final = "the bridge turns AMQP messages into records and back itself; leave it out"

REFUSED: Final = {
    "bridge.id": "the bridge's name for AMQP clients is amqp.container.id",
    "bridge.tracing": "tracing is not offered yet; leave it out",
    "key.deserializer": _CONVERTS,
    "key.serializer": _CONVERTS,
    "kafka.consumer.keyDeserializer": _CONVERTS,
    "kafka.consumer.valueDeserializer": _CONVERTS,
    "kafka.producer.keySerializer": _CONVERTS,
    "kafka.producer.valueSerializer": _CONVERTS,
    "value.deserializer": _CONVERTS,
    "value.serializer": _CONVERTS,
}
"""Old keys that cannot be honoured, whatever their value."""

_REFUSED_PREFIXES: Final = {
    "http.": "HTTP is not bridged to Kafka; leave it out (for probes see management.port)",
    "kafka.admin.": "the client that asks for topics takes the options of all clients: write"
    " them with kafka. alone",
}

NAMES: Final = (*RENAMED, *JUDGED, *REFUSED, *CONVERTER_KEYS)


def translate(entry: Entry, problems: list[Problem]) -> list[Entry]:
    """Return what an entry stands for under the names of today: itself unless its key is old."""
    key = entry.key
    if key in RENAMED:
        return [replace(entry, key=new) for new in RENAMED[key]]
    if key in CONVERTER_KEYS:
        mapping = _CONVERTERS.get(entry.value.strip().rsplit(".", 1)[-1])
        if mapping is not None:
            return [replace(entry, key="mapping.default", value=mapping)]
        objection: str | None = (
            "Java classes cannot be loaded; leave it out, or choose one of the bridge's own mappings with"
            " mapping.default"
        )
    elif key in JUDGED:
        objection = JUDGED[key](entry.value.strip())
    elif key in REFUSED:
        objection = REFUSED[key]
    else:
        objection = next((why for prefix, why in _REFUSED_PREFIXES.items() if key.startswith(prefix)), None)
        if objection is None:
            return [entry]
    if objection is not None:
        problems.append(Problem(objection, key, entry.place))
    return []
