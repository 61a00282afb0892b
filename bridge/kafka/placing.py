"""Puts a consumer to the offsets at which it is to read, where its group has committed none.

librdkafka is told to ask (`auto.offset.reset=error`), and not to choose itself: so a link can begin
anywhere, and operators hear of records that retention took before they were read. It asks with an error
and stops reading the partition, which then has to be assigned anew, from an offset.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from bridge.kafka import failures
from bridge.kafka.contract import COMMITTED
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.kafka.contract import FeedSettings
    from bridge.model.failures import Failure

RESET_OPTION: Final = "auto.offset.reset"
ASK: Final = {RESET_OPTION: "error"}
AGAIN_SECONDS: Final = 0.5
QUESTION_SECONDS: Final = 2.0
_ENDS: Final = frozenset({"latest", "largest", "end"})
_REFUSES: Final = "error"


@dataclass(frozen=True, slots=True)
class Reset:
    """A partition that is read on from `to`, since nothing is at the offset `wanted`.

    `wanted` is -1 where its group had committed nothing: it begins there.
    """

    partition: int
    wanted: int
    to: int


def is_eager(options: Mapping[str, object]) -> bool:
    """Tell whether members give all their partitions away in each rebalance."""
    if options.get("group.protocol") == "consumer":
        return False
    return "cooperative" not in str(options.get("partition.assignment.strategy", ""))


class Placer:
    """Decides where the partitions of one link are read from, and puts its consumer there.

    `positions` says how far each partition was read, as far as is known; the placer writes to it where
    it puts the consumer.
    """

    def __init__(self, settings: FeedSettings, positions: dict[int, int]) -> None:
        self._settings = settings
        self._reset = str(settings.options.get(RESET_OPTION, "earliest"))
        self._assigns_all = not settings.assigned and is_eager(settings.options)
        self._positions = positions
        self._wanted: dict[int, int] = {}
        """The partitions that wait for a place, with the offset that is not there; -1 for none committed."""
        self._not_before = 0.0

    def ask(self, partition: int, offset: int | None, error: KafkaError) -> Failure | None:
        """Take librdkafka's question where to read a partition; gives why the link ends instead.

        `offset` is the one that is not there, None or negative if there is none committed.
        """
        wanted = -1 if offset is None or offset < 0 else offset
        if self._reset == _REFUSES and (wanted >= 0 or self._start(partition) < 0):
            failure = failures.classify_consumer(error, self._settings.topic, partition)
            return replace(failure, retriable=False, condition=conditions.PRECONDITION_FAILED)
        self._wanted[partition] = wanted
        return None

    def forget(self, partitions: Iterable[int]) -> None:
        """Take notice that these partitions were assigned or taken away."""
        for partition in partitions:
            self._wanted.pop(partition, None)
            self._positions.pop(partition, None)

    @property
    def waits(self) -> bool:
        """Tell whether there are partitions to place."""
        return bool(self._wanted)

    def place(self, consumer: Consumer) -> list[Reset]:
        """Put the consumer to where it is to read; gives what was passed over for it.

        What Kafka does not answer now is tried again with a later call.
        """
        if time.monotonic() < self._not_before:
            return []
        resets: list[Reset] = []
        places: dict[int, int] = {}
        try:
            for partition, wanted in self._wanted.items():
                if wanted < 0:
                    begin = places[partition] = self._start(partition)
                    if begin >= 0:
                        resets.append(Reset(partition, wanted, begin))
                else:
                    to = places[partition] = self._nearest(consumer, partition)
                    resets.append(Reset(partition, wanted, to))
            self._assign(consumer, places)
        except KafkaException:
            # No answer, or a rebalance is under way, which may take the partitions away.
            self._not_before = time.monotonic() + AGAIN_SECONDS
            return []
        self._wanted.clear()
        self._positions |= {partition: offset for partition, offset in places.items() if offset >= 0}
        return resets

    def _start(self, partition: int) -> int:
        """Give where a partition begins for which the group has committed nothing."""
        start = self._settings.starts.get(partition, COMMITTED)
        if start != COMMITTED:
            return start
        return OFFSET_END if self._reset in _ENDS else OFFSET_BEGINNING

    def _nearest(self, consumer: Consumer, partition: int) -> int:
        """Give the offset to go on at instead of one that is not there."""
        offsets = consumer.get_watermark_offsets(
            TopicPartition(self._settings.topic, partition), timeout=QUESTION_SECONDS
        )
        if offsets is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - librdkafka's own name
        return offsets[1] if self._reset in _ENDS else offsets[0]

    def _assign(self, consumer: Consumer, places: Mapping[int, int]) -> None:
        topic = self._settings.topic
        placed = [TopicPartition(topic, partition, offset) for partition, offset in places.items()]
        if not self._assigns_all:
            there = {each.partition for each in consumer.assignment()} & places.keys()
            if there:  # not after an earlier call that came half way
                consumer.incremental_unassign([TopicPartition(topic, partition) for partition in there])
            consumer.incremental_assign(placed)
            return
        # The eager protocol knows no assignment of a part: the others go on where they are.
        others = [
            TopicPartition(topic, each.partition, self._positions.get(each.partition, OFFSET_INVALID))
            for each in consumer.assignment()
            if each.partition not in places
        ]
        consumer.assign([*others, *placed])
