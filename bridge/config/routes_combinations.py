"""What a route says that cannot be meant together, or that bridge.properties does not allow. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bridge.config import dead_letters
from bridge.config.routes_schema import size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.config.settings import Settings

_STRIMZI: Final = frozenset({"strimzi", "strimzi-json"})
_VALUE_ONLY: Final = _STRIMZI | {"raw"}
_WITHOUT_EFFECT: Final[Mapping[tuple[str, object], frozenset[str]]] = {
    ("foreign_headers", "binary"): _STRIMZI | {"cloudevents"},
    ("foreign_headers", "string"): _STRIMZI,
    ("keep_delivery_annotations", True): _VALUE_ONLY,
    ("key_from_group_id", True): _STRIMZI,
    ("key_from_partition_key", True): _STRIMZI,
    ("timestamp", "creation-time"): _VALUE_ONLY,
    ("value", "json"): _VALUE_ONLY,
}
"""What a route asks for, and the mappings that cannot give it."""


def contradictions(says: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield a key that cannot be meant together with another one of the same route, that one, and why.

    `says` has the keys of the route as the file has them, each of the shape that the schema asks for.
    """
    yield from _of_deduplication(says)
    mapping = says.get("mapping")
    for (key, value), mappings in _WITHOUT_EFFECT.items():
        if mapping in mappings and says.get(key) == value:
            yield (key, "mapping"), f"{written(value)} has no effect with mapping: {mapping}; leave one out"
    if "max_skew" in says and says.get("timestamp") != "creation-time":
        yield ("max_skew", "timestamp"), "has no effect without timestamp: creation-time"
    if "failed_outcomes_containers" in says and says.get("failed_outcomes") != "all":
        message = "has no effect without failed_outcomes: all"
        yield ("failed_outcomes_containers", "failed_outcomes"), message
    yield from _of_dead_letters(says)


def beyond(says: Mapping[str, Any], settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield keys whose values bridge.properties does not allow or gives no effect, and why."""
    largest = settings.amqp.max_message_size_bytes
    if "max_message_size" in says and size(says["max_message_size"]) > largest:
        message = (
            f"{says['max_message_size']} is more than amqp.max.message.size.bytes ({largest}) of"
            " bridge.properties; a route can only lower it"
        )
        yield "max_message_size", message
    if "dead_letter" in says:
        return
    template = settings.sink.dead_letter_topic
    if "max_attempts" in says and template is None:
        message = (
            "has no effect without a dead-letter topic: name one, here with dead_letter or in"
            " bridge.properties with sink.dead.letter.topic"
        )
        yield "max_attempts", message
    if "rejected" in says and template is not None:
        message = (
            f"has no effect with sink.dead.letter.topic={template} of bridge.properties, which rejected"
            " records go to; leave it out, or write dead_letter: none as well"
        )
        yield "rejected", message


def written(value: object) -> str:
    """Return a value of the file on one line, for people."""
    match value:
        case bool():
            return str(value).lower()
        case list():
            return "[" + ", ".join(map(written, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{key}: {written(each)}" for key, each in value.items()) + "}"
        case _:
            return str(value)


def _of_deduplication(says: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    if "deduplicate" in says:
        if str(says.get("acks")) == "1":
            message = (
                "1 is not possible with deduplicate, which stores a message and the note about it in one"
                " transaction; leave one of the two out"
            )
            yield ("acks", "deduplicate"), message
        if says.get("mixed_settled") == "acks0":
            message = (
                "acks0 is not possible with deduplicate, as such messages are in no transaction; leave one"
                " of the two out"
            )
            yield ("mixed_settled", "deduplicate"), message
    elif "deduplicate_window" in says:
        message = "has no effect without deduplicate: message-id or delivery-tag"
        yield ("deduplicate_window", "deduplicate"), message


def _of_dead_letters(says: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    if "dead_letter" not in says:
        return
    dead_letter = says["dead_letter"]
    if dead_letter.lower() == dead_letters.NONE:
        if "max_attempts" in says:
            message = "has no effect with dead_letter: none, as records have nowhere to go then"
            yield ("max_attempts", "dead_letter"), message
        return
    if dead_letter == says.get("topic", says.get("match")):
        message = f"{dead_letter} is the topic of the route itself, which records would be taken out of"
        yield ("dead_letter", "topic"), message
    if "rejected" in says:
        message = "has no effect with a dead_letter, which rejected records go to; leave one of the two out"
        yield ("rejected", "dead_letter"), message
