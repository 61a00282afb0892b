from __future__ import annotations

from bridge.spark.columns import COLUMNS
from bridge.spark.schemas import schema, stored_schema


def test_the_schema_has_the_types_of_the_table() -> None:
    spelled = {field.name: field.dataType.simpleString() for field in schema()}
    assert spelled == {
        column.name: column.type.replace(": ", ":").replace(", ", ",").lower() for column in COLUMNS
    }
    assert [field.nullable for field in schema()] == [column.nullable for column in COLUMNS]


def test_files_hold_what_is_not_derived_and_the_date() -> None:
    expected = [column.name for column in COLUMNS if not column.derived]
    assert stored_schema().fieldNames() == [*expected, "date"]
