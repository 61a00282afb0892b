"""What a scrape of `/metrics` answers: families of samples, and their text for Prometheus.

Values are read when they are asked for, from what the parts of the bridge count anyway; nothing is counted
here, and nothing that happens to a message comes this way. Labels have few values, which the bridge chooses:
never a client's name, a topic or an address.

A worker sends its families to its supervisor as JSON (`packed`, `unpacked`), which puts them together
(`metrics_merging`) and alone speaks to Prometheus.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values, in the order of the names."""
Sample: TypeAlias = tuple[str, Labels, float]
"""What comes after the family's name (`_total` of a counter, `_bucket` of a histogram, else nothing), labels,
value."""


class Scope(Enum):
    """What a family says of several workers."""

    SERVICE = "service"
    """Their values are added up: messages, connections."""
    WORKER = "worker"
    """Each has its own, with the label `worker`: memory, processor time."""


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: `kind` is Prometheus' type (counter, gauge, histogram), `name` is without the suffix."""

    name: str
    kind: str
    meaning: str
    samples: tuple[Sample, ...]
    scope: Scope = Scope.SERVICE

    @property
    def only_grows(self) -> bool:
        """Tell whether its values never become less while the process lives."""
        return self.kind != "gauge"


def gauge(name: str, meaning: str, *values: tuple[Mapping[str, str], float]) -> Family:
    """Make a family of values that come and go: for each, its labels and the value."""
    return Family(name, "gauge", meaning, tuple(("", labels(of), value) for of, value in values))


def counter(name: str, meaning: str, *values: tuple[Mapping[str, str], float]) -> Family:
    """Make a family of totals, which only grow. Prometheus adds `_total` to the name."""
    return Family(name, "counter", meaning, tuple(("_total", labels(of), value) for of, value in values))


def labels(of: Mapping[str, str]) -> Labels:
    """Put labels into their order."""
    return tuple(sorted(of.items()))


class _Collected(Collector):
    """Families as prometheus_client takes them."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        for family in self._families:
            metric = Metric(family.name, family.meaning, family.kind)
            for suffix, of, value in family.samples:
                metric.add_sample(f"{family.name}{suffix}", dict(of), value)
            yield metric


def exposition(families: Iterable[Family], accept: str) -> tuple[bytes, str]:
    """Write families in the format that a scraper prefers; gives the text and its content type.

    `accept` is the request's header: OpenMetrics for those that ask for it, else Prometheus' text format.
    """
    encode, content_type = choose_encoder(accept)
    return encode(_Collected(families)), content_type


# ---------------------------------------------------------------------- between processes


def packed(families: Sequence[Family]) -> list[list[Any]]:
    """Return families as values of JSON."""
    return [
        [
            family.name,
            family.kind,
            family.meaning,
            family.scope.value,
            [[suffix, dict(of), value] for suffix, of, value in family.samples],
        ]
        for family in families
    ]


def unpacked(document: Sequence[Sequence[Any]]) -> list[Family]:
    """Return the families of a document that `packed` has made."""
    return [
        Family(
            name,
            kind,
            meaning,
            tuple((suffix, labels(of), value) for suffix, of, value in samples),
            Scope(scope),
        )
        for name, kind, meaning, scope, samples in document
    ]
