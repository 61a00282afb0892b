"""How the tests are shared out among the processes of pytest-xdist; conftest.py tells pytest of it.

What is handed out is a file, whose tests share a service, or a folder, whose tests share what takes longer
to start. Processes share nothing: each has a Kafka of its own, unless one is given, and ports of its own.
"""

from __future__ import annotations

import fcntl
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped] # xdist has no types

from bridge.devkafka import DevKafkaError, ports
from bridge.devkafka.cache import cache_root
from bridge.devkafka.jars import ensure_jars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pytest

TESTS: Final = Path(__file__).parents[1]

WHOLE: Final = frozenset({"interop", "spark"})
"""Folders that one process gets whole: their tests share a Spark, or a service and its clients."""

LONGEST_FIRST: Final = ("spark", "soak", "end_to_end", "kafka", "interop", "properties")
"""Suites in the order in which they are handed out; the others have short files, by which all processes end
at the same time."""

NEED_KAFKA: Final = frozenset({"end_to_end", "interop", "kafka", "soak", "spark"})
NEED_SPARK: Final = frozenset({"end_to_end", "spark"})


class SharingOut(LoadScopeScheduling):  # type: ignore[misc] # as above
    """Hands out files and whole folders, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: Any) -> None:  # noqa: ANN401 - xdist's own
        super().__init__(config, log)
        self.config.option.loadscopereorder = False  # by the number of tests, which says little of their time

    def _split_scope(self, nodeid: str) -> str:
        """Return the name of what a test is handed out with."""
        file = nodeid.partition("::")[0]
        return next((part for part in Path(file).parts if part in WHOLE), file)


def suite_of(item: pytest.Item) -> str:
    """Return the folder of a test."""
    return item.path.relative_to(TESTS).parts[0]


def turn_of(item: pytest.Item) -> int:
    """Return when a test's suite has its turn."""
    suite = suite_of(item)
    return LONGEST_FIRST.index(suite) if suite in LONGEST_FIRST else len(LONGEST_FIRST)


def own_ports(worker: int, workers: int) -> Callable[[range], range]:
    """Return the choice of ports for the brokers of one of so many processes.

    A port is found free some seconds before the broker listens there, and again while a broker that was
    killed is started anew: meanwhile no other process may choose it.
    """
    of_all = ports.candidate_ports
    return lambda ephemeral: of_all(ephemeral)[worker % workers :: workers]


def fetch_what_is_missing(suites: Iterable[str]) -> None:
    """Fetch what the tests of these suites need, unless another process has; nobody does it twice.

    What cannot be had is not: the tests that need it say so.
    """
    needed = set(suites)
    if not needed & NEED_KAFKA:
        return
    with suppress(DevKafkaError, OSError), _alone():
        ensure_jars()
        if needed & NEED_SPARK:
            from bridge.spark.errors import SparkSideError  # noqa: PLC0415 - imports Spark
            from bridge.spark.jars import connector_jars  # noqa: PLC0415 - as above

            with suppress(SparkSideError):
                connector_jars()


@contextmanager
def _alone() -> Iterator[None]:
    """Keep other processes of the tests out; the end of this one lets them in (flock(2))."""
    folder = cache_root()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
