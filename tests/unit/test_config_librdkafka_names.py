"""The names are compared with those of the librdkafka that is installed: an upgrade renews them."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import confluent_kafka

from bridge.config.librdkafka_names import (
    FOR_ALL,
    FOR_CONSUMERS,
    FOR_PRODUCERS,
    READ_BY,
    SYNONYMS,
    VERSION,
)


def _table(folder: Path) -> list[tuple[str, str, str]]:
    """Give librdkafka's own table: name, readers, the rest of the line."""
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8")
    library = re.search(r"/\S*librdkafka[^/\s]*\.so\S*", mapped)
    assert library, "the client library is loaded with confluent_kafka"
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    printed = folder / "properties.md"
    stream = ctypes.c_void_p(libc.fopen(str(printed).encode(), b"w"))
    ctypes.CDLL(library[0]).rd_kafka_conf_properties_show(stream)
    libc.fclose(stream)
    lines = printed.read_text(encoding="utf-8").splitlines()
    return re.findall(r"^([a-z0-9._]+) *\| *([CP*]) *\|(.*)$", "\n".join(lines), re.MULTILINE)


def test_names_are_those_of_the_installed_library(tmp_path: Path) -> None:
    table = _table(tmp_path)
    assert confluent_kafka.libversion()[0].startswith(f"{VERSION}.")
    assert {name: readers for name, readers, _ in table} == READ_BY
    # Two of the aliases are of properties that exist twice, once for topics.
    aliases = [(name, re.search(r"Alias for `([^`]+)`", rest)) for name, _, rest in table]
    assert {name: alias[1] for name, alias in aliases if alias} == SYNONYMS


def test_each_name_is_read_by_one_kind_of_clients() -> None:
    assert set(READ_BY.values()) == {"*", "C", "P"}
    assert len(FOR_ALL) + len(FOR_CONSUMERS) + len(FOR_PRODUCERS) == len(READ_BY)
    assert READ_BY.keys() == FOR_ALL | FOR_CONSUMERS | FOR_PRODUCERS
