"""The book of answers alone; with the rest around it, it is tested in `test_sink_share_link`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.share_group import MemoryShareRecord
from support.share_rig import LAPSED, ShareLog

from bridge.sink.share_answers import ShareAnswers
from bridge.sink.share_ports import Acknowledgement, Held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.sink.share_ports import Answer


class Feed:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, list[tuple[int, Acknowledgement]], int]] = []

    def want(self, _records: int) -> None:
        raise AssertionError

    def find_end(self, _token: int) -> None:
        raise AssertionError

    def stop(self) -> None:
        raise AssertionError

    def acknowledge(self, batch: int, answers: Sequence[Answer], ticket: int) -> None:
        self.told.append((batch, [(record.offset() or 0, kind) for record, kind in answers], ticket))


class Stage:
    """The answers of a link that got two batches: records 0 and 1, and record 2."""

    def __init__(self) -> None:
        self.feed = Feed()
        self.log = ShareLog()
        self.answers = ShareAnswers(self.feed, self.log)
        self.held = [Held(MemoryShareRecord(number, b"", 1), 1 + number // 2, 5) for number in range(3)]
        self.answers.took(1, self.held[:2])
        self.answers.took(2, self.held[2:])

    def answer(self, *numbers: int, kind: Acknowledgement = Acknowledgement.ACCEPT) -> None:
        for number in numbers:
            self.answers.answer(self.held[number], kind)


def test_nothing_is_told_before_the_flush_and_then_batch_by_batch() -> None:
    stage = Stage()
    stage.answer(2, 0)
    assert not stage.feed.told
    stage.answers.flush()
    accept = Acknowledgement.ACCEPT
    assert stage.feed.told == [(2, [(2, accept)], 1), (1, [(0, accept)], 2)]


def test_only_the_first_answer_counts() -> None:
    stage = Stage()
    stage.answer(0, kind=Acknowledgement.RELEASE)
    stage.answer(0)
    stage.answers.flush()
    stage.answer(0)
    stage.answers.flush()
    assert stage.feed.told == [(1, [(0, Acknowledgement.RELEASE)], 1)]


def test_a_batch_is_forgotten_when_all_of_it_is_told() -> None:
    stage = Stage()
    stage.answer(0)
    stage.answers.flush()
    assert list(stage.answers.batch(1)) == stage.held[:2]
    assert stage.answers.held() == stage.held
    stage.answer(1)
    stage.answers.flush()
    assert not stage.answers.batch(1)
    assert stage.answers.held() == stage.held[2:]


def test_it_is_over_when_kafka_has_said_of_all_whether_it_is_recorded() -> None:
    stage = Stage()
    seen = [stage.answers.is_over]
    stage.answer(0, 2)
    seen.append(stage.answers.is_over)
    stage.answers.flush()
    confirmed = list(stage.answers.confirmed(1, {}))
    seen.append(stage.answers.is_over)
    confirmed += stage.answers.confirmed(2, {0: LAPSED})
    seen.append(stage.answers.is_over)
    assert seen == [True, False, False, True]
    accept = Acknowledgement.ACCEPT
    assert confirmed == [(stage.held[0], accept, True), (stage.held[2], accept, False)]
    assert stage.answers.unrecorded_count == 1
    assert stage.log.unrecords == [(2, "accept")]
    assert not list(stage.answers.confirmed(2, {})), "once"
