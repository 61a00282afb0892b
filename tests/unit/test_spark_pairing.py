from __future__ import annotations

import pytest

from bridge.spark.pairing import Note, conflict

NOTE = Note("file:/lake/orders", ("a", "b"))


def judge(
    wanted: Note = NOTE, noted: str | None = None, *, checkpoint_is_empty: bool, output_is_empty: bool
) -> str | None:
    return conflict(wanted, noted, checkpoint_is_empty=checkpoint_is_empty, output_is_empty=output_is_empty)


def test_a_note_comes_back_from_its_text() -> None:
    assert Note.from_text(NOTE.to_text()) == NOTE


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "[]", "{}", '{"version": 1}', '{"version": 1, "output": 1, "topics": []}'),
        '{"version": 2, "output": "x", "topics": []}',
    ],
)
def test_what_is_no_note_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Note.from_text(text)
    reason = judge(noted=text, checkpoint_is_empty=False, output_is_empty=False)
    assert reason is not None
    assert "damaged" in reason


def test_new_folders_belong_together() -> None:
    assert judge(checkpoint_is_empty=True, output_is_empty=True) is None


@pytest.mark.parametrize("output_is_empty", [True, False])
def test_known_folders_belong_together(*, output_is_empty: bool) -> None:
    # The first run may have ended before it wrote anything, or in the middle of that.
    noted = NOTE.to_text()
    assert judge(noted=noted, checkpoint_is_empty=False, output_is_empty=output_is_empty) is None


def test_a_topic_may_come_but_not_go() -> None:
    noted = NOTE.to_text()
    more = Note(NOTE.output, ("c", "b", "a"))
    fewer = Note(NOTE.output, ("b", "c"))
    assert judge(more, noted, checkpoint_is_empty=False, output_is_empty=False) is None
    reason = judge(fewer, noted, checkpoint_is_empty=False, output_is_empty=False)
    assert reason is not None
    assert "has read a too" in reason


def test_a_checkpoint_belongs_to_one_output() -> None:
    other = Note("file:/lake/other", NOTE.topics)
    reason = judge(other, NOTE.to_text(), checkpoint_is_empty=False, output_is_empty=True)
    assert reason is not None
    assert "belongs to the output folder file:/lake/orders, not to file:/lake/other" in reason


def test_a_new_checkpoint_needs_a_new_output() -> None:
    reason = judge(checkpoint_is_empty=True, output_is_empty=False)
    assert reason is not None
    assert "is new, but file:/lake/orders holds files already" in reason


def test_a_folder_of_something_else_is_no_checkpoint() -> None:
    reason = judge(checkpoint_is_empty=False, output_is_empty=True)
    assert reason is not None
    assert "holds something else" in reason
