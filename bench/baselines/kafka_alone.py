"""Kafka without AMQP: confluent-kafka producing or consuming the records that a bridge would.

usage:
    python -m bench.baselines.kafka_alone produce --bootstrap HOST:PORT --topic TOPIC --messages N
    python -m bench.baselines.kafka_alone consume --bootstrap HOST:PORT --topic TOPIC --messages N

Prints one line of JSON, like `bench.load`. The latency of a record is the time from the call of `produce` to
its report, measured at a fixed rate and where Kafka acknowledges; else it is null.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import click
import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from bench.baselines import kafka_options
from bench.load.messages import DIGITS, SHAPES
from bench.load.results import Clock, percentiles
from bench.topics import typical_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Message

    from bench.topics import KafkaHeaders

WARM_UP: Final = 100
"""Records before the clock starts: the client has to learn the topic's leaders and get a producer id."""
POLL_RECORDS: Final = 256
"""Reports are served after so many records, unless there is time for it."""
POLL_SECONDS: Final = 0.1
FULL_WAIT_SECONDS: Final = 0.001
BATCH_RECORDS: Final = 500
SILENCE_SECONDS: Final = 60.0
"""How long nothing at all may come: a bound for what has failed."""


class Producing:
    """One run. Raises TimeoutError if Kafka does not report on all records."""

    def __init__(self, bootstrap: str, topic: str, size: int, acks: str, shape: str) -> None:
        self._producer = Producer(kafka_options.producer(bootstrap, acks))
        self._topic = topic
        self._acks = acks
        self._filler = b"x" * (size - DIGITS)
        self._headers: Sequence[KafkaHeaders | None] = typical_headers(size) if shape == "typical" else [None]
        self._microseconds: list[int] = []
        self._ended = False
        self.accepted = 0
        self.failed: KafkaError | None = None
        """What the last record met that was not stored."""

    def run(self, messages: int, rate: float) -> dict[str, Any]:
        """Produce so many records, so many a second (0: as fast as they go), and give what was measured."""
        for number in range(WARM_UP):
            self._produce(number, self._reported)
        self._flush()
        self.accepted = 0
        clock = Clock()
        if rate:
            self._produce_paced(messages, rate)
        else:
            reported, poll = self._reported, self._producer.poll
            for number in range(messages):
                self._produce(number, reported)
                if number % POLL_RECORDS == 0:
                    poll(0)
            self._flush()
        times = clock.stop()
        size = DIGITS + len(self._filler)
        return {
            "messages": messages,
            "bytes": messages * size,
            **times,
            "outcomes": {} if self._acks == "0" else {"accepted": self.accepted},
            "latency_ms": percentiles(np.array(self._microseconds, np.uint32)),
            "rate": messages / times["seconds"],
        }

    def _produce(self, number: int, report: Any) -> None:  # noqa: ANN401 - a callback, as produce takes it
        value = b"%0*d" % (DIGITS, number) + self._filler
        headers = self._headers[number % len(self._headers)]
        while True:
            try:
                self._producer.produce(self._topic, value, on_delivery=report, headers=headers)
            except BufferError:
                self._producer.poll(FULL_WAIT_SECONDS)
            else:
                return

    def _produce_paced(self, messages: int, rate: float) -> None:
        """Produce each record when its time has come; a thread serves reports the moment they come."""
        clock = time.perf_counter
        threading.Thread(target=self._poll, daemon=True).start()
        started = clock()
        for number in range(messages):
            seconds = started + number / rate - clock()
            if seconds > 0:
                time.sleep(seconds)
            self._produce(number, partial(self._timed, clock()))
        self._flush()
        self._ended = True

    def _poll(self) -> None:
        while not self._ended:
            self._producer.poll(POLL_SECONDS)

    def _reported(self, error: KafkaError | None, _record: Message) -> None:
        if error is None:
            self.accepted += 1
        else:
            self.failed = error

    def _timed(self, called: float, error: KafkaError | None, record: Message) -> None:
        self._microseconds.append(round((time.perf_counter() - called) * 1e6))
        self._reported(error, record)

    def _flush(self) -> None:
        left = self._producer.flush(SILENCE_SECONDS)
        if left:
            raise TimeoutError(f"{left} records were not reported on within {SILENCE_SECONDS:.0f} s")


def consumed(bootstrap: str, topic: str, messages: int) -> dict[str, Any]:
    """Consume so many records from the earliest one on, as the only member of a new group.

    The clock runs from the first record to the last. Raises TimeoutError if they do not come.
    """
    consumer = Consumer(kafka_options.consumer(bootstrap, f"kafka-alone-{uuid4()}"))
    consumer.subscribe([topic])
    subscribed = time.perf_counter()
    clock: Clock | None = None
    count = size = 0
    first_message_seconds = 0.0
    while count < messages:
        records = _next(consumer, messages - count)
        if clock is None:
            clock = Clock()
            first_message_seconds = time.perf_counter() - subscribed
        count += len(records)
        size += sum(map(len, records))
    times = clock.stop() if clock else {}
    consumer.close()
    return {
        "messages": messages,
        "bytes": size,
        **times,
        "outcomes": {},
        "latency_ms": None,
        "rate": messages / times["seconds"],
        "first_message_seconds": first_message_seconds,
    }


def _next(consumer: Consumer, most: int) -> list[Message]:
    """Wait for a record, and take with it what else is there, up to so many."""
    while True:
        first = consumer.poll(SILENCE_SECONDS)
        if first is None:
            raise TimeoutError(f"no record came within {SILENCE_SECONDS:.0f} s")
        batch = [first, *consumer.consume(min(BATCH_RECORDS, most) - 1, 0)]
        records = [record for record in batch if record.error() is None]
        if records:
            return records


@click.group()
def main() -> None:
    """Produce to Kafka, or consume from it, without AMQP."""


_BOOTSTRAP: Final = click.option("--bootstrap", required=True, help="Kafka's bootstrap servers.")
_TOPIC: Final = click.option("--topic", required=True)
_MESSAGES: Final = click.option("--messages", type=click.IntRange(min=1), required=True)


@main.command()
@_BOOTSTRAP
@_TOPIC
@_MESSAGES
@click.option("--size", type=click.IntRange(min=DIGITS), default=100, help="Bytes of a value.")
@click.option("--acks", type=click.Choice(["0", "1", "all"]), default="all")
@click.option("--shape", type=click.Choice(SHAPES), default="bare")
@click.option("--rate", type=click.FloatRange(min=0), default=0.0, help="Records a second; 0: no limit.")
def produce(
    *, bootstrap: str, topic: str, messages: int, size: int, acks: str, shape: str, rate: float
) -> None:
    """Produce records, some more before the clock starts, and wait for their reports."""
    producing = Producing(bootstrap, topic, size, acks, shape)
    try:
        click.echo(json.dumps(producing.run(messages, rate)))
    except (KafkaException, TimeoutError) as error:
        _end(error)
    if producing.failed is not None:
        _end(producing.failed)


@main.command()
@_BOOTSTRAP
@_TOPIC
@_MESSAGES
def consume(*, bootstrap: str, topic: str, messages: int) -> None:
    """Consume records from the earliest one on."""
    try:
        click.echo(json.dumps(consumed(bootstrap, topic, messages)))
    except (KafkaException, TimeoutError) as error:
        _end(error)


def _end(error: object) -> None:
    click.echo(f"error: {error}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main(prog_name="python -m bench.baselines.kafka_alone")
