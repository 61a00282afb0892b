"""Profile native: AMQP messages to Kafka records and back. What a link's code calls is here.

`message_to_record(options)` makes the one function, `record_to_message(topic, address, options)`
the other. `docs/mapping.md` tells which part of a message is stored where.

Two laws hold, and are tested as properties:

1. A message that is stored and read back is the same message, in all of its sections.
2. A record that is read and stored again has the same key, value and headers, in their order.

The exceptions to the first, all of them:

- Delivery-annotations, and the message-annotations `x-opt-bridge.*`, `x-opt-kafka-*`,
`x-opt-offset`,
  `x-opt-sequence-number` and `x-opt-enqueued-time`, describe one hop: they are not stored, and the
  bridge sends its own.
- Header: durable is always true, as the record is stored; first-acquirer and delivery-count are
those of
  the delivery; a ttl is shortened by the record's age. A field that has its default may come back
  absent.
- Properties and annotations that the message did not have may be filled in: `to` by the link's
address,
  creation-time by the record's CreateTime (only where no header shows that the bridge wrote the
  record), `x-opt-partition-key` by the record's key.
- Widths of encoding: where a value is made anew from its text it has the shortest one. The payload
of a
  NaN, an empty section and a null property count as nothing. Keys of annotations that are strings
  come back as the symbols that they should have been; a data section may have its length in 1 or 4
  bytes.

The exceptions to the second: a header whose name holds a NUL (librdkafka could not carry it), and a
value in tagged JSON, which is written as such only with `value_as_json`.
"""

from __future__ import annotations

from bridge.mapping.errors import MappingError
from bridge.mapping.options import MappingOptions
from bridge.mapping.record import Record
from bridge.mapping.to_message import RecordToMessage, record_to_message
from bridge.mapping.to_record import message_to_record

__all__ = [
    "MappingError",
    "MappingOptions",
    "Record",
    "RecordToMessage",
    "message_to_record",
    "record_to_message",
]
