from __future__ import annotations

import pytest

from bridge.model.deduplication import Deduplication
from bridge.source import ledger
from bridge.source.ledger import Claim, Entry, LinkName

SCOPE = bytes(range(16))
WRITER = bytes(range(16, 32))
TOKEN = bytes(range(32, 48))


def test_an_entry_is_read_as_it_was_written() -> None:
    entry = Entry(WRITER, 2**63 + 5, 1_790_000_000_000, b"f" * 16)
    key, value = ledger.write_entry(SCOPE, entry, 10_000)
    assert ledger.read(key, value) == entry
    assert key.startswith(ledger.key_prefix(SCOPE))
    assert (len(key), len(value)) == (41, 33)


def test_an_entry_takes_the_place_of_the_one_that_leaves_the_window() -> None:
    def key(sequence: int, ring: int = 100) -> bytes:
        return ledger.write_entry(SCOPE, Entry(WRITER, sequence, 0, b"f" * 16), ring)[0]

    assert key(7) == key(107)
    assert len({key(sequence) for sequence in range(1000)}) == 100
    # Another size is another ring: what is in the former one is not overwritten out of turn.
    assert key(7) != key(7, 101)


def test_a_claim_is_read_as_it_was_written_whatever_a_client_calls_itself() -> None:
    claim = Claim(WRITER, TOKEN, 5, "topic a, link 'x' of 'größe'")
    key, value = ledger.write_claim(SCOPE, claim)
    assert ledger.read(key, value) == claim
    assert key.startswith(ledger.key_prefix(SCOPE))
    lone = ledger.read(*ledger.write_claim(SCOPE, Claim(WRITER, TOKEN, 5, "\ud800")))
    assert isinstance(lone, Claim)
    assert lone.token == TOKEN


@pytest.mark.parametrize("changed", ["key", "value", "short key", "short value", "tombstone", "long value"])
def test_what_another_version_wrote_is_passed_over(changed: str) -> None:
    for key, value in (
        ledger.write_entry(SCOPE, Entry(WRITER, 1, 2, b"f" * 16), 10),
        ledger.write_claim(SCOPE, Claim(WRITER, TOKEN, 5, "")),
    ):
        is_claim = len(value) == 25
        cases: dict[str, tuple[bytes, bytes | None]] = {
            "key": (b"\x02" + key[1:], value),
            "value": (key, b"\x02" + value[1:]),
            "short key": (key[:-1], value),
            "short value": (key, value[:-1]),
            "tombstone": (key, None),
            "long value": (key, value if is_claim else value + b"x"),
        }
        read = ledger.read(*cases[changed])
        assert (read is None) != (is_claim and changed == "long value")


def test_names_are_told_apart() -> None:
    names = [
        LinkName("a", "b", "t"),
        LinkName("ab", "", "t"),
        LinkName("", "ab", "t"),
        LinkName("b", "a", "t"),
        LinkName("a", "b", "u"),
    ]
    assert len({name.writer for name in names}) == len(names)
    by_id, by_tag = Deduplication("message-id"), Deduplication("delivery-tag")
    assert len({name.scope(by_tag) for name in names}) == len(names)
    assert len({name.scope(by_id) for name in names}) == 2  # the topics
    assert not {name.scope(by_id) for name in names} & {name.scope(by_tag) for name in names}
    assert str(names[0]) == "topic t, link 'b' of 'a'"


def test_the_hashes_do_not_change() -> None:
    # Entries of former releases are found by them.
    assert LinkName("c", "l", "t").writer.hex() == ledger.digest([b"c", b"l", b"t"]).hex()
    assert ledger.digest([b"c", b"l", b"t"]).hex() == "c191b4298dd6f5bf9347cf11974a99f0"
    assert ledger.fingerprint(b"id").hex() == "a1f9399c2463f250da05c63bf9498627"
    assert ledger.digest([b"ab", b""]) != ledger.digest([b"a", b"b"])
