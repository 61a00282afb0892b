from __future__ import annotations

import pytest
from support.filtering import view

from bridge.codec import Described, Int, Map, Symbol, ULong
from bridge.filters.errors import FilterError
from bridge.filters.predicates import predicate

SEEN = view({"color": "blue"}, properties={"subject": "orders.created"})
OTHER = view({"color": "red"}, properties={"subject": "orders"})

FILTERS: list[tuple[str, int, object]] = [
    ("apache.org:legacy-amqp-direct-binding:string", 0x0000468C00000000, "orders.created"),
    ("apache.org:legacy-amqp-topic-binding:string", 0x0000468C00000001, "#.created"),
    ("apache.org:selector-filter:string", 0x0000468C00000004, "color = 'blue'"),
    ("amqp:sql-filter", 0x120, 'a.color = "blue"'),
    ("amqp:properties-filter", 0x173, Map([(Symbol("subject"), "&s:created")])),
    ("amqp:application-properties-filter", 0x174, Map([("color", "blue")])),
]


@pytest.mark.parametrize(("name", "code", "value"), FILTERS)
def test_a_filter_is_known_by_its_descriptor_or_else_by_its_key(name: str, code: int, value: object) -> None:
    for key, entry in [
        ("mine", Described(Symbol(name), value)),
        ("mine", Described(ULong(code), value)),
        (name, value),
    ]:
        wanted = predicate(key, entry)
        assert wanted is not None
        assert wanted(SEEN)
        assert not wanted(OTHER)


def test_the_key_of_qpid_jms() -> None:
    wanted = predicate("jms-selector", "color = 'blue'")
    assert wanted is not None
    assert wanted(SEEN)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("no-local", Described(Symbol("apache.org:no-local-filter:list"), [])),
        ("no-local", Described(ULong(0x0000468C00000003), [])),
        ("apache.org:selector-filter:string", Described(Symbol("other"), "a = 1")),
        ("mine", "a = 1"),
        ("mine", None),
        ("mine", Described([], "a = 1")),
        ("io.strimzi:offset-filter:long", Int(1)),
    ],
)
def test_other_filters_are_not_known(key: str, value: object) -> None:
    assert predicate(key, value) is None


@pytest.mark.parametrize(("name", "code", "value"), FILTERS)
def test_a_malformed_filter_is_refused_by_its_key(name: str, code: int, value: object) -> None:
    del name, value
    with pytest.raises(FilterError, match="the filter 'mine': the filter holds a"):
        predicate("mine", Described(ULong(code), Int(5)))


def test_an_error_in_a_selector_tells_filter_and_place() -> None:
    with pytest.raises(FilterError, match=r"the filter 'mine': line 1, column 3: expected a value"):
        predicate("mine", Described(ULong(0x0000468C00000004), "a==1"))
