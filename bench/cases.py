"""The cases of `make bench`: which load, by which subjects, and what the bridge has to reach. Values only.

A selection and not the full product: each dimension (settlement, size, shape, connections) is varied around
the commonest case, 100-byte data bodies over one link.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

from bench.figures import KIB, MIB

Direction: TypeAlias = Literal["source", "sink", "round trip"]
Mode: TypeAlias = Literal["settled", "unsettled", "mixed"]
Shape: TypeAlias = Literal["bare", "typical"]

BRIDGE: Final = "bridge"
BARE: Final = "bare pump"
NAIVE: Final = "naive"
KAFKA: Final = "Kafka alone"
WORKERS_2: Final = "bridge, 2 workers"


@dataclass(frozen=True, slots=True)
class Target:
    """The bridge is to have at least this ratio to a baseline, in messages a second."""

    baseline: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Case:
    """One load, and the subjects that take turns under it: the first one is compared with the others.

    `size` is that of the body in bytes. Every connection has one link.
    """

    direction: Direction
    mode: Mode
    size: int
    shape: Shape = "bare"
    connections: int = 1
    links: int = 1
    """Links of each connection."""
    subjects: tuple[str, ...] = (BRIDGE, BARE)
    targets: tuple[Target, ...] = ()
    group: str = ""
    """The table that it stands in; that of its direction by default."""

    @property
    def name(self) -> str:
        """What it is called on the command line, in tables and in the JSON."""
        parts = [self.direction, self.mode, in_bytes(self.size), self.shape]
        if self.connections > 1:
            parts.append(f"{self.connections} connections")
        if self.links > 1:
            parts.append(f"{self.connections * self.links} links")
        if WORKERS_2 in self.subjects:
            parts.append("workers")
        return ", ".join(parts)

    @property
    def table(self) -> str:
        """The title of its table."""
        return self.group or TABLES[self.direction]


TABLES: Final[dict[Direction, str]] = {
    "source": "From AMQP senders to Kafka",
    "sink": "From Kafka to AMQP receivers",
    "round trip": "Through the bridge and back",
}
MANY: Final = "Many connections and links"

FOUR: Final = (BRIDGE, BARE, NAIVE, KAFKA)
THREE: Final = (BRIDGE, BARE, NAIVE)
LARGE: Final = (BRIDGE, BARE, KAFKA)

SOURCE_TARGETS: Final = (Target(BARE, 0.65), Target(NAIVE, 6.0))
LARGE_TARGETS: Final = (Target(BARE, 0.8), Target(KAFKA, 0.6))
SINK_TARGETS: Final = (Target(BARE, 0.55), Target(NAIVE, 4.0))
SINK_TYPICAL_TARGETS: Final = (Target(BARE, 0.40), Target(NAIVE, 3.0))

CASES: Final = (
    Case("source", "unsettled", 100, subjects=FOUR, targets=SOURCE_TARGETS),
    Case("source", "settled", 100, subjects=FOUR, targets=(Target(BARE, 0.65),)),
    Case("source", "mixed", 100, subjects=THREE),
    Case(
        "source", "unsettled", 100, "typical", subjects=FOUR, targets=(Target(BARE, 0.40), Target(NAIVE, 4.0))
    ),
    Case("source", "settled", 100, "typical"),
    Case("source", "unsettled", KIB, subjects=FOUR),
    Case("source", "unsettled", KIB, "typical"),
    Case("source", "unsettled", 64 * KIB, subjects=LARGE, targets=LARGE_TARGETS),
    Case("source", "settled", 64 * KIB, subjects=LARGE, targets=LARGE_TARGETS),
    Case("source", "unsettled", MIB, subjects=LARGE, targets=LARGE_TARGETS),
    Case("source", "settled", MIB, subjects=LARGE, targets=LARGE_TARGETS),
    Case("sink", "unsettled", 100, subjects=FOUR, targets=SINK_TARGETS),
    Case("sink", "settled", 100, subjects=FOUR, targets=SINK_TARGETS),
    Case("sink", "unsettled", 100, "typical", subjects=THREE, targets=SINK_TYPICAL_TARGETS),
    Case("sink", "settled", 100, "typical", subjects=THREE, targets=SINK_TYPICAL_TARGETS),
    Case("sink", "unsettled", KIB),
    Case("sink", "settled", KIB),
    Case("sink", "unsettled", KIB, "typical"),
    Case("round trip", "unsettled", 100),
    Case("round trip", "unsettled", 100, "typical"),
    Case("source", "unsettled", 100, connections=8, group=MANY),
    Case("source", "unsettled", 100, connections=100, group=MANY),
    Case("source", "unsettled", 100, connections=10, links=100, group=MANY),
    Case("sink", "unsettled", 100, connections=8, group=MANY),
    Case("source", "unsettled", 100, connections=8, subjects=(WORKERS_2, BRIDGE), group=MANY),
    Case("sink", "unsettled", 100, connections=8, subjects=(WORKERS_2, BRIDGE), group=MANY),
)

QUICK: Final = (
    Case("source", "unsettled", 100),
    Case("source", "unsettled", 100, "typical"),
    Case("source", "settled", 100),
    Case("sink", "unsettled", 100),
    Case("sink", "settled", 100),
    Case("sink", "unsettled", 100, "typical"),
)
"""What `make bench-quick` compares with the recorded ratios."""


def in_bytes(size: int) -> str:
    """Write a size as people do: 100 B, 64 KiB, 1 MiB."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def matches(name: str, pattern: str) -> bool:
    """Tell whether a name has the pattern in it: plain text, or with `*` and `?`; capitals do not matter."""
    return fnmatchcase(name.lower(), f"*{pattern.lower()}*")
