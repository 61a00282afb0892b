from __future__ import annotations

import pytest

from bridge.mapping import type_hints


def test_the_header_lists_names_and_types_in_order() -> None:
    entries = [type_hints.entry("count", "int"), type_hints.entry("message-id", "ulong")]
    assert type_hints.write(entries) == b"v1;count=int;message-id=ulong"
    assert type_hints.read(b"v1;count=int;message-id=ulong") == {"count": "int", "message-id": "ulong"}


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("a;b", b"a%3Bb=int"),
        ("a=b", b"a%3Db=int"),
        ("a b%", b"a%20b%25=int"),
        ("é", b"%C3%A9=int"),
        ("", b"=int"),
        ("x-opt-a_b.c~d", b"x-opt-a_b.c~d=int"),
        ("amqp.ma.#5", b"amqp.ma.%235=int"),
        ("\n", b"%0A=int"),
    ],
)
def test_any_name_can_be_listed(name: str, encoded: bytes) -> None:
    assert type_hints.entry(name, "int") == encoded
    assert type_hints.read(b"v1;" + encoded) == {name: "int"}


@pytest.mark.parametrize(
    "value",
    [None, b"", b"v2;a=int", b"v1;a", b"v1;", b"a=int", b"v1;\xc3\xa9=int", b"v1;%ff=int", b"V1;a=int"],
)
def test_what_cannot_be_read_gives_nothing(value: bytes | None) -> None:
    assert type_hints.read(value) is None


def test_codes_are_not_judged() -> None:
    assert type_hints.read(b"v1;a=nonsense;b=") == {"a": "nonsense", "b": ""}
