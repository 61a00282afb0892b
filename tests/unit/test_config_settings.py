from __future__ import annotations

import dataclasses

import pytest

from bridge.config import KafkaSettings, Settings


def test_settings_are_frozen_all_the_way_down() -> None:
    settings = Settings()
    for section in dataclasses.fields(settings):
        part = getattr(settings, section.name)
        for field in dataclasses.fields(part):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(part, field.name, None)
    with pytest.raises(TypeError):
        settings.kafka.common["client.id"] = "x"  # type: ignore[index]  # that is the point


def test_settings_keep_no_hold_on_the_mapping_they_were_made_from() -> None:
    options = {"client.id": "one"}
    settings = KafkaSettings(common=options)
    options["client.id"] = "two"
    assert settings.common == {"client.id": "one"}


def test_printing_settings_shows_no_secret_whoever_made_them() -> None:
    options = {"sasl.password": "hunter2", "ssl.key.pem": "hunter2", "sasl.username": "bridge"}
    settings = Settings(kafka=KafkaSettings(common=options, producer=options, consumer=options))
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(dataclasses.replace(settings.kafka, acks="1"))
    assert "'sasl.username': 'bridge'" in repr(settings)


def test_settings_compare_and_hash_by_value() -> None:
    one = Settings(kafka=KafkaSettings(common={"client.id": "x", "debug": "all"}))
    other = Settings(kafka=KafkaSettings(common={"debug": "all", "client.id": "x"}))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Settings()
