from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from proton import Delivery, Message
from proton.handlers import MessagingHandler
from proton.reactor import Container
from support.clients import MODES, body_of, delivery_of

if TYPE_CHECKING:
    from proton import Event
    from support.kafka import RealKafka
    from support.service import Service

CONNECTIONS: Final = 8
SESSIONS: Final = 3
LINKS: Final = 2
MESSAGES: Final = 40
LIMIT_SECONDS: Final = 60


class Traffic(MessagingHandler):
    """Connections with sessions with links, all at once: each link sends or receives the same number."""

    def __init__(self, port: int, addresses: list[str], *, sends: bool) -> None:
        super().__init__(prefetch=0, auto_accept=False)
        self._url = f"amqp://127.0.0.1:{port}"
        self._addresses = addresses
        self._sends = sends
        self._limit: Any = None
        self._open: list[Any] = []
        self._sent: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.expected = CONNECTIONS * SESSIONS * LINKS * MESSAGES
        self.failure = ""

    def on_start(self, event: Event) -> None:
        self._limit = event.container.schedule(LIMIT_SECONDS, self)
        for connection_number in range(CONNECTIONS):
            connection = event.container.connect(self._url, reconnect=False)
            self._open.append(connection)
            for session_number in range(SESSIONS):
                session = connection.session()
                session.open()
                for link_number in range(LINKS):
                    address = self._addresses[(session_number + link_number) % len(self._addresses)]
                    self._attach(
                        event, session, address, f"{connection_number}-{session_number}-{link_number}"
                    )

    def _attach(self, event: Event, session: Any, address: str, name: str) -> None:  # noqa: ANN401 - proton's Session
        mode = MODES["unsettled"]
        if self._sends:
            event.container.create_sender(session, address, name=name, options=mode)
        else:
            receiver = event.container.create_receiver(session, address, name=name, options=mode)
            receiver.flow(20)

    def on_sendable(self, event: Event) -> None:
        link: Any = event.link
        while link.credit and self._sent[link.name] < MESSAGES:
            body = json.dumps([link.name, self._sent[link.name]])
            link.send(Message(body=body.encode(), inferred=True))
            self._sent[link.name] += 1

    def on_accepted(self, event: Event) -> None:
        self.outcomes[delivery_of(event).link.name] += 1
        self._check()

    def on_message(self, event: Event) -> None:
        self.received[body_of(event.message).decode()] += 1
        delivery = delivery_of(event)
        delivery.update(Delivery.ACCEPTED)
        delivery.settle()
        if delivery.link.credit < 10:
            delivery.link.flow(10)
        self._check()

    def on_timer_task(self, _event: Event) -> None:
        self._finish(f"not done after {LIMIT_SECONDS} s")

    def on_link_error(self, event: Event) -> None:
        self._finish(f"a link failed: {event.link}")

    def on_connection_error(self, event: Event) -> None:
        self._finish(f"a connection failed: {event.connection}")

    def _check(self) -> None:
        if sum(self.outcomes.values()) == self.expected or len(self.received) == self.expected:
            self._finish("")

    def _finish(self, failure: str) -> None:
        self.failure = self.failure or failure
        self._limit.cancel()
        for connection in self._open:
            connection.close()


def test_many_connections_sessions_and_links_at_once(service: Service, kafka: RealKafka) -> None:
    topics = [kafka.create_topic(partitions=4) for _ in range(3)]
    sending = Traffic(service.amqp_port, topics, sends=True)
    Container(sending).run()

    assert sending.failure == ""
    links = CONNECTIONS * SESSIONS * LINKS
    assert sorted(sending.outcomes.values()) == [MESSAGES] * links

    # More receivers than partitions: some of them only wait, and nothing is left lying for that.
    addresses = [f"{topic}/group.id/{topic}" for topic in topics]
    receiving = Traffic(service.amqp_port, addresses, sends=False)
    Container(receiving).run()

    assert receiving.failure == ""
    sent = {json.dumps([name, number]) for name in sending.outcomes for number in range(MESSAGES)}
    assert receiving.received.keys() == sent
