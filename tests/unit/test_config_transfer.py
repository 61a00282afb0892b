from __future__ import annotations

import json
from dataclasses import fields

from bridge.config import Settings, load
from bridge.config.options import OPTIONS, written
from bridge.config.transfer import packed, unpacked


def test_settings_come_through_as_they_were() -> None:
    environment = {
        "BRIDGE_BRIDGE_WORKERS": "4",
        "BRIDGE_AMQP_PORT": "0",
        "BRIDGE_ROUTES_FILE": "routes.yaml",
        "BRIDGE_MANAGEMENT_ENABLED": "false",
        "BRIDGE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "BRIDGE_KAFKA_SASL_MECHANISM": "PLAIN",
        "BRIDGE_KAFKA_SASL_PASSWORD": " hunter2 ",
        "BRIDGE_KAFKA_PRODUCER_LINGER_MS": "0.5",
    }
    for settings in (Settings(), load(None, environment)):
        assert unpacked(json.loads(json.dumps(packed(settings)))) == settings


def test_they_are_as_frozen_as_before() -> None:
    settings = unpacked(
        packed(load(None, {"BRIDGE_KAFKA_SSL_KEY_PASSWORD": "x", "BRIDGE_KAFKA_SECURITY_PROTOCOL": "ssl"}))
    )
    assert "'ssl.key.password': 'x'" not in repr(settings)
    assert type(settings.kafka.common) is type(Settings().kafka.common)


def test_every_option_is_in_the_document() -> None:
    document = packed(Settings())
    assert list(document) == [field.name for field in fields(Settings)]
    for option in OPTIONS:
        assert document[option.section][option.field] == option.default, written(option.default)
