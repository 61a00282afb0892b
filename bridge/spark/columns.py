"""The columns that Spark sees of a bridged topic: name, type, meaning, and the SQL that computes each.

This table is the one place where they are defined: the reader, the schema and the ingestion are
made from it, the guide is compared with it. The expressions are Spark's own (no Python runs for
a record), hold under ANSI mode and never fail a query: a header that is missing, null or damaged
gives NULL. Of several headers with one name the last counts, as everywhere in Kafka.

Which header carries what is the native profile of the message mapping. Never imports pyspark, so
it can be read and tested without Java.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bridge.mapping import names

# A timestamp outside Spark's range (years 1 to 9999) would fail its readers, if not the query.
_MIN_MILLIS: Final = -62_135_596_800_000
_MAX_MILLIS: Final = 253_402_300_799_999
_MAX_UINT: Final = 4_294_967_295


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type in Spark's DDL, the SQL that computes it, what it means to a reader.

    A `derived` column repeats what `key`, `value` or `headers` hold: it is computed when it is read,
    and not stored.
    """

    name: str
    type: str
    sql: str
    meaning: str
    nullable: bool = True
    derived: bool = False


def _utf8(binary: str) -> str:
    """Return SQL for bytes as text; NULL for what is not UTF-8."""
    return f"try_validate_utf8(CAST({binary} AS STRING))"


def _value_of(name: str) -> str:
    """Return SQL for the bytes of the last header with that name; NULL if there is none."""
    return f"get(_values, CAST(array_position(_names, {name}) AS INT) - 1)"


def _header(name: str) -> str:
    return _value_of(f"'{name}'")


def _text(name: str) -> str:
    return _utf8(_header(name))


def _number(name: str) -> str:
    return f"try_cast({_text(name)} AS BIGINT)"


def _within(number: str, low: int, high: int) -> str:
    # Not BETWEEN, for which Spark makes a projection of its own.
    return f"CASE WHEN {number} >= {low} AND {number} <= {high} THEN {number} END"


def _timestamp(millis: str) -> str:
    return f"timestamp_millis({_within(millis, _MIN_MILLIS, _MAX_MILLIS)})"


def _identifier(name: str, binary: str) -> str:
    """Return SQL for an identifier: string, ulong and uuid are text, binary becomes hexadecimal."""
    is_binary = f"contains(_types, ';{name}=binary;')"
    return f"CASE WHEN {is_binary} THEN lower(hex({binary})) ELSE {_utf8(binary)} END"


def _has_prefix(name: str, *prefixes: str) -> str:
    return "(" + " OR ".join(f"startswith({name}, '{prefix}')" for prefix in prefixes) + ")"


_RESERVED: Final = ", ".join(
    f"'{name}'" for name in (*names.PROPERTIES, names.TYPES_HEADER, names.EVENT_HUBS_MARKER)
)
_SECTIONS: Final = (names.BRIDGE_PREFIX, names.OPTIONAL_PREFIX)
# `app.` stands before a name that means something else. Elsewhere, as in the `app.version` of
# a record that never passed the bridge, it is part of the name.
_REST: Final = "substr(name, 5)"
_IS_ESCAPED: Final = (
    f"(startswith(name, 'app.') AND ({_REST} IN ({_RESERVED}) OR {_has_prefix(_REST, *_SECTIONS, 'app.')}))"
)
# Such an `app.version` gives way where there is `app.app.version` too: both would be one entry, and
# Spark's maps fail on a repeated key unless the session sets `spark.sql.mapKeyDedupPolicy`.
_GIVES_WAY: Final = (
    f"startswith(name, 'app.') AND NOT {_IS_ESCAPED} AND array_contains(_names, concat('app.', name))"
)
_BODY_PATTERN: Final = "^(data(;[0-9]+(,[0-9]+)*)?|value;[a-z0-9]+|sequence;[0-9]+|none)$"

# What several columns need, in the order in which it can be computed. Each dictionary is one
# projection; Spark does not merge them, since that would repeat the work.
STEPS: Final[tuple[dict[str, str], ...]] = (
    # Newest first, so that the first match is the last header.
    {"_names": "reverse(headers.key)", "_values": "reverse(headers.value)"},
    {
        "_body": _text(names.BODY_HEADER),
        "_hints": _text(names.TYPES_HEADER),
        "_message_id": _header("message-id"),
        "_correlation_id": _header("correlation-id"),
        "_expiry_millis": _number("absolute-expiry-time"),
        "_creation_millis": _number("creation-time"),
        "_group_sequence": _number("group-sequence"),
        # array_except lets each name through once.
        "_application_names": f"reverse(filter(array_except(_names, array({_RESERVED})), "
        f"name -> NOT {_has_prefix('name', *_SECTIONS)} AND NOT ({_GIVES_WAY})))",
    },
    {
        "_body_parts": "CASE WHEN _body IS NULL "
        "THEN if(value IS NULL, array('value', 'null'), array('data')) "
        f"WHEN _body RLIKE '{_BODY_PATTERN}' THEN split(_body, ';') END",
        "_types": "CASE WHEN startswith(concat(_hints, ';'), 'v1;') THEN concat(_hints, ';') END",
    },
    {"_type_pairs": "reverse(filter(split(_types, ';'), pair -> pair RLIKE '^[^=]+=[a-z0-9]+$'))"},
    {
        # Percent-encoding leaves + as it is; form decoding, which Spark has, makes it a space.
        "_type_names": "transform(_type_pairs, pair -> "
        "try_url_decode(replace(substring_index(pair, '=', 1), '+', '%2B')))"
    },
    {"_typed_names": "reverse(array_compact(array_distinct(_type_names)))"},
)

_APPLICATION_PROPERTIES: Final = f"""\
map_from_arrays(
    transform(_application_names, name -> if({_IS_ESCAPED}, {_REST}, name)),
    transform(_application_names, name -> {_utf8(_value_of("name"))}))"""
_AMQP_TYPES: Final = """\
map_from_arrays(
    _typed_names,
    transform(_typed_names, name -> substring_index(
        get(_type_pairs, CAST(array_position(_type_names, name) AS INT) - 1), '=', -1)))"""

COLUMNS: Final[tuple[Column, ...]] = (
    Column("topic", "STRING", "topic", "Kafka topic."),
    Column("partition", "INT", "partition", "Partition of the topic."),
    Column("offset", "BIGINT", "offset", "Offset in the partition."),
    Column(
        "timestamp",
        "TIMESTAMP",
        "timestamp",
        "Time of the record: when it was made or when the broker got it, as `timestamp_type` says.",
    ),
    Column(
        "timestamp_type",
        "STRING",
        "CASE timestampType WHEN 0 THEN 'CreateTime' WHEN 1 THEN 'LogAppendTime' END",
        "`CreateTime` or `LogAppendTime`, a setting of the topic.",
    ),
    Column("key", "BINARY", "key", "Record key as bytes."),
    Column(
        "key_text",
        "STRING",
        _utf8("key"),
        "Record key as text; NULL if it is not UTF-8.",
        derived=True,
    ),
    Column("value", "BINARY", "value", "Body as bytes; NULL for a tombstone."),
    Column(
        "value_text",
        "STRING",
        "CASE WHEN get(_body_parts, 0) <> 'sequence' "
        "AND coalesce(get(_body_parts, 1), '') <> 'amqp' "
        f"THEN {_utf8('value')} END",
        "Body as text: data that is UTF-8, and every simple AMQP value (numbers in decimal, "
        "timestamps as milliseconds, UUIDs in their usual form). NULL for other bytes and for what "
        "is AMQP-encoded.",
        derived=True,
    ),
    Column(
        "tombstone",
        "BOOLEAN",
        "value IS NULL",
        "Whether the record deletes its key: AMQP's null body, Kafka's null value.",
        nullable=False,
    ),
    Column(
        "body_kind",
        "STRING",
        "get(_body_parts, 0)",
        "Section of the AMQP body: `data`, `value`, `sequence` or `none`. NULL if the header that "
        "tells is damaged.",
    ),
    Column(
        "body_type",
        "STRING",
        "CASE WHEN get(_body_parts, 0) = 'value' THEN get(_body_parts, 1) END",
        "AMQP type of a `value` body (`string`, `int`, `uuid`, `null` ...); `amqp` if it is a map, "
        "list, array or described value in AMQP's own encoding. NULL for other kinds.",
    ),
    Column(
        "message_id",
        "STRING",
        _identifier("message-id", "_message_id"),
        "Identifier as text; a binary one in hexadecimal.",
    ),
    Column("user_id", "BINARY", _header("user-id"), "Who the sender says that it is."),
    Column("to", "STRING", _text("to"), "Address that the sender gave."),
    Column("subject", "STRING", _text("subject"), "Subject."),
    Column("reply_to", "STRING", _text("reply-to"), "Address for replies."),
    Column(
        "correlation_id",
        "STRING",
        _identifier("correlation-id", "_correlation_id"),
        "What the message answers or belongs to, as `message_id`.",
    ),
    Column("content_type", "STRING", _text("content-type"), "Media type of the body."),
    Column("content_encoding", "STRING", _text("content-encoding"), "For example `gzip`."),
    Column(
        "absolute_expiry_time",
        "TIMESTAMP",
        _timestamp("_expiry_millis"),
        "When the message expires.",
    ),
    Column(
        "creation_time",
        "TIMESTAMP",
        _timestamp("_creation_millis"),
        "When the sender made it.",
    ),
    Column("group_id", "STRING", _text("group-id"), "Group of the message."),
    Column(
        "group_sequence",
        "BIGINT",
        _within("_group_sequence", 0, _MAX_UINT),
        "Position in the group, 0 to 4294967295.",
    ),
    Column("reply_to_group_id", "STRING", _text("reply-to-group-id"), "Group for replies."),
    Column(
        "application_properties",
        "MAP<STRING, STRING>",
        f"coalesce({_APPLICATION_PROPERTIES}, CAST(map() AS MAP<STRING, STRING>))",
        "The sender's own properties as text, never NULL; a value that is null or is not UTF-8 is "
        "NULL. Headers of records that never passed the bridge are here too.",
        nullable=False,
    ),
    Column(
        "amqp_types",
        "MAP<STRING, STRING>",
        _AMQP_TYPES,
        "Header name to AMQP type, for what is not a string; NULL if the record says nothing.",
        derived=True,
    ),
    Column(
        "headers",
        "ARRAY<STRUCT<key: STRING, value: BINARY>>",
        "headers",
        "Every Kafka header as it is, in order, duplicates included; NULL if there is none.",
    ),
)
