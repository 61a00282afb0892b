"""From AMQP senders to Kafka in the ordinary way: a `MessagingHandler`, and one `produce` for each message.

Settled messages are produced with acks=0; the others are accepted or rejected by their delivery reports.
The address of a link's target is the topic.

usage: python -m bench.baselines.naive_source --bootstrap HOST:PORT --port PORT [--mapping]
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from confluent_kafka import Producer
from proton.handlers import MessagingHandler

from bench.baselines import kafka_options, serving
from bench.baselines.naive_mapping import to_headers

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError
    from confluent_kafka import Message as Record
    from proton import Delivery

    from bench.baselines.naive_mapping import Header

Event: TypeAlias = Any
"""`proton.Event`, of whose parts its own type says that they may be missing."""

CREDIT: Final = 1000
POLL_SECONDS: Final = 0.001
FULL_WAIT_SECONDS: Final = 0.001


class NaiveSource(MessagingHandler):
    """All connections: every link's messages to the topic that its target names."""

    def __init__(self, bootstrap: str, port: int, *, maps: bool) -> None:
        super().__init__(prefetch=CREDIT, auto_accept=False)
        self._port = port
        self._maps = maps
        self._acknowledged = Producer(kafka_options.producer(bootstrap, "all"))
        self._unacknowledged = Producer(kafka_options.producer(bootstrap, "0"))

    def on_start(self, event: Event) -> None:
        """Listen, and begin to serve delivery reports."""
        event.container.listen(f"{serving.HOST}:{self._port}")
        event.container.schedule(POLL_SECONDS, self)
        serving.ready()

    def on_link_opening(self, event: Event) -> None:
        """Answer an attach with what it asks for; credit is given by the handler itself."""
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        link.snd_settle_mode = link.remote_snd_settle_mode

    def on_message(self, event: Event) -> None:
        """Produce the record of a message."""
        message, delivery = event.message, event.delivery
        headers = to_headers(message) if self._maps else None
        topic, value = event.link.target.address, bytes(message.body)
        if delivery.settled:
            self._produce(self._unacknowledged, topic, value, headers)
            delivery.settle()
        else:
            self._produce(
                self._acknowledged, topic, value, headers, on_delivery=partial(self._reported, delivery)
            )

    def on_timer_task(self, event: Event) -> None:
        """Serve what reports there are."""
        self._acknowledged.poll(0)
        self._unacknowledged.poll(0)
        event.container.schedule(POLL_SECONDS, self)

    def _produce(
        self,
        producer: Producer,
        topic: str,
        value: bytes,
        headers: list[Header] | None,
        on_delivery: Callable[[KafkaError | None, Record], None] | None = None,
    ) -> None:
        while True:
            try:
                producer.produce(topic, value, headers=headers, on_delivery=on_delivery)
            except BufferError:
                producer.poll(FULL_WAIT_SECONDS)
            else:
                producer.poll(0)
                return

    def _reported(self, delivery: Delivery, error: KafkaError | None, _record: Record) -> None:
        if error is None:
            self.accept(delivery)
        else:
            self.reject(delivery)


def main() -> None:
    """Serve until SIGTERM."""
    parser = serving.arguments("A bridge from AMQP to Kafka, written in the ordinary way.")
    parser.add_argument("--mapping", action="store_true", help="keep properties as headers")
    given = parser.parse_args()
    serving.run_container(NaiveSource(given.bootstrap, given.port, maps=given.mapping))


if __name__ == "__main__":
    main()
