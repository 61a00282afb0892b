"""What an ingestion is told and what it reports. Pure; never imports pyspark."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Job:
    """What to ingest. `output` and `checkpoint` are local paths or URIs that Hadoop knows.

    With `interval_seconds` None the job ends when it has read what was there when it began.
    `batch_records` bounds what one batch reads, and so what a crash can undo. `options` goes to
    Spark's Kafka source.
    """

    bootstrap_servers: str
    topics: tuple[str, ...]
    output: str
    checkpoint: str
    interval_seconds: float | None = None
    batch_records: int = 500_000
    starting_offsets: str = "earliest"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What one run wrote, counted in its files: rows by topic, and the number of files."""

    rows: Mapping[str, int]
    files: int
    seconds: float

    def to_json(self) -> str:
        """Return one line: `rows` by topic, `files`, `seconds`."""
        return json.dumps({"rows": dict(self.rows), "files": self.files, "seconds": round(self.seconds, 3)})

    def table(self, output: str) -> str:
        """Return the lines that tell a person: one for each topic, and the sum."""
        total = sum(self.rows.values())
        rate = total / max(self.seconds, 0.001)
        width = max((len(topic) for topic in self.rows), default=0)
        lines = [f"{topic:<{width}}  {rows:>14,}" for topic, rows in self.rows.items()]
        lines.append(
            f"{total:,} rows written to {output} in {self.files:,} files, "
            f"{self.seconds:,.1f} s ({rate:,.0f} rows/s)"
        )
        return "\n".join(lines)
