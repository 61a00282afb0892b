"""What a receiver asks for with its attach, and what it is answered: filters, and the terminus that came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proton import Described, symbol
from proton.reactor import ReceiverOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proton import Link
    from support.blocking import Receiver


class Filters(ReceiverOption):
    """Attaches with a filter-set. A value that is not described has its name for a descriptor."""

    def __init__(self, filters: Mapping[str, object]) -> None:
        values: Mapping[str, Any] = filters
        self._filters: Any = {
            symbol(name): value if isinstance(value, Described) else Described(symbol(name), value)
            for name, value in values.items()
        }

    def apply(self, receiver: Link) -> None:
        """Set them."""
        receiver.source.filter.put_dict(self._filters)


class Largest(ReceiverOption):
    """Attaches with a max-message-size, in bytes."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes

    def apply(self, receiver: Link) -> None:
        """Set it."""
        receiver.max_message_size = self._size_bytes


def selector(text: str) -> Filters:
    """Ask for what a selector says, a JMS one or a position of Event Hubs."""
    return Filters({"apache.org:selector-filter:string": text})


def applied(receiver: Receiver) -> dict[str, object]:
    """Return the filters that the bridge's attach says are in place, without their descriptors."""
    data: Any = receiver.link.remote_source.filter
    data.rewind()
    if data.next() is None:
        return {}
    filters = data.get_object() or {}
    return {str(name): value.value for name, value in filters.items()}
