"""Which filters choose among messages, and the predicate that each one stands for.

A filter is known by its descriptor (core 3.5.8), as symbol or number. Clients that send plain values
mean one by the key in the filter-set: the name of the descriptor, or a key that is usual for it.
Filters by place (`bridge.filters.reading`) and unknown ones are none of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.codec import Described
from bridge.filters import properties, subjects
from bridge.filters.errors import FilterError, quoted
from bridge.filters.selector import selector, sql_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.filters.contract import Predicate

_Make: TypeAlias = "Callable[[object], Predicate]"


def _of_text(make: Callable[[str], Predicate]) -> _Make:
    def of_value(value: object) -> Predicate:
        if not isinstance(value, str):
            raise FilterError(f"the filter holds a text, found {quoted(value)}")
        return make(str(value))

    return of_value


_KNOWN: Final[tuple[tuple[str, int, _Make], ...]] = (
    ("apache.org:legacy-amqp-direct-binding:string", 0x0000468C_00000000, _of_text(subjects.direct)),
    ("apache.org:legacy-amqp-topic-binding:string", 0x0000468C_00000001, _of_text(subjects.topic)),
    ("apache.org:selector-filter:string", 0x0000468C_00000004, _of_text(selector)),
    ("amqp:sql-filter", 0x120, _of_text(sql_filter)),
    ("amqp:properties-filter", 0x173, properties.properties),
    ("amqp:application-properties-filter", 0x174, properties.application_properties),
)
"""Apache filters for AMQP 1.0, and OASIS Filter Expressions 1.0, 4.2.4, 4.2.5 and 6.1."""

_BY_NAME: Final[Mapping[str, _Make]] = {name: make for name, _, make in _KNOWN}
_BY_CODE: Final[Mapping[int, _Make]] = {code: make for _, code, make in _KNOWN}
_BY_KEY: Final[Mapping[str, _Make]] = {
    **_BY_NAME,
    "jms-selector": _of_text(selector),
    "string": _of_text(selector),  # as some clients for Azure Event Hubs call it
}


def predicate(key: str, value: object) -> Predicate | None:
    """Make the predicate of one entry of a filter-set; None for a filter that is not known here.

    `value` is as `bridge.codec` decodes it. Raises FilterError for a known filter that is malformed.
    """
    if isinstance(value, Described):
        make, value = _described(value.descriptor), value.value
    else:
        make = _BY_KEY.get(key)
    if make is None:
        return None
    try:
        return make(value)
    except FilterError as error:
        raise FilterError(f"the filter {quoted(key)}: {error.description}") from None


def _described(descriptor: object) -> _Make | None:
    if isinstance(descriptor, str):
        return _BY_NAME.get(descriptor)
    return _BY_CODE.get(descriptor) if isinstance(descriptor, int) else None
