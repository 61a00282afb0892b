from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from bridge.config import Settings, resolve
from bridge.config.options import BY_KEY, OPTIONS
from bridge.config.render import properties

FILE = Path(__file__).parents[2] / "bridge.properties"


def test_the_file_in_the_repository_is_the_rendering() -> None:
    assert FILE.read_text(encoding="utf-8") == properties(), (
        "renew it: python -m bridge.config.render > bridge.properties"
    )


def test_as_it_is_it_changes_nothing() -> None:
    assert resolve(FILE, {}).entries == {}


def test_with_every_option_uncommented_it_gives_the_defaults(tmp_path: Path) -> None:
    text, count = re.subn(r"^#(?=\w)", "", properties(), flags=re.MULTILINE)
    path = tmp_path / "all.properties"
    path.write_text(text, encoding="utf-8")
    resolution = resolve(path, {})
    assert count == len(OPTIONS)
    assert resolution.entries.keys() == BY_KEY.keys()
    servers = resolution.settings.kafka.bootstrap_servers
    expected = Settings()
    assert servers == BY_KEY["kafka.bootstrap.servers"].example
    assert resolution.settings.amqp == expected.amqp
    dead_letters = BY_KEY["sink.dead.letter.topic"].example
    assert resolution.settings.sink == replace(expected.sink, dead_letter_topic=dead_letters)
    assert resolution.settings.management == expected.management
    assert resolution.settings.log == expected.log
    assert resolution.settings.shutdown == expected.shutdown
    assert resolution.settings.kafka.acks == expected.kafka.acks


def test_its_examples_for_librdkafka_are_valid(tmp_path: Path) -> None:
    examples = re.findall(r"^# (kafka\.[a-z.]+=.+)$", properties(), flags=re.MULTILINE)
    path = tmp_path / "examples.properties"
    path.write_text("\n".join(examples), encoding="utf-8")
    resolution = resolve(path, {})
    assert len(resolution.entries) == len(examples) > 3
    assert resolution.doubts == ()


def test_every_option_has_its_meaning_variable_and_default_beside_it() -> None:
    blocks = properties().split("\n\n")
    for option in OPTIONS:
        [block] = [block for block in blocks if f"\n#{option.key}=" in block]
        assert option.variable in block
        assert option.meaning.split()[0] in block.splitlines()[0]


def test_no_line_is_too_long() -> None:
    assert max(len(line) for line in properties().splitlines()) <= 100
