from __future__ import annotations

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from bridge.config import Settings, settings
from bridge.config.kinds import Choice
from bridge.config.options import BY_KEY, OPTIONS, SECTIONS, Option, variable_of, written

PASSED_ON = {"kafka.common", "kafka.producer", "kafka.consumer"}


def _fields() -> dict[str, object]:
    """Give the type of each field of the settings by `section.field`."""
    names = dict(vars(settings), Mapping=dict)  # which the module imports for type checkers only
    sections = get_type_hints(Settings, names)
    return {
        f"{section}.{field}": kind
        for section, declared in sections.items()
        for field, kind in get_type_hints(declared, names).items()
    }


def test_every_field_has_one_option_and_every_option_a_field() -> None:
    declared = [f"{option.section}.{option.field}" for option in OPTIONS]
    assert len(declared) == len(set(declared)) == len(BY_KEY)
    assert set(declared) | PASSED_ON == set(_fields())
    assert set(SECTIONS) == {field.name for field in dataclasses.fields(Settings)}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_a_default_is_a_value_that_may_be_written(option: Option) -> None:
    if option.default is None:
        assert option.kind.parse(option.example) == option.example
    else:
        assert option.kind.parse(written(option.default)) == option.default
        assert not option.example


def test_choices_are_those_of_the_declared_types() -> None:
    literals = {name: get_args(kind) for name, kind in _fields().items() if get_origin(kind) is Literal}
    choices = {
        f"{option.section}.{option.field}": option.kind.values
        for option in OPTIONS
        if isinstance(option.kind, Choice)
    }
    assert choices == literals


def test_variables_are_unambiguous_and_derived_from_keys() -> None:
    variables = [option.variable for option in OPTIONS]
    assert len(set(variables)) == len(variables)
    assert variable_of("amqp.max.frame.size.bytes") == "BRIDGE_AMQP_MAX_FRAME_SIZE_BYTES"
    assert BY_KEY["amqp.port"].variable == "BRIDGE_AMQP_PORT"


def test_meanings_are_sentences() -> None:
    for option in OPTIONS:
        assert option.meaning.endswith("."), option.key
        assert option.meaning[0].isupper(), option.key


def test_values_are_written_as_they_are_read() -> None:
    assert [written(value) for value in (None, True, False, 0, "a")] == [
        "",
        "true",
        "false",
        "0",
        "a",
    ]
