from __future__ import annotations

import pytest
from support.sink_port import MemoryRecord

from bridge.sink.stowing import restore, stow

HEADERS: list[tuple[str, bytes | None]] = [("a", b"1"), ("a", b""), ("ü", None), ("", bytes(range(256)))]


def test_headers_come_back_as_they_were() -> None:
    record = MemoryRecord(0, 0, b"x", list(HEADERS))

    stowed = stow(record, record.headers())
    assert not record.headers()
    restore(record, stowed)

    assert record.headers() == HEADERS


def test_records_do_not_share_what_is_put_back() -> None:
    one, other = MemoryRecord(0, 0, b"x", [("a", b"1")]), MemoryRecord(0, 1, b"x", [("b", b"2")])
    stowed = stow(one, one.headers()), stow(other, other.headers())

    restore(one, stowed[0])

    assert one.headers() == [("a", b"1")]
    assert not other.headers()


@pytest.mark.parametrize("headers", [None, []])
def test_nothing_is_stowed_where_there_is_none(headers: list[tuple[str, bytes | None]] | None) -> None:
    record = MemoryRecord(0, 0, b"x", headers)

    assert stow(record, record.headers()) is None
    restore(record, None)

    assert record.headers() is headers
