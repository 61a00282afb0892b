"""What a deduplicating producer itself says of a message or a link, beside what Kafka says. Data only."""

from __future__ import annotations

from typing import Final

from bridge.model import conditions
from bridge.model.failures import Failure, Stored

STOLEN: Final = Failure(
    "_FENCED",
    -144,
    "the link was attached elsewhere",
    conditions.LINK_STOLEN,
    retriable=True,
    stored=Stored.PERHAPS,
)
CLOSED: Final = Failure(
    "_DESTROY",
    -197,
    "the link ended before Kafka had decided",
    conditions.LINK_DETACH_FORCED,
    retriable=True,
    stored=Stored.PERHAPS,
)


def timed_out(stored: Stored) -> Failure:
    """Say that a message has waited as long as it may."""
    return Failure(
        "_MSG_TIMED_OUT",
        -192,
        "Kafka: the transaction was not decided in time",
        conditions.INTERNAL_ERROR,
        retriable=True,
        stored=stored,
    )


def too_many_links(links_max: int) -> Failure:
    """Say that no more links are allowed. It has no `kafka_error`: Kafka has not been asked."""
    return Failure(
        "",
        -1,
        f"{links_max} links with deduplication are attached here, no more are allowed",
        conditions.RESOURCE_LIMIT_EXCEEDED,
        retriable=False,
        stored=Stored.NO,
    )
