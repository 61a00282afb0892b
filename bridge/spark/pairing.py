"""Which output folder belongs to which checkpoint, and why another one would lose records.

A checkpoint knows how far Kafka was read, the output folder's log knows which batches it holds; only
together are they exactly once. Spark does not notice when they are mixed: a new checkpoint with an
old output starts counting batches from 0, and the output takes them for batches that it has. So the
ingestion keeps a note in the checkpoint. Pure: decides over texts, reads no file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

NOTE: Final = "bridge-ingest.json"
"""Name of the note in the checkpoint folder."""

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Note:
    """What an ingestion writes down about itself: its output folder as a URI, and its topics."""

    output: str
    topics: tuple[str, ...]

    def to_text(self) -> str:
        """Return the note as JSON."""
        return json.dumps({"version": _VERSION, "output": self.output, "topics": self.topics})

    @classmethod
    def from_text(cls, text: str) -> Note:
        """Read a note. Raises ValueError when it is damaged or of another version."""
        fields = json.loads(text)
        match fields:
            case {"version": version, "output": str(output), "topics": list(topics)}:
                if version == _VERSION:
                    return cls(output, tuple(map(str, topics)))
        raise ValueError("not a note of this version")


def conflict(
    wanted: Note, noted: str | None, *, checkpoint_is_empty: bool, output_is_empty: bool
) -> str | None:
    """Tell why an ingestion must not start; None if it may.

    `noted` is the text of the checkpoint's note. The answer goes on after "The checkpoint folder".
    """
    if noted is not None:
        return _disagreement(wanted, noted)
    if not checkpoint_is_empty:
        return "holds something else; name an empty one"
    if not output_is_empty:
        return (
            f"is new, but {wanted.output} holds files already: name the checkpoint with which they "
            "were written, or an empty output folder"
        )
    return None


def _disagreement(wanted: Note, noted: str) -> str | None:
    try:
        note = Note.from_text(noted)
    except ValueError as error:
        return f"holds a damaged {NOTE} ({error}); name an empty one, and an empty output folder"
    if note.output != wanted.output:
        return (
            f"belongs to the output folder {note.output}, not to {wanted.output}: records that "
            "were read already would be missing there"
        )
    if missing := sorted(set(note.topics) - set(wanted.topics)):
        return (
            f"has read {', '.join(missing)} too, and a topic cannot be taken away: name it again, "
            "or an empty checkpoint folder and an empty output folder"
        )
    return None
