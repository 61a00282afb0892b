"""Key and partition of the record that a decoded message becomes, for every profile alike.

The rules are those of `bridge.mapping.annotations`, which reads the annotations for `native` as
well: the first annotation that names a key gives it, then group-id; the partition is the one asked
for by an annotation. A message that a bridge delivered before also says what its record had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.codec import encode
from bridge.mapping import hop, names
from bridge.mapping.annotations import AnnotationsReader, Hop, target_partition
from bridge.mapping.errors import MappingError
from bridge.mapping.record import ANY_PARTITION
from bridge.mapping.to_text import MALFORMED, READ
from bridge.model import conditions

if TYPE_CHECKING:
    from bridge.mapping.message import Message
    from bridge.mapping.options import MappingOptions


class Routed(NamedTuple):
    """Where a message goes: key, partition (-1: the partitioner chooses), and its earlier passage.

    `passage` is None unless the message came from a bridge; `bridge.mapping.hop` reads it:
    `hop.sent_message` undoes what was filled in, `hop.verbatim` gives the record's headers, if they
    are listed.
    """

    key: bytes | None
    partition: int
    passage: Hop | None


class Router:
    """Reads key and partition. One for each link: it remembers annotations that repeat."""

    def __init__(self, options: MappingOptions) -> None:
        self._annotations = AnnotationsReader(options)
        self._key_from_group_id = options.key_from_group_id

    def route(self, message: Message) -> Routed:
        """Read where a message goes.

        Raises MappingError: `amqp:invalid-field` for a key or partition of the wrong type,
        `amqp:resource-limit-exceeded` for more annotations than a record may have headers.
        """
        try:
            found, _ = self._annotations.read(encode(message.message_annotations), 0)
            asked, _ = target_partition(encode(message.delivery_annotations), 0)
        except MALFORMED as error:
            raise MappingError(conditions.DECODE_ERROR, f"the annotations are not valid: {error}") from error
        _, _, key, partition, passage, _ = found
        if partition == ANY_PARTITION:
            partition = asked
        if passage is not None and names.OFFSET in passage:
            return Routed(hop.record_key(passage), partition, passage)
        group_id = message.properties.get("group-id")
        if key is None and group_id is not None and self._key_from_group_id:
            encoded = encode(group_id)
            key = READ[encoded[0]](encoded, 1)[0]
        return Routed(key, partition, passage)
