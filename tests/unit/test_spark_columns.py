from __future__ import annotations

import re

from bridge.mapping import names
from bridge.spark.columns import COLUMNS, STEPS


def test_every_amqp_property_has_a_column() -> None:
    columns = {column.name for column in COLUMNS}
    assert {name.replace("-", "_") for name in names.PROPERTIES} <= columns


def test_names_are_unique_and_can_be_written_without_quotes() -> None:
    found = [column.name for column in COLUMNS]
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in found)


def test_steps_use_only_what_is_there_before_them() -> None:
    known: set[str] = set()
    for step in STEPS:
        used = set(re.findall(r"\b_[a-z_]+", " ".join(step.values())))
        assert used <= known
        known |= step.keys()
    for column in COLUMNS:
        assert set(re.findall(r"(?<!\w)_[a-z_]+", column.sql)) <= known


def test_each_step_is_needed() -> None:
    texts = [sql for step in STEPS for sql in step.values()] + [column.sql for column in COLUMNS]
    for step in STEPS:
        for name in step:
            assert any(re.search(rf"(?<!\w){name}\b", text) for text in texts), name


def test_what_is_not_stored_can_be_computed_from_what_is() -> None:
    stored = {column.name for column in COLUMNS if not column.derived}
    assert {"key", "value", "headers"} <= stored


def test_each_column_is_explained() -> None:
    for column in COLUMNS:
        assert column.meaning.endswith("."), column.name
