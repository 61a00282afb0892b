"""What is not offered is refused with a reason, where ignoring it would cost a user messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from proton import Link, Terminus
from proton.reactor import LinkOption, Selector
from proton.utils import BlockingConnection, LinkDetached

if TYPE_CHECKING:
    from support.kafka import RealKafka
    from support.service import Service


class Browse(LinkOption):
    """Asks for copies, as a JMS QueueBrowser does."""

    def apply(self, link: Link) -> None:
        link.source.distribution_mode = Terminus.DIST_MODE_COPY


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (Browse(), "browsing"),
        (Selector("colour = 'red'"), "selector"),
    ],
)
def test_a_receiver_that_asks_for_less_than_everything_is_refused(
    service: Service, kafka: RealKafka, option: LinkOption, words: str
) -> None:
    topic = kafka.create_topic()
    connection = BlockingConnection(f"amqp://127.0.0.1:{service.amqp_port}", timeout=30)
    try:
        with pytest.raises(LinkDetached) as raised:
            connection.create_receiver(f"{topic}/group.id/{topic}", options=option)
    finally:
        connection.close()
    assert raised.value.condition == "amqp:not-implemented"
    assert words in str(raised.value)
