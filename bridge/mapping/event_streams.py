"""Whether a peer speaks OASIS Event Stream Extensions for AMQP 1.0, so that deliveries get their annotations.

The specification (committee specification draft 01) has one capability, of the connection (3.1), and adds
the delivery-annotations `event-streams-offset`, `-timestamp` and `-source-partition` to all deliveries
(4.4, 5.1). Nobody else needs them, and they cost bytes: so only peers get them that ask for the
capability, in their open or among the capabilities of a link's source, or that use what the extension
defines: its link properties or filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

CAPABILITY: Final = "AMQP_EVENT_STREAMS_V1_0"
"""The bridge offers it in its open (`offered-capabilities`), peers desire or offer it in theirs."""

_PROPERTY_PREFIX: Final = "event-streams-"
_FILTER_PREFIXES: Final = ("amqp:event-streams-", "event-streams-")


def desired(capabilities: Iterable[str], properties: Iterable[str], filters: Iterable[str]) -> bool:
    """Tell whether a receiver's link is to have them: `MappingOptions.event_streams`.

    `capabilities` are those that the peer desires or offers in its open, and those of the link's source,
    `properties` the names of the link's properties, `filters` the keys of its source's filter-set and the
    symbolic descriptors of the filters.
    """
    return (
        CAPABILITY in capabilities
        or any(name.startswith(_PROPERTY_PREFIX) for name in properties)
        or any(name.startswith(_FILTER_PREFIXES) for name in filters)
    )
