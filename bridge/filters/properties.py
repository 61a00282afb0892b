"""The property filters of OASIS (AMQP Filter Expressions 1.0, committee draft 01, sections 4.1-4.2).

`amqp:properties-filter` and `amqp:application-properties-filter` hold maps from the names of fields to
reference values; a message is wanted if each of these fields matches. A field matches (4.1.1) if

- the reference value is null;
- both are numbers, of any AMQP types, and equal;
- both are texts, and the field begins with what follows `&p:` in the reference value, or ends with what
  follows `&s:`; `&&` stands for a first `&`, and no other text may begin with one;
- both are of the same type, and equal. Strings and symbols count as one type here, since senders
  choose freely between them, and so do timestamps and numbers.

As in RabbitMQ, a field of the application-properties has to be there even where null is its reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

from bridge.codec import Decimal32, Decimal64, Decimal128, Map, Timestamp
from bridge.filters.errors import FilterError, quoted
from bridge.filters.values import CATEGORY, NUMBERS, TEXTS
from bridge.mapping.names import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.filters.contract import Predicate
    from bridge.filters.view import View

FIELDS_MAX: Final = 64
"""How many fields a filter may name."""

_Matches: TypeAlias = Callable[[object], bool]

_INTEGERS: Final = NUMBERS - {int, float}
_IDS: Final[frozenset[type]] = frozenset((UUID, bytes)) | _INTEGERS | TEXTS
_TYPES: Final[Mapping[str, frozenset[type]]] = {
    "string": TEXTS,
    "symbol": TEXTS,
    "binary": frozenset((bytes,)),
    "timestamp": _INTEGERS | {Timestamp},
    "uint": _INTEGERS,
}
"""What may be compared with a field of the properties, by the type that it has."""

_SIMPLE: Final[frozenset[type]] = frozenset(CATEGORY) | {UUID, Decimal32, Decimal64, Decimal128}


def properties(value: object) -> Predicate:
    """Make the predicate of a properties filter; raises FilterError for a malformed one."""
    wanted = []
    for key, reference in _pairs(value):
        if key not in PROPERTIES:
            raise FilterError(
                f"{quoted(key)}: the properties have no such field; they have {', '.join(PROPERTIES)}"
            )
        kinds = _IDS if key in {"message-id", "correlation-id"} else _TYPES[PROPERTIES[key]]
        if reference is not None and type(reference) not in kinds:
            raise FilterError(
                f"{key} is never a {type(reference).__name__}, as which {quoted(reference)} came"
            )
        wanted.append((key, _matching(key, reference)))

    def is_wanted(view: View) -> bool:
        return all(matches(view.properties(key)) for key, matches in wanted)

    return is_wanted


def application_properties(value: object) -> Predicate:
    """Make the predicate of an application-properties filter; raises FilterError for a malformed one."""
    wanted = [(key, _matching(key, reference)) for key, reference in _pairs(value)]

    def is_wanted(view: View) -> bool:
        return all(
            view.has_application_property(key) and matches(view.application_property(key))
            for key, matches in wanted
        )

    return is_wanted


def _pairs(value: object) -> list[tuple[str, object]]:
    if not isinstance(value, Map):
        raise FilterError(f"the filter holds a map of fields, found {quoted(value)}")
    if len(value) > FIELDS_MAX:
        raise FilterError(f"the filter names {len(value)} fields; {FIELDS_MAX} are allowed")
    pairs = []
    for key, reference in value:
        if not isinstance(key, str):
            raise FilterError(f"a field has a text for its name, found {quoted(key)}")
        pairs.append((str(key), reference))
    return pairs


def _matching(key: str, reference: object) -> _Matches:
    if reference is None:
        return _anything
    if type(reference) not in _SIMPLE:
        raise FilterError(f"{quoted(key)}: a {type(reference).__name__} cannot be compared")
    if type(reference) in TEXTS:
        return _text(key, str(reference))
    kinds = CATEGORY.get(type(reference), frozenset((type(reference),)))

    def equals(value: object) -> bool:
        return type(value) in kinds and value == reference

    return equals


def _anything(_value: object) -> bool:
    return True


def _text(key: str, reference: str) -> _Matches:
    modifier, rest = reference[:3], reference[3:]
    if modifier == "&p:":
        return lambda value: isinstance(value, str) and value.startswith(rest)
    if modifier == "&s:":
        return lambda value: isinstance(value, str) and value.endswith(rest)
    if reference.startswith("&&"):
        reference = reference[1:]
    elif reference.startswith("&"):
        raise FilterError(
            f"{quoted(key)}: {quoted(reference)} begins with an unknown modifier; there are &p: for a"
            " prefix, &s: for a suffix and && for an ampersand"
        )
    return lambda value: isinstance(value, str) and value == reference
