"""Names of dead-letter topics: their templates, and which topic has which. Pure.

A template is the name of a topic, in which `{topic}` may stand for the topic that a record comes from.
"""

from __future__ import annotations

import re
from typing import Final

from bridge.addressing import AddressError, names

TOPIC: Final = "{topic}"
NONE: Final = "none"
"""What a route says that wants no dead-letter topic."""

_NOT_IN_A_TOPIC: Final = re.compile(r"[^A-Za-z0-9._-]")


def check_template(text: str) -> str:
    """Return a template as it is; raise ValueError with a clause if no topic of Kafka could come of it."""
    fixed = text.replace(TOPIC, "", 1)
    if not fixed and text:
        raise ValueError(
            f"{names.quoted(text)} is the topic itself; write something beside it, as in: {TOPIC}.dlt"
        )
    found = _NOT_IN_A_TOPIC.search(fixed)
    if found is not None:
        if TOPIC in fixed:
            advice = f"{TOPIC} may stand in it once"
        elif found[0] in "{}":
            advice = f"the one thing that stands in braces is the topic, as in: {TOPIC}.dlt"
        elif found[0] == "/":
            advice = "write '.'"
        else:
            advice = "a topic has letters A-Z and a-z, digits, '.', '_' and '-'"
        raise ValueError(f"{names.quoted(text)} has {found[0]!r}, which no topic of Kafka has: {advice}")
    longest = names.LONGEST_TOPIC - (1 if TOPIC in text else 0)
    if len(fixed) > longest:
        raise ValueError(f"makes names that are too long; Kafka allows {names.LONGEST_TOPIC} characters")
    if text in {".", ".."}:
        raise ValueError(f"Kafka allows no topic named {names.quoted(text)}")
    return text


def topic_for(topic: str, template: str | None) -> str | None:
    """Return the dead-letter topic for records of `topic`; None if they have none.

    They have none without a template, and where `topic` itself could be made by it: it is such a topic
    then, and what receivers refuse of it does not go on to another (`orders.dlt.dlt`), nor back into it.

    Raises AddressError if Kafka could have no topic of that name, since it would be too long.
    """
    if template is None or _makes(template, topic):
        return None
    made = template.replace(TOPIC, topic)
    try:
        return names.topic(made)
    except AddressError as error:
        raise names.invalid(
            f"the bridge's template for dead-letter topics makes {names.quoted(made)} of"
            f" {names.quoted(topic)}, and Kafka can have none of that name: {error.description}"
        ) from error


def _makes(template: str, topic: str) -> bool:
    before, found, after = template.partition(TOPIC)
    if not found:
        return topic == template
    return len(topic) > len(before + after) and topic.startswith(before) and topic.endswith(after)
