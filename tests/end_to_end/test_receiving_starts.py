"""Where receivers begin: as they ask by filter, link property or address, as routes and settings say."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest
from proton import Delivery, Described, byte, int32, short, symbol, timestamp, ubyte, uint, ulong, ushort
from proton.utils import LinkDetached
from support.asking import Filters, Largest, applied, selector
from support.blocking import Client
from support.clients import annotation, body_of
from support.service import wait_until
from support.told import Properties

if TYPE_CHECKING:
    from pathlib import Path

    from end_to_end.conftest import StartService
    from proton.reactor import LinkOption
    from support.blocking import Received, Receiver
    from support.kafka import RealKafka
    from support.service import Service

RECORDS: Final = 10
EARLIEST: Final = 2
"""What was before is deleted, as retention does."""
YOUNG: Final = 5
"""The first record that is not a day old."""
NOW_MS: Final = time.time_ns() // 1_000_000
PARTITION: Final = "io.strimzi:partition-filter:int"
OFFSET: Final = "io.strimzi:offset-filter:long"
START: Final = "x-opt-bridge.start"
MODE: Final = "x-opt-bridge.mode"
READER: Final = "TOPIC/Partitions/0"
HUB: Final = "TOPIC/ConsumerGroups/$Default/Partitions/0"


def time_ms(offset: int) -> int:
    """Return the timestamp of a record: a day old, or a minute; both with hours to spare for a slow run."""
    return NOW_MS - (86_400_000 if offset < YOUNG else 60_000) + offset * 1000


def time_text(offset: int) -> str:
    return datetime.fromtimestamp(time_ms(offset) / 1000, UTC).isoformat(timespec="milliseconds")


@pytest.fixture(scope="module")
def history(kafka: RealKafka) -> str:
    """Give a topic of two partitions, in the first of which there are the records 2 to 9."""
    topic = kafka.create_topic(partitions=2)
    kafka.append(topic, [(None, b"%d" % offset, (), time_ms(offset)) for offset in range(RECORDS)])
    kafka.append(topic, [(None, b"other", (), time_ms(YOUNG))], partition=1)
    kafka.delete_records(topic, {0: EARLIEST})
    return topic


def offset_of(received: Received) -> int:
    return int(annotation(received.message, "x-opt-bridge.offset"))


def first(receiver: Receiver) -> int:
    """Return the offset of the first message; it has to be of partition 0, with what was stored there."""
    (received,) = receiver.take(1)
    assert annotation(received.message, "x-opt-bridge.partition") == 0
    assert body_of(received.message) == b"%d" % offset_of(received)
    received.answer(Delivery.ACCEPTED)
    return offset_of(received)


@dataclass(frozen=True)
class Asked:
    """How a receiver asks, and where it begins; what it has for filters is to be applied."""

    begins: int
    filters: dict[str, object] = field(default_factory=dict)
    properties: dict[str, object] = field(default_factory=dict)
    address: str = READER

    def options(self) -> list[LinkOption]:
        asked: list[LinkOption] = []
        if self.filters:
            asked.append(Filters(self.filters))
        if self.properties:
            asked.append(Properties(self.properties))
        return asked


def position(text: str) -> dict[str, object]:
    """Return the filter by which clients of Event Hubs ask for a position."""
    return {"apache.org:selector-filter:string": f"amqp.annotation.{text}"}


ASKED: Final[dict[str, Asked]] = {
    "nothing": Asked(EARLIEST),
    "earliest": Asked(EARLIEST, {START: "earliest"}),
    "a timestamp": Asked(4, {START: timestamp(time_ms(4))}),
    "a time as text": Asked(4, {START: time_text(4)}),
    "a time before all records": Asked(EARLIEST, {START: "1999-12-31T00:00:00Z"}),
    "an age": Asked(YOUNG, {START: "12h"}),
    "an offset": Asked(7, {START: 7}),
    "a property": Asked(YOUNG, properties={START: "12h"}),
    "a filter and a property that say the same": Asked(YOUNG, {START: "12h"}, {START: "12h"}),
    "a property for the partition": Asked(7, {START: 7}, {"x-opt-bridge.partition": "0"}, address="TOPIC"),
    "a filter for the partition": Asked(7, {"x-opt-bridge.partition": "0", START: 7}, address="TOPIC"),
    "event hubs, nothing": Asked(EARLIEST, address=HUB),
    "event hubs, the first": Asked(EARLIEST, position("x-opt-offset > '-1'"), address=HUB),
    "event hubs, an offset": Asked(7, position("x-opt-offset > '6'"), address=HUB),
    "event hubs, an offset, inclusive": Asked(6, position("x-opt-offset >= '6'"), address=HUB),
    "event hubs, a sequence number": Asked(7, position("x-opt-sequence-number > '6'"), address=HUB),
    "event hubs, a time": Asked(4, position(f"x-opt-enqueued-time >= '{time_ms(4)}'"), address=HUB),
    "event hubs, after a time": Asked(5, position(f"x-opt-enqueued-time > '{time_ms(4)}'"), address=HUB),
    "event hubs, unquoted": Asked(5, position(f"x-opt-enqueuedtimeutc > {time_ms(4)}"), address=HUB),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_reader_begins_where_it_asks_and_is_answered_so(service: Service, history: str, name: str) -> None:
    asked = ASKED[name]
    with Client(service.amqp_port) as client:
        receiver = client.receiver(asked.address.replace("TOPIC", history), 1, "unsettled", *asked.options())
        assert applied(receiver) == asked.filters
        assert first(receiver) == asked.begins


@pytest.mark.parametrize("kind", [ubyte, ushort, uint, ulong, byte, short, int32, int])
def test_the_former_filters_are_taken_in_any_integral_type(service: Service, history: str, kind: Any) -> None:  # noqa: ANN401 - a type
    filters = {PARTITION: kind(0), OFFSET: kind(7)}
    with Client(service.amqp_port) as client:
        receiver = client.receiver(history, 1, "unsettled", Filters(filters))
        assert applied(receiver) == filters
        assert first(receiver) == 7


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("TOPIC/group.id/TOPIC", [Filters({START: "latest"})]),
        ("TOPIC/group.id/TOPIC", [Properties({START: "latest"})]),
        (READER, [Filters({START: "latest"})]),
        (HUB, [selector("amqp.annotation.x-opt-offset > '@latest'")]),
        (HUB, [selector("amqp.annotation.x-opt-sequence-number > '@latest'")]),
    ],
)
def test_from_the_latest_on_there_is_what_comes_after_the_attach(
    service: Service, kafka: RealKafka, address: str, options: list[LinkOption]
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"0", b"1"])
    with Client(service.amqp_port) as client:
        receiver = client.receiver(address.replace("TOPIC", topic), 1, "unsettled", *options)
        kafka.produce(topic, [b"2"])
        assert first(receiver) == 2


def test_a_group_goes_on_where_it_was_wherever_its_members_ask_to_begin(
    service: Service, kafka: RealKafka, history: str
) -> None:
    group = f"{history}-members"
    with Client(service.amqp_port) as client:
        address = f"{history}/group.id/{group}"
        receiver = client.receiver(address, 10, "unsettled", Filters({START: "12h"}))
        taken = {annotation(each.message, "x-opt-bridge.partition"): each for each in receiver.take(6)}
        taken[1].answer(Delivery.ACCEPTED)
        receiver.close()
        # Also where nothing was accepted the group has begun, and does not begin elsewhere.
        again = client.receiver(address, 10, "unsettled", Filters({START: "earliest"}))
        assert [offset_of(each) for each in again.take(RECORDS - YOUNG)] == list(range(YOUNG, RECORDS))
        assert again.drain() == []
    wait_until(lambda: kafka.committed(group, history) == {0: YOUNG, 1: 1}, "the commit")


def test_for_a_group_one_partition_is_read_and_committed_and_gone_on_with(
    service: Service, kafka: RealKafka, history: str
) -> None:
    group = f"{history}-one"
    address = f"{history}/group.id/{group}"
    only = Filters({PARTITION: 0})
    with Client(service.amqp_port) as client:
        asked = client.receiver(address, 1, "unsettled", Filters({PARTITION: 0, OFFSET: 7}))
        assert first(asked) == 7
        asked.close()
        wait_until(lambda: kafka.committed(group, history) == {0: 8}, "the commit")

        going_on = client.receiver(address, 1, "unsettled", only)
        assert first(going_on) == 8
        going_on.close()
        back = client.receiver(address, 1, "unsettled", Filters({PARTITION: 0, START: "earliest"}))
        assert first(back) == EARLIEST


def test_without_a_group_nothing_is_committed_and_kafka_hears_of_no_group(
    service: Service, kafka: RealKafka, history: str
) -> None:
    known = kafka.groups(history)
    with Client(service.amqp_port) as client:
        for mode in ("unsettled", "settled"):
            for address in (READER, HUB):
                receiver = client.receiver(address.replace("TOPIC", history), 100, mode)
                taken = receiver.take(RECORDS - EARLIEST)
                assert [each.delivery.settled for each in taken] == [mode == "settled"] * len(taken)
                for each in taken:
                    each.answer(Delivery.ACCEPTED)
                receiver.drain()
                receiver.close()
        time.sleep(0.3)  # three times the interval of commits
    assert kafka.groups(history) <= known
    assert not any(kafka.committed(group, history) for group in ("$Default", "amqp-kafka-bridge"))


@pytest.mark.parametrize("offset", [0, EARLIEST - 1, RECORDS + 1])
def test_an_offset_that_is_not_there_is_refused_with_those_that_are(
    service: Service, history: str, offset: int
) -> None:
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            client.receiver(history, 1, "unsettled", Filters({PARTITION: 0, OFFSET: offset}))
        assert raised.value.condition == "amqp:precondition-failed"
        condition: Any = raised.value.link.remote_condition
        info = {str(name): value for name, value in condition.info.items()}
        assert (info["earliest"], info["latest"], info["topic"]) == (EARLIEST, RECORDS, history)
        assert info["retriable"] is False

        end = client.receiver(history, 1, "unsettled", Filters({PARTITION: 0, OFFSET: RECORDS}))
        assert end.drain() == []


MALFORMED: Final[dict[str, tuple[str, dict[str, object], dict[str, object]]]] = {
    "an unknown property": ("TOPIC/group.id/g", {}, {"x-opt-bridge.strat": "12h"}),
    "a property against a filter": ("TOPIC/group.id/g", {START: "earliest"}, {START: "latest"}),
    "a property for no partition": ("TOPIC", {}, {"x-opt-bridge.partition": "first"}),
    "a partition that is no number": (READER, {PARTITION: "0"}, {}),
    "a negative partition": ("TOPIC", {PARTITION: -1}, {}),
    "a partition that is not there": ("TOPIC", {PARTITION: 2}, {}),
    "an address with a partition that is not there": ("TOPIC/Partitions/2", {}, {}),
    "two partitions": (READER, {PARTITION: 1}, {}),
    "an offset that is no number": (READER, {OFFSET: "7"}, {}),
    "a negative offset": (READER, {OFFSET: -1}, {}),
    "two offsets": (READER, {OFFSET: 7, START: 8}, {}),
    "an offset without a partition": ("TOPIC", {OFFSET: 7}, {}),
    "an offset of a whole group": ("TOPIC/group.id/g", {START: 7}, {}),
    "a start that is none": (READER, {START: "tomorrow"}, {}),
    "a start of another type": (READER, {START: True}, {}),
    "a property that is none": (READER, {}, {START: "tomorrow"}),
    "a mode that is none": (READER, {}, {MODE: "peek"}),
    "event hubs, no offset of kafka": (HUB, position("x-opt-offset > '1:2:3'"), {}),
    "event hubs, no time": (HUB, position("x-opt-enqueued-time > 'noon'"), {}),
    "no group, no place": ("TOPIC", {}, {}),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_asks_for_no_place_is_refused_as_an_invalid_field(
    service: Service, history: str, name: str
) -> None:
    address, filters, properties = MALFORMED[name]
    options = Asked(0, filters, properties).options()
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            client.receiver(address.replace("TOPIC", history), 1, "unsettled", *options)
        assert raised.value.condition == "amqp:invalid-field"
        # The connection goes on.
        assert first(client.receiver(READER.replace("TOPIC", history), 1)) == EARLIEST


def test_unknown_filters_are_left_out_of_the_answer(service: Service, history: str) -> None:
    filters = {"com.example:unknown": "x", PARTITION: 0, START: "12h", "another": 5}
    with Client(service.amqp_port) as client:
        receiver = client.receiver(history, 1, "unsettled", Filters(filters))
        assert applied(receiver) == {PARTITION: 0, START: "12h"}
        assert first(receiver) == YOUNG


def test_routes_and_settings_say_where_receivers_begin_that_do_not_ask(
    kafka: RealKafka, history: str, start_service: StartService, tmp_path: Path
) -> None:
    routes = tmp_path / "routes.yaml"
    routes.write_text(
        "routes:\n"
        f'  - {{match: aged, topic: "{history}", start: 12h}}\n'
        f'  - {{match: whole, topic: "{history}", start: earliest}}\n',
        "utf-8",
    )
    topic = kafka.create_topic()
    kafka.produce(topic, [b"0"])
    service = start_service(kafka, sink_start="latest", routes_file=str(routes), errors_dialect="strimzi")
    with Client(service.amqp_port) as client:
        by_setting = client.receiver(f"{topic}/group.id/{topic}", 1)
        kafka.produce(topic, [b"1"])
        assert first(by_setting) == 1
        assert first(client.receiver("aged/Partitions/0", 1)) == YOUNG
        assert first(client.receiver("whole/Partitions/0", 1)) == EARLIEST
        assert first(client.receiver("aged/Partitions/0", 1, "unsettled", Filters({START: 9}))) == 9

        # The bridge before this one had names of its own for what is wrong.
        for name, address, options in (
            ("no-group-id", topic, []),
            ("wrong-offset-filter", f"{topic}/Partitions/0", [Filters({OFFSET: "7"})]),
        ):
            with pytest.raises(LinkDetached) as raised:
                client.receiver(address, 1, "unsettled", *options)
            assert raised.value.condition == f"io.strimzi:{name}"


def bodies(receiver: Receiver) -> list[dict[str, Any]]:
    """Drain a receiver of what a topic is told by; it is one map for each partition."""
    told: list[Any] = [each.message.body for each in receiver.drain()]
    return told


def test_who_asks_for_it_is_told_of_a_topic_and_how_far_a_group_is_behind(
    service: Service, kafka: RealKafka, history: str
) -> None:
    group = f"{history}-lag"
    with Client(service.amqp_port) as client:
        reader = client.receiver(f"{history}/group.id/{group}", 1, "unsettled", Filters({PARTITION: 0}))
        assert first(reader) == EARLIEST
        reader.close()
        wait_until(lambda: kafka.committed(group, history) == {0: EARLIEST + 1}, "the commit")

        topic = bodies(client.receiver(f"{history}/$info", 10))
        of_group = bodies(client.receiver(f"{history}/group.id/{group}/$info", 10, "settled"))

    assert [each["partition"] for each in topic] == [0, 1]
    assert [(each["earliest"], each["latest"]) for each in topic] == [(EARLIEST, RECORDS), (0, 1)]
    assert all(each["partitions"] == 2 and each["topic"] == history for each in topic)
    assert all(str(int(each["leader"])) in each["in-sync-replicas"].split(",") for each in topic)
    assert not any("lag" in each or "group" in each for each in topic)
    assert [(each["group"], each.get("committed"), each["lag"]) for each in of_group] == [
        (group, EARLIEST + 1, RECORDS - EARLIEST - 1),
        (group, None, 1),
    ]


def test_who_takes_only_small_messages_is_not_told_of_a_topic(service: Service, history: str) -> None:
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            client.receiver(f"{history}/$info", 1, "unsettled", Largest(50))
        assert raised.value.condition == "amqp:link:message-size-exceeded"


def test_keys_of_filters_are_symbols_and_their_descriptors_may_be_numbers(
    service: Service, history: str
) -> None:
    numbered = Described(ulong(0x468C_0000_0004), "amqp.annotation.x-opt-offset > '6'")
    with Client(service.amqp_port) as client:
        receiver = client.receiver(HUB.replace("TOPIC", history), 1, "unsettled", Filters({"any": numbered}))
        assert list(applied(receiver)) == [symbol("any")]
        assert first(receiver) == 7
