from __future__ import annotations

import inspect

import pytest
from confluent_kafka import Message

from bridge.amqp.links import OutgoingLink
from bridge.kafka.consumer import ConsumerFeed
from bridge.observability.links import SinkReporter
from bridge.sink import ports


@pytest.mark.parametrize(
    ("port", "edge"),
    [
        (ports.SinkPort, OutgoingLink),
        (ports.Feed, ConsumerFeed),
        (ports.SinkEvents, SinkReporter),
    ],
)
def test_an_edge_takes_what_its_port_is_given(port: type, edge: type) -> None:
    wanted = {name: method for name, method in vars(port).items() if inspect.isfunction(method)}
    wanted = {name: method for name, method in wanted.items() if not name.startswith("_")}
    assert wanted
    for name, method in wanted.items():
        offered = getattr(edge, name)
        assert list(inspect.signature(offered).parameters) == list(inspect.signature(method).parameters), name


def test_kafka_s_own_message_is_a_consumed_record() -> None:
    message = Message(
        topic="t", value=b"value", key=b"key", headers=[("h", None)], partition=3, offset=7, timestamp=(1, 9)
    )
    names = {name for name in vars(ports.ConsumedRecord) if not name.startswith(("_", "set_"))}
    read = {name: getattr(message, name)() for name in names}
    assert read == {
        "partition": 3,
        "offset": 7,
        "timestamp": (1, 9),
        "key": b"key",
        "value": b"value",
        "headers": [("h", None)],
    }
    assert len(message) == len(b"value")
    message.set_headers([("other", b"1")])
    assert message.headers() == [("other", b"1")]
