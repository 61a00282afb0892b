from __future__ import annotations

from typing import Final

import proton

from bridge.codec import Byte, Described, Int, Long, Map, Symbol, ULong, decode, encode
from bridge.mapping.topic_info import SUBJECT, messages
from bridge.model.topic_info import PartitionInfo, TopicInfo

LED: Final = PartitionInfo(0, 1, (1, 2, 3), (1, 3), 10, 100, 40)
LOST: Final = PartitionInfo(1, None, (2,), ())
INFO: Final = TopicInfo("plant.line1", (LED, LOST), "billing")
ADDRESS: Final = "plant/line1/group.id/billing/$info"
NOW_MS: Final = 1_700_000_000_123


def sections(message: bytes) -> dict[int, object]:
    """Give the values of a message's sections by their descriptors."""
    found: dict[int, object] = {}
    at = 0
    while at < len(message):
        section, at = decode(message, at)
        assert isinstance(section, Described)
        assert isinstance(section.descriptor, ULong)
        found[int(section.descriptor)] = section.value
    return found


def body(message: bytes) -> Map:
    value = sections(message)[0x77]
    assert isinstance(value, Map)
    return value


def test_each_partition_is_a_flat_map_in_order() -> None:
    one, two = messages(INFO, ADDRESS, NOW_MS)

    expected = [
        ("topic", "plant.line1"),
        ("partitions", Int(2)),
        ("partition", Int(0)),
        ("leader", Int(1)),
        ("replicas", "1,2,3"),
        ("in-sync-replicas", "1,3"),
        ("earliest", Long(10)),
        ("latest", Long(100)),
        ("group", "billing"),
        ("committed", Long(40)),
        ("lag", Long(60)),
    ]
    assert encode(body(one)) == encode(Map(expected)), "with these types"
    assert dict(body(two)) == {
        "topic": "plant.line1",
        "partitions": 2,
        "partition": 1,
        "replicas": "2",
        "in-sync-replicas": "",
        "group": "billing",
    }


def test_all_values_are_such_as_a_map_message_of_jms_may_have() -> None:
    for message in messages(INFO, ADDRESS, NOW_MS):
        assert encode(sections(message)[0x72]) == encode(Map(((Symbol("x-opt-jms-msg-type"), Byte(2)),)))
        assert {type(value) for _, value in body(message)} <= {str, Int, Long}
        assert {type(key) for key, _ in body(message)} == {str}


def test_of_no_group_nothing_is_told() -> None:
    [message] = messages(TopicInfo("t", (LED,)), "t/$info", NOW_MS)

    assert {"group", "committed", "lag"}.isdisjoint(dict(body(message)))


def test_a_lag_without_a_committed_offset_is_all_that_is_there() -> None:
    [message] = messages(TopicInfo("t", (PartitionInfo(0, 1, (1,), (1,), 10, 100),), "g"), "a", NOW_MS)

    told = dict(body(message))
    assert "committed" not in told
    assert told["lag"] == 90


def test_a_lag_counts_what_is_still_there() -> None:
    lags = [PartitionInfo(0, 1, (1,), (1,), 10, 100, committed).lag for committed in (10, 5, 100, 120)]

    assert lags == [90, 90, 0, 0]
    assert LOST.lag is None


def test_proton_reads_it() -> None:
    message = proton.Message()
    message.decode(messages(INFO, ADDRESS, NOW_MS)[0])

    assert (message.address, message.subject, message.creation_time) == (ADDRESS, SUBJECT, NOW_MS / 1000)
    assert isinstance(message.body, dict)
    assert (message.body["topic"], message.body["earliest"]) == ("plant.line1", 10)
    assert message.inferred is False
