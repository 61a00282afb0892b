from __future__ import annotations

from pathlib import Path

import pytest

from bridge.config.ancestor import CONVERTER_KEYS, JUDGED, NAMES, REFUSED, RENAMED, translate
from bridge.config.librdkafka import PREFIX
from bridge.config.options import BY_KEY
from bridge.config.problems import Entry, FileLine, Problem

PLACE = FileLine(Path("application.properties"), 7)
CONVERTERS = "io.strimzi.kafka.bridge.amqp.converter"


def _translate(key: str, value: str) -> tuple[dict[str, str], list[str]]:
    problems: list[Problem] = []
    entries = translate(Entry(key, value, PLACE, key), problems)
    assert all(entry.written == key and entry.place == PLACE for entry in entries)
    return {entry.key: entry.value for entry in entries}, [str(problem) for problem in problems]


def test_names_of_today_are_left_alone() -> None:
    for key in (*BY_KEY, "kafka.client.id", "kafka.consumer.auto.offset.reset", "no.such.key"):
        assert _translate(key, "x") == ({key: "x"}, [])
    assert BY_KEY.keys().isdisjoint(NAMES)


def test_each_old_name_has_one_fate() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert len(NAMES) == len(RENAMED) + len(JUDGED) + len(REFUSED) + len(CONVERTER_KEYS)
    for keys in RENAMED.values():
        assert all(key in BY_KEY or key.startswith(PREFIX) for key in keys)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("amqp.bindHost", {"amqp.host"}),
        ("bind.port", {"amqp.port"}),
        ("amqp.flowCredit", {"amqp.prefetch.credit", "amqp.manual.credit"}),
        ("flow.credit", {"amqp.prefetch.credit", "amqp.manual.credit"}),
        ("kafka.bootstrapServers", {"kafka.bootstrap.servers"}),
        ("bootstrap.servers", {"kafka.bootstrap.servers"}),
        ("kafka.producer.acks", {"kafka.acks"}),
        ("kafka.consumer.autoOffsetReset", {"kafka.consumer.auto.offset.reset"}),
        ("auto.offset.reset", {"kafka.consumer.auto.offset.reset"}),
    ],
)
def test_old_names_become_those_of_today(old: str, new: set[str]) -> None:
    assert _translate(old, "value") == (dict.fromkeys(new, "value"), [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("amqp.mode", "SERVER"),
        ("amqp.mode", "server"),
        ("amqp.enabled", "true"),
        ("amqp.certDir", ""),
        ("http.enabled", "false"),
    ],
)
def test_what_is_the_case_anyway_is_passed_over(key: str, value: str) -> None:
    assert _translate(key, value) == ({}, [])


@pytest.mark.parametrize(
    ("key", "value", "mapping"),
    [
        ("amqp.messageConverter", f"{CONVERTERS}.AmqpDefaultMessageConverter", "strimzi"),
        ("amqp.messageConverter", f"{CONVERTERS}.AmqpJsonMessageConverter", "strimzi-json"),
        ("amqp.messageConverter", f"{CONVERTERS}.AmqpRawMessageConverter", "raw"),
        ("amqp.messageConverter", "enmasse.kafka.bridge.converter.DefaultMessageConverter", "strimzi"),
        ("amqp.message.convert", "enmasse.kafka.bridge.DefaultMessageConverter", "strimzi"),
        ("message.converter", "io.rhiot.kafka.bridge.JsonMessageConverter", "strimzi-json"),
    ],
)
def test_a_converter_becomes_the_mapping_that_does_as_it_did(key: str, value: str, mapping: str) -> None:
    assert _translate(key, value) == ({"mapping.default": mapping}, [])


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("amqp.mode", "CLIENT", "CLIENT is not offered"),
        ("amqp.mode", "both", "neither SERVER nor CLIENT"),
        ("amqp.enabled", "false", "AMQP cannot be switched off"),
        ("amqp.certDir", "/certs", "does not serve TLS"),
        ("http.enabled", "true", "HTTP is not bridged"),
        ("http.port", "8080", "see management.port"),
        ("amqp.messageConverter", "com.example.Mine", "Java classes cannot be loaded"),
        ("bridge.id", "my-bridge", "amqp.container.id"),
        ("bridge.tracing", "jaeger", "tracing is not offered"),
        ("kafka.admin.client.id", "x", "with kafka. alone"),
        ("key.serializer", "org.example.StringSerializer", "itself"),
        ("kafka.producer.valueSerializer", "org.example.StringSerializer", "itself"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_the_reason(key: str, value: str, part: str) -> None:
    entries, [problem] = _translate(key, value)
    assert entries == {}
    assert problem.startswith(f"application.properties line 7: {key}: ")
    assert part in problem
