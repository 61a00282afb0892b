from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from bridge.devkafka.errors import DevKafkaError
from bridge.devkafka.jars import (
    KAFKA_VERSION,
    Jar,
    cache_folder,
    ensure_jars,
    find_ivy,
    ivy_module,
    parse_table,
    pinned_jars,
    publish,
    verify,
)

if TYPE_CHECKING:
    from pathlib import Path


def _jar(folder: Path, artifact: str, content: bytes = b"content") -> Jar:
    """Write a jar file and return what pins it."""
    jar = Jar("org.example", artifact, "1.0", hashlib.sha256(content).hexdigest())
    (folder / jar.file_name).write_bytes(content)
    return jar


def test_the_table_pins_every_jar_once() -> None:
    jars = pinned_jars()

    assert len({jar.file_name for jar in jars}) == len(jars) == 37
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) for jar in jars)


def test_the_table_pins_one_version_of_kafka() -> None:
    versions = {jar.version for jar in pinned_jars() if jar.organisation == "org.apache.kafka"}

    assert versions == {KAFKA_VERSION}


def test_a_table_may_have_comments_and_empty_lines() -> None:
    table = "# a comment\n\nabc  org.example:artifact:1.0\n"

    assert parse_table(table) == [Jar("org.example", "artifact", "1.0", "abc")]


def test_the_cache_folder_names_the_version(tmp_path: Path) -> None:
    folder = cache_folder({"BRIDGE_DEVKAFKA_CACHE": str(tmp_path)})

    assert folder == tmp_path / f"kafka-{KAFKA_VERSION}"


def test_ivy_is_asked_for_the_jars_and_nothing_they_depend_on() -> None:
    jars = [Jar("org.example", "one", "1.0", ""), Jar("org.example.<&>", "two", "2.0", "")]

    dependencies = ET.fromstring(ivy_module(jars)).findall("dependencies/dependency")  # noqa: S314 - our own

    assert [(d.get("org"), d.get("name"), d.get("rev")) for d in dependencies] == [
        ("org.example", "one", "1.0"),
        ("org.example.<&>", "two", "2.0"),
    ]
    assert {d.get("transitive") for d in dependencies} == {"false"}


def test_exactly_the_pinned_jars_are_accepted(tmp_path: Path) -> None:
    jars = [_jar(tmp_path, "one"), _jar(tmp_path, "two", b"other content")]

    verify(tmp_path, jars)

    with pytest.raises(DevKafkaError, match=r"not pinned: two-1\.0\.jar"):
        verify(tmp_path, jars[:1])


def test_a_missing_jar_is_named(tmp_path: Path) -> None:
    jar = _jar(tmp_path, "one")
    (tmp_path / jar.file_name).unlink()

    with pytest.raises(DevKafkaError, match=r"lacks one-1\.0\.jar; delete the folder"):
        verify(tmp_path, [jar])


def test_a_changed_jar_is_named(tmp_path: Path) -> None:
    jar = _jar(tmp_path, "one")
    (tmp_path / jar.file_name).write_bytes(b"something else")

    with pytest.raises(DevKafkaError, match=r"one-1\.0\.jar has SHA-256 .* not the pinned"):
        verify(tmp_path, [jar])


def test_a_damaged_cache_is_never_used(tmp_path: Path) -> None:
    with pytest.raises(DevKafkaError, match="delete the folder to have it filled again"):
        ensure_jars(tmp_path)


def test_who_fills_the_cache_first_wins(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jar").write_text(name)

    publish(tmp_path / "first", folder)
    publish(tmp_path / "second", folder)

    assert (folder / "jar").read_text() == "first"


def test_a_cache_that_cannot_be_filled_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "fetched").mkdir()

    with pytest.raises(FileNotFoundError):
        publish(tmp_path / "fetched", tmp_path / "no parent" / "cache")


def test_pyspark_carries_ivy() -> None:
    pytest.importorskip("pyspark", reason="the Spark extra is not installed")

    assert re.fullmatch(r"ivy-[\d.]+\.jar", find_ivy().name)
