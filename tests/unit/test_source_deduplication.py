from __future__ import annotations

import pytest

from bridge.model.deduplication import Deduplication
from bridge.source import ledger
from bridge.source.deduplication import SWEEP_MS, Ledger, Window, Windows
from bridge.source.ledger import LinkName

HERE = LinkName("client", "link", "topic")
OTHER = LinkName("client", "other", "topic")
NOW_MS = 1_790_000_000_000
TOKENS = [bytes([number]) * 16 for number in range(8)]


def a_ledger(
    name: LinkName = HERE, *, by: str = "message-id", window_ms: int = 1000, window_count: int = 5
) -> Ledger:
    options = Deduplication("message-id" if by == "message-id" else "delivery-tag", window_ms, window_count)
    return Windows().ledger(name, options)


def store(link: Ledger, identity: bytes, now_ms: int = NOW_MS) -> tuple[bytes, bytes]:
    """Store a message, and return what was written into the ledger."""
    sequence, fingerprint = link.sequence(now_ms), link.fingerprint(identity)
    written = link.write(sequence, now_ms, fingerprint)
    link.remember([(sequence, now_ms, fingerprint)], now_ms)
    return written


def remembered(link: Ledger, identities: list[bytes], now_ms: int = NOW_MS) -> list[bytes]:
    return [each for each in identities if link.remembers(link.fingerprint(each), now_ms)]


def test_a_message_is_remembered_until_the_count_is_full() -> None:
    link = a_ledger(window_count=3)
    identities = [b"%d" % number for number in range(6)]
    for identity in identities:
        store(link, identity)
    assert remembered(link, identities) == identities[3:]
    assert len(link.window) == 3


def test_a_message_is_remembered_until_its_time_is_over() -> None:
    link = a_ledger(window_ms=1000)
    store(link, b"a")
    assert remembered(link, [b"a"], NOW_MS + 1000) == [b"a"]
    assert remembered(link, [b"a"], NOW_MS + 1001) == []
    store(link, b"b", NOW_MS + 1001)
    assert len(link.window) == 1


def test_a_message_stored_again_after_its_time_is_remembered_by_its_last_time() -> None:
    link = a_ledger(window_ms=1000, window_count=2)
    store(link, b"a", NOW_MS)
    store(link, b"a", NOW_MS + 900)
    store(link, b"b", NOW_MS + 1500)  # forgets the first a
    assert remembered(link, [b"a", b"b"], NOW_MS + 1500) == [b"a", b"b"]


def test_what_the_topic_tells_is_learnt_once() -> None:
    writer, reader = a_ledger(window_count=3), a_ledger(OTHER, window_count=3)
    records = [(offset, *store(writer, b"%d" % offset)) for offset in range(5)]
    reader.window.learn(records, NOW_MS)
    assert reader.window.position == 5
    reader.window.learn(records[:2], NOW_MS)  # read again: older ones push nothing out
    writer.window.learn(records[:2], NOW_MS)  # the topic tells it, slowly, what it has stored itself
    for link in (writer, reader):
        assert remembered(link, [b"%d" % number for number in range(5)]) == [b"2", b"3", b"4"]


def test_records_of_other_scopes_and_versions_are_passed_over() -> None:
    link, foreign = a_ledger(), a_ledger(LinkName("client", "link", "elsewhere"))
    key, value = store(link, b"a")
    reader = a_ledger()
    reader.window.learn(
        [(0, *store(foreign, b"b")), (1, key, None), (2, b"?", b"?"), (3, key, b"\x09" + value[1:])], NOW_MS
    )
    assert len(reader.window) == 0
    assert reader.window.position == 4
    reader.window.reached(9)
    reader.window.reached(7)
    assert reader.window.position == 9


def test_sequences_go_on_where_the_ledger_ends() -> None:
    link = a_ledger()
    assert link.sequence(NOW_MS) == NOW_MS * 1000
    assert link.sequence(NOW_MS - 5) == NOW_MS * 1000 + 1
    record = store(link, b"a")
    successor = a_ledger()
    successor.window.learn([(0, *record)], NOW_MS)
    assert successor.sequence(NOW_MS) == NOW_MS * 1000 + 3
    assert successor.sequence(NOW_MS) == NOW_MS * 1000 + 4


def test_the_ledger_says_what_became_of_a_message() -> None:
    link = a_ledger()
    first, second = link.sequence(NOW_MS), link.sequence(NOW_MS)
    assert not link.has_stored(first)
    link.window.learn([(0, *link.write(first, NOW_MS, b"f" * 16))], NOW_MS + 100_000)  # however late
    assert link.has_stored(first)
    assert not link.has_stored(second)


def standing(link: Ledger) -> str:
    return "stolen" if link.is_stolen else "claimed" if link.has_claimed else "unknown"


def test_a_claim_is_found_and_a_later_one_is_a_theft() -> None:
    link, thief, stranger = a_ledger(), a_ledger(), a_ledger(OTHER)
    former = thief.claim(TOKENS[0], NOW_MS)
    own = link.claim(TOKENS[1], NOW_MS)
    link.window.learn([(0, *former)], NOW_MS)
    assert standing(link) == "unknown"  # it is the predecessor's
    link.window.learn([(1, *own), (2, *stranger.claim(TOKENS[2], NOW_MS))], NOW_MS)
    assert standing(link) == "claimed"
    link.window.learn([(0, *former)], NOW_MS)  # read again
    assert standing(link) == "claimed"

    again = link.claim(TOKENS[3], NOW_MS)
    assert standing(link) == "unknown"  # the last claim counts
    link.window.learn([(3, *thief.claim(TOKENS[4], NOW_MS))], NOW_MS)
    assert standing(link) == "stolen"
    link.window.learn([(4, *again)], NOW_MS)
    assert standing(link) == "claimed"


def test_links_of_one_scope_share_a_window_and_of_others_do_not() -> None:
    windows = Windows()
    by_id, by_tag = Deduplication("message-id"), Deduplication("delivery-tag")
    one, two = windows.ledger(HERE, by_id), windows.ledger(OTHER, by_id)
    assert one.window is two.window
    assert one.window.is_shared
    store(one, b"a")
    assert remembered(two, [b"a"]) == [b"a"]

    tags = [windows.ledger(name, by_tag) for name in (HERE, OTHER)]
    assert tags[0].window is not tags[1].window
    assert not tags[0].window.is_shared
    assert windows.ledger(HERE, Deduplication("message-id", 5)).window is not one.window
    assert one.partition(7) == two.partition(7)
    assert {windows.ledger(LinkName("c", "l", f"t{n}"), by_id).partition(4) for n in range(50)} == set(
        range(4)
    )


def test_links_that_went_away_leave_no_memory() -> None:
    windows = Windows()
    options = Deduplication("message-id", 1000, 5)
    here = windows.ledger(HERE, options)
    others = set()
    for number in range(100):
        other = windows.ledger(LinkName("client", f"{number}", "topic"), options)
        others.add(other.writer)
        store(other, b"%d" % number)
    del other
    store(here, b"a")
    assert here.window.writers() == {here.writer, *others}
    store(here, b"b", NOW_MS + 1001 + SWEEP_MS)
    assert len(here.window) == 1
    assert here.window.writers() == {here.writer}


@pytest.mark.parametrize(
    "options",
    [
        Deduplication("message-id", 0, 1),
        Deduplication("message-id", 1, 0),
        Deduplication("message-id", 1, ledger.RING_MAX + 1),
    ],
)
def test_a_window_of_nothing_is_refused(options: Deduplication) -> None:
    with pytest.raises(ValueError, match="at least one message"):
        Window(b"s" * 16, options)
