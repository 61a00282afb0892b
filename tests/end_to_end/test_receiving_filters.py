"""What filters choose: a receiver gets those messages alone, and its group is through with the others too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from proton import Delivery, Described, symbol, ulong
from proton.utils import LinkDetached
from support.asking import Filters, applied, selector
from support.blocking import Client
from support.clients import body_of
from support.service import wait_until

if TYPE_CHECKING:
    from support.blocking import Received
    from support.kafka import RealKafka, Record
    from support.service import Service

SELECTOR: Final = "apache.org:selector-filter:string"
SUBJECT: Final = "apache.org:legacy-amqp-direct-binding:string"
SUBJECTS: Final = "apache.org:legacy-amqp-topic-binding:string"
PROPERTIES: Final = "amqp:properties-filter"
APPLICATION: Final = "amqp:application-properties-filter"


def record(name: str, colour: str, weight: int, subject: str | None) -> Record:
    """Return a record with application-properties, one of them a number, and perhaps a subject."""
    headers = [
        ("colour", colour.encode()),
        ("weight", b"%d" % weight),
        ("amqp-types", b"v1;weight=int"),
    ]
    if subject is not None:
        headers.append(("subject", subject.encode()))
    return name.encode(), name.encode(), tuple(headers), 0


RECORDS: Final = [
    record("a", "red", 1, "eu.orders"),
    record("b", "green", 2, "eu.orders.new"),
    record("c", "red", 3, "us.orders.new"),
    record("d", "green", 4, None),
    record("e", "blue", 5, "eu"),
]


def symbols(**fields: object) -> dict[object, object]:
    return {symbol(name): value for name, value in fields.items()}


def numbered(code: int, value: Any) -> Described:  # noqa: ANN401 - any AMQP value
    return Described(ulong(code), value)


WANTED: Final[dict[str, tuple[dict[str, object], str]]] = {
    # the filters, and what the receiver gets
    "selector": ({SELECTOR: "colour = 'red'"}, "ac"),
    "selector of numbers": ({SELECTOR: "weight BETWEEN 2 AND 3 OR colour LIKE 'bl%'"}, "bce"),
    "selector of a field": ({SELECTOR: "amqp.subject IS NULL"}, "d"),
    "selector of an annotation": ({SELECTOR: "amqp.annotation.x-opt-bridge.offset >= 3"}, "de"),
    "selector under another key": ({"jms-selector": numbered(0x468C_0000_0004, "weight > 4")}, "e"),
    "subject": ({SUBJECT: "eu.orders"}, "a"),
    "subjects, one word": ({SUBJECTS: "*.orders.*"}, "bc"),
    "subjects, any words": ({SUBJECTS: "eu.#"}, "abe"),
    "properties": ({PROPERTIES: symbols(subject="&s:new")}, "bc"),
    "properties by number": ({"any": numbered(0x173, symbols(subject="&p:us."))}, "c"),
    "application-properties": ({APPLICATION: {"colour": "green", "weight": 4}}, "d"),
    "application-properties by number": ({"any": numbered(0x174, {"colour": "&p:b"})}, "e"),
    "all of several": ({SELECTOR: "weight < 3", SUBJECTS: "eu.#", APPLICATION: {"colour": "green"}}, "b"),
    "none": ({SELECTOR: "colour = 'pink'"}, ""),
}


@pytest.fixture(scope="module")
def coloured(kafka: RealKafka) -> str:
    """Give a topic with the records."""
    topic = kafka.create_topic()
    kafka.append(topic, RECORDS)
    return topic


def names(taken: list[Received]) -> str:
    return b"".join(body_of(each.message) for each in taken).decode()


@pytest.mark.parametrize("name", WANTED)
def test_a_filter_chooses_messages_and_the_group_is_through_with_all(
    service: Service, kafka: RealKafka, coloured: str, name: str
) -> None:
    filters, wanted = WANTED[name]
    group = f"{coloured}-{name.replace(' ', '-')}"
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{coloured}/group.id/{group}", 10, "unsettled", Filters(filters))
        assert applied(receiver).keys() == filters.keys()
        taken = receiver.drain()
        assert names(taken) == wanted
        for each in taken:
            each.answer(Delivery.ACCEPTED)
    wait_until(lambda: kafka.committed(group, coloured) == {0: len(RECORDS)}, "the commit")


def test_what_is_not_answered_is_not_passed_by_those_that_are_filtered(
    service: Service, kafka: RealKafka, coloured: str
) -> None:
    group = f"{coloured}-unanswered"
    address = f"{coloured}/group.id/{group}"
    with Client(service.amqp_port) as client:
        receiver = client.receiver(address, 10, "unsettled", selector("colour = 'green'"))
        first, second = receiver.drain()
        second.answer(Delivery.ACCEPTED)
        assert names([first]) == "b"
    wait_until(lambda: kafka.committed(group, coloured) == {0: 1}, "the commit")
    # Three more were read and not wanted.
    ended = [event for event in service.await_events("link ended") if event["topic"] == coloured]
    assert (1, 1, 3) in [(each["accepted"], each["unanswered"], each["filtered"]) for each in ended]
    with Client(service.amqp_port) as client:
        rest = client.receiver(address, 10).take(4)
        assert names(rest) == "bcde"


def test_a_settled_receiver_gets_what_it_wants_and_its_credit_is_for_that_alone(
    service: Service, kafka: RealKafka, coloured: str
) -> None:
    group = f"{coloured}-settled"
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{coloured}/group.id/{group}", 2, "settled", selector("weight > 3"))
        assert names(receiver.take(2)) == "de"
    wait_until(lambda: kafka.committed(group, coloured) == {0: len(RECORDS)}, "the commit")


def test_filters_choose_among_the_copies_of_a_partition_too(service: Service, coloured: str) -> None:
    filters = Filters({"x-opt-bridge.start": 1, SELECTOR: "colour = 'red'"})
    with Client(service.amqp_port) as client:
        receiver = client.receiver(f"{coloured}/Partitions/0", 10, "unsettled", filters)
        assert applied(receiver) == {"x-opt-bridge.start": 1, SELECTOR: "colour = 'red'"}
        assert names(receiver.drain()) == "c"


@pytest.mark.parametrize(
    "filters",
    [
        {SELECTOR: "colour ="},
        {SELECTOR: 5},
        {"jms-selector": numbered(0x468C_0000_0004, "colour LIKE 5")},
        {SUBJECTS: "x" * 256},
        {SUBJECT: ["eu"]},
        {PROPERTIES: symbols(colour="red")},
        {PROPERTIES: symbols(subject=5)},
        {APPLICATION: "colour"},
        {"any": numbered(0x174, {"colour": "&x:red"})},
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_and_nothing_is_left_out(
    service: Service, coloured: str, filters: dict[str, object]
) -> None:
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            client.receiver(f"{coloured}/group.id/refused", 1, "unsettled", Filters(filters))
        assert raised.value.condition == "amqp:invalid-field"
