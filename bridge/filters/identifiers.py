"""The names in a selector: which part of a message each one stands for.

In selectors (JMS 2.0, 3.8.1.1) a name is that of an application-property, but for these:

- `JMS...`: what Qpid JMS shows for a header field or JMSX property of that name, so that a selector
  finds the messages whose getters would give the value: ids that are no text or lack the prefix `ID:`
  are written as Qpid JMS writes them (`ID:AMQP_NO_PREFIX:...`, `ID:AMQP_UUID:...`, `ID:AMQP_ULONG:...`,
  `ID:AMQP_BINARY:...`). The body is as that client has it, and as the Qpid brokers compare it.
- `amqp.annotation.<name>`: a message-annotation, as with Azure Event Hubs; `amqp.properties.<name>`: a
  field of the properties.
- `amqp.<field>`: a field of the header or properties, hyphens as underscores, as in the Qpid brokers.

In the SQL filters of OASIS (Filter Expressions 1.0) a name may begin with a section: `header.` or `h.`,
`properties.` or `p.`, `application_properties.` or `a.`, `message_annotations.` or `m.`.

A name that is written between quotes or brackets is always an application-property's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

from bridge.codec import ULong
from bridge.filters.errors import FilterError, quoted
from bridge.filters.values import CONVERSIONS, comparable
from bridge.mapping.message import HEADER
from bridge.mapping.names import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.filters.view import View

Getter: TypeAlias = "Callable[[View], object]"
"""Gives a value as selectors see it (`bridge.filters.values`)."""

_ANNOTATION: Final = "amqp.annotation."
_PROPERTY: Final = "amqp.properties."
_FIELD: Final = "amqp."
_DEFAULTS: Final[Mapping[str, object]] = {"durable": False, "priority": 4, "delivery-count": 0}
"""Of the header (core 3.2.1)."""

_ID: Final = "ID:"
_ESCAPED: Final = tuple(f"{_ID}AMQP_{kind}:" for kind in ("BINARY", "UUID", "ULONG", "STRING", "NO_PREFIX"))


def application_property(name: str) -> Getter:
    """Give the getter of an application-property."""
    convert_of = CONVERSIONS.get

    def get(view: View) -> object:
        value = view.application_property(name)
        convert = convert_of(type(value))
        return value if convert is None else convert(value)

    return get


def in_selector(name: str) -> Getter:
    """Give the getter of a name in a selector; raises FilterError for `amqp.` and no such field."""
    jms = _JMS.get(name)
    if jms is not None:
        return jms
    if name.startswith(_ANNOTATION):
        return _annotation(name.removeprefix(_ANNOTATION))
    if name.startswith(_PROPERTY):
        return _properties(name.removeprefix(_PROPERTY), name)
    if name.startswith(_FIELD):
        field = name.removeprefix(_FIELD)
        return _QPID.get(field) or (
            _header(field, name) if field.replace("_", "-") in HEADER else _properties(field, name)
        )
    return application_property(name)


def in_sql_filter(name: str) -> Getter:
    """Give the getter of a name in a SQL filter; raises FilterError for a section without such a field."""
    section, dot, field = name.partition(".")
    if not dot:
        return application_property(name)
    match section.lower():
        case "header" | "h":
            return _header(field, name)
        case "properties" | "p":
            return _properties(field, name)
        case "application_properties" | "application-properties" | "a":
            return application_property(field)
        case "message_annotations" | "message-annotations" | "m":
            return _annotation(field)
        case _:
            raise FilterError(
                f"{quoted(name)} is in no section that is looked into: header, properties,"
                " application_properties, message_annotations"
            )


def _annotation(name: str) -> Getter:
    def get(view: View) -> object:
        return comparable(view.message_annotation(name))

    return get


def _header(field: str, name: str) -> Getter:
    field = field.replace("_", "-")
    if field not in HEADER:
        raise FilterError(f"{quoted(name)}: the header has no such field; it has {', '.join(HEADER)}")
    default = _DEFAULTS.get(field)

    def get(view: View) -> object:
        value = view.header(field)
        return default if value is None else comparable(value)

    return get


def _properties(field: str, name: str) -> Getter:
    field = field.replace("_", "-")
    if field not in PROPERTIES:
        raise FilterError(
            f"{quoted(name)}: the properties have no such field; they have {', '.join(PROPERTIES)}"
        )

    def get(view: View) -> object:
        return comparable(view.properties(field))

    return get


def _id(value: object) -> object:
    """Write an id that is no text, and escape one that looks as if it were such, as Qpid JMS does."""
    if isinstance(value, UUID):
        return f"{_ID}AMQP_UUID:{value}"
    if isinstance(value, ULong):
        return f"{_ID}AMQP_ULONG:{int(value)}"
    if isinstance(value, bytes):
        return f"{_ID}AMQP_BINARY:{value.hex().upper()}"
    if isinstance(value, str) and value.startswith(_ESCAPED):
        return f"{_ID}AMQP_STRING:{value}"
    return value


def _message_id(view: View) -> object:
    value = view.properties("message-id")
    if isinstance(value, str) and not value.startswith(_ID):
        return f"{_ID}AMQP_NO_PREFIX:{value}"
    return _id(value)


def _correlation_id(view: View) -> object:
    return _id(view.properties("correlation-id"))


def _delivery_mode(view: View) -> object:
    return "PERSISTENT" if view.header("durable") is True else "NON_PERSISTENT"


def _attempts(view: View) -> int:
    count = view.header("delivery-count")
    return count if isinstance(count, int) else 0


def _delivery_count(view: View) -> object:
    return _attempts(view) + 1


def _redelivered(view: View) -> object:
    return _attempts(view) > 0


def _time(field: str) -> Getter:
    def get(view: View) -> object:
        value = view.properties(field)
        return 0 if value is None else comparable(value)

    return get


_JMS: Final[Mapping[str, Getter]] = {
    "JMSMessageID": _message_id,
    "JMSCorrelationID": _correlation_id,
    "JMSType": _properties("subject", ""),
    "JMSPriority": _header("priority", ""),
    "JMSTimestamp": _time("creation-time"),
    "JMSExpiration": _time("absolute-expiry-time"),
    "JMSDeliveryMode": _delivery_mode,
    "JMSRedelivered": _redelivered,
    "JMSDestination": _properties("to", ""),
    "JMSReplyTo": _properties("reply-to", ""),
    "JMSXGroupID": _properties("group-id", ""),
    "JMSXGroupSeq": _properties("group-sequence", ""),
    "JMSXDeliveryCount": _delivery_count,
    "JMSXUserID": _properties("user-id", ""),
}

_QPID: Final[Mapping[str, Getter]] = {"delivery_mode": _delivery_mode, "redelivered": _redelivered}
"""Fields of the Qpid brokers that no section has."""
