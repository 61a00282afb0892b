"""From Kafka to AMQP receivers in the ordinary way: a polled `Consumer`, and `sender.send` for each record.

What was accepted, or sent settled, is stored to be committed. The address of a link's source is
TOPIC/group.id/GROUP, from the earliest record.

usage: python -m bench.baselines.naive_sink --bootstrap HOST:PORT --port PORT [--mapping]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from confluent_kafka import Consumer
from proton import Link, Message
from proton.handlers import MessagingHandler

from bench.baselines import kafka_options, serving
from bench.baselines.naive_mapping import to_message

if TYPE_CHECKING:
    from confluent_kafka import Message as Record
    from proton import Delivery, Sender

Event: TypeAlias = Any
"""`proton.Event`, of whose parts its own type says that they may be missing."""

POLL_SECONDS: Final = 0.001


class Subscription:
    """The consumer of one link, and the records that were sent and not answered."""

    def __init__(self, sender: Sender, bootstrap: str, *, maps: bool) -> None:
        self._sender = sender
        self._maps = maps
        self._settled = sender.snd_settle_mode == Link.SND_SETTLED
        self._address = sender.source.address or ""
        self._sent: dict[str, Record] = {}
        topic, _, group = self._address.partition("/group.id/")
        self.consumer = Consumer({**kafka_options.consumer(bootstrap, group), "enable.auto.commit": True})
        self.consumer.subscribe([topic])

    def send(self) -> None:
        """Send what there is, as far as the credit goes."""
        while self._sender.credit > 0:
            record = self.consumer.poll(0)
            if record is None:
                return
            if record.error() is not None:
                continue
            message = (
                to_message(record, self._address) if self._maps else Message(record.value(), inferred=True)
            )
            delivery: Any = self._sender.send(message)
            if self._settled:
                self.consumer.store_offsets(record)
            else:
                self._sent[delivery.tag] = record

    def answered(self, delivery: Delivery) -> None:
        """Take an outcome: what was accepted may be committed."""
        record = self._sent.pop(delivery.tag, None)
        if record is not None and delivery.remote_state == delivery.ACCEPTED:
            self.consumer.store_offsets(record)


class NaiveSink(MessagingHandler):
    """All connections: every link has a consumer of its own, which is polled by a timer."""

    def __init__(self, bootstrap: str, port: int, *, maps: bool) -> None:
        super().__init__()
        self._bootstrap = bootstrap
        self._port = port
        self._maps = maps
        self._subscriptions: dict[Sender, Subscription] = {}

    def on_start(self, event: Event) -> None:
        """Listen, and begin to poll."""
        event.container.listen(f"{serving.HOST}:{self._port}")
        event.container.schedule(POLL_SECONDS, self)
        serving.ready()

    def on_link_opening(self, event: Event) -> None:
        """Answer an attach with what it asks for, and begin to consume."""
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        link.snd_settle_mode = link.remote_snd_settle_mode
        if link.is_sender:
            self._subscriptions[link] = Subscription(link, self._bootstrap, maps=self._maps)

    def on_sendable(self, event: Event) -> None:
        """Use the credit that came."""
        self._subscriptions[event.link].send()

    def on_timer_task(self, event: Event) -> None:
        """Send what there is on all links."""
        for subscription in self._subscriptions.values():
            subscription.send()
        event.container.schedule(POLL_SECONDS, self)

    def on_settled(self, event: Event) -> None:
        """Take an outcome."""
        self._subscriptions[event.link].answered(event.delivery)

    def on_link_closing(self, event: Event) -> None:
        """Consume no more for a link."""
        self._close(event.link)

    def on_disconnected(self, event: Event) -> None:
        """Consume no more for the links of a connection."""
        for link in [link for link in self._subscriptions if link.connection == event.connection]:
            self._close(link)

    def _close(self, link: Sender) -> None:
        subscription = self._subscriptions.pop(link, None)
        if subscription is not None:
            subscription.consumer.close()


def main() -> None:
    """Serve until SIGTERM."""
    parser = serving.arguments("A bridge from Kafka to AMQP, written in the ordinary way.")
    parser.add_argument("--mapping", action="store_true", help="make properties of headers")
    given = parser.parse_args()
    serving.run_container(NaiveSink(given.bootstrap, given.port, maps=given.mapping))


if __name__ == "__main__":
    main()
