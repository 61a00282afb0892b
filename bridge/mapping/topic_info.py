"""The answer to a receiver that attaches to `<topic>/$info`: one message for each partition. Pure.

Each body is an amqp-value with a flat map, as in a row of what Kafka's own tools print, and each is marked as
a MapMessage of JMS. JMS allows neither lists nor maps as a map's values, nor unsigned numbers, so that one
message with all partitions could not be read by every client; a flat one can.

| key | AMQP type | |
|---|---|---|
| `topic` | string | the topic in Kafka, after routes were applied |
| `partitions` | int | how many there are, and so how many messages |
| `partition` | int | the number of this one, from 0; they come in order |
| `leader` | int | the broker that leads it; not there if none does |
| `replicas`, `in-sync-replicas` | string | brokers: `1,2,3` |
| `earliest` | long | the offset of the first record that is there |
| `latest` | long | the offset after the last record that can be read |
| `group` | string | the consumer group, if the address names one |
| `committed` | long | the offset that it reads next; not there if it has committed none |
| `lag` | long | how far `latest` is ahead of it, from `earliest` where it has committed nothing |

What is not known is left out: the offsets of a partition that has no leader, for example.

Source: AMQP 1.0 core, section 3.2 (sections of a message); Qpid JMS's mapping, `x-opt-jms-msg-type`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.codec import Byte, Described, Int, Long, Map, Symbol, Timestamp, ULong, encode

if TYPE_CHECKING:
    from bridge.model.topic_info import PartitionInfo, TopicInfo

SUBJECT: Final = "topic-info"

_MESSAGE_ANNOTATIONS: Final = ULong(0x72)
_PROPERTIES: Final = ULong(0x73)
_AMQP_VALUE: Final = ULong(0x77)
_JMS_MAP_MESSAGE: Final = Map(((Symbol("x-opt-jms-msg-type"), Byte(2)),))


def messages(info: TopicInfo, address: str, now_ms: int) -> list[bytes]:
    """Return the encoded messages, in the order of partitions.

    `address` is that of the link, as the receiver wrote it, for the property `to`; `now_ms` the time at
    which Kafka was asked, in milliseconds since the epoch, for the property creation-time.
    """
    # message-id, user-id, to, subject, reply-to, correlation-id, content-type, content-encoding,
    # absolute-expiry-time, creation-time
    properties = [None, None, address, SUBJECT, None, None, None, None, None, Timestamp(now_ms)]
    head = encode(Described(_MESSAGE_ANNOTATIONS, _JMS_MAP_MESSAGE)) + encode(
        Described(_PROPERTIES, properties)
    )
    return [head + encode(Described(_AMQP_VALUE, _body(info, each))) for each in info.partitions]


def _body(info: TopicInfo, partition: PartitionInfo) -> Map:
    entries: dict[str, object] = {
        "topic": info.topic,
        "partitions": Int(len(info.partitions)),
        "partition": Int(partition.partition),
        "leader": None if partition.leader is None else Int(partition.leader),
        "replicas": _brokers(partition.replicas),
        "in-sync-replicas": _brokers(partition.in_sync_replicas),
        "earliest": _offset(partition.earliest),
        "latest": _offset(partition.latest),
    }
    if info.group is not None:
        entries |= {
            "group": info.group,
            "committed": _offset(partition.committed),
            "lag": _offset(partition.lag),
        }
    return Map((key, value) for key, value in entries.items() if value is not None)


def _brokers(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _offset(value: int | None) -> Long | None:
    return None if value is None else Long(value)
