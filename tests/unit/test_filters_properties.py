from __future__ import annotations

from uuid import UUID

import pytest
from support.filtering import view

from bridge.codec import Decimal32, Float, Int, Long, Map, Symbol, Timestamp, UByte, UInt, ULong
from bridge.filters.errors import FilterError
from bridge.filters.properties import application_properties, properties

SEEN = view(
    {
        "region": "eu-west-1",
        "count": Int(7),
        "price": 2.5,
        "urgent": True,
        "trace": UUID(int=3),
        "raw": b"eu",
        "nothing": None,
        "tag": "&x",
        "decimal": Decimal32(b"abcd"),
    },
    properties={
        "message-id": ULong(5),
        "user-id": b"bob",
        "subject": "orders.created",
        "content-type": Symbol("text/plain"),
        "creation-time": Timestamp(1000),
        "group-sequence": UInt(3),
    },
)


@pytest.mark.parametrize(
    ("name", "reference", "wanted"),
    [
        ("region", "eu-west-1", True),
        ("region", Symbol("eu-west-1"), True),
        ("region", "eu-west-2", False),
        ("region", "&p:eu", True),
        ("region", "&p:", True),
        ("region", "&p:us", False),
        ("region", "&s:-1", True),
        ("region", "&s:-2", False),
        ("tag", "&&x", True),
        ("tag", "x", False),
        ("count", Int(7), True),
        ("count", Long(7), True),
        ("count", 7.0, True),
        ("count", Float(7.0), True),
        ("count", "7", False),
        ("count", "&p:7", False),
        ("count", Int(8), False),
        ("price", Float(2.5), True),
        ("urgent", True, True),
        ("urgent", False, False),
        ("urgent", Int(1), False),
        ("trace", UUID(int=3), True),
        ("trace", str(UUID(int=3)), False),
        ("raw", b"eu", True),
        ("raw", "eu", False),
        ("decimal", Decimal32(b"abcd"), True),
        ("decimal", b"abcd", False),
        ("nothing", None, True),
        ("region", None, True),
        ("absent", None, False),
        ("absent", "a", False),
        ("nothing", "&p:", False),
    ],
)
def test_application_properties(name: str, reference: object, wanted: bool) -> None:  # noqa: FBT001
    assert application_properties(Map([(name, reference)]))(SEEN) is wanted


@pytest.mark.parametrize(
    ("name", "reference", "wanted"),
    [
        ("message-id", ULong(5), True),
        ("message-id", Int(5), True),
        ("message-id", UUID(int=5), False),
        ("message-id", b"5", False),
        ("message-id", "&p:5", False),
        ("user-id", b"bob", True),
        ("user-id", b"eve", False),
        ("subject", "&p:orders.", True),
        ("subject", "&s:created", True),
        ("content-type", Symbol("text/plain"), True),
        ("content-type", "text/plain", True),
        ("creation-time", Timestamp(1000), True),
        ("creation-time", Long(1000), True),
        ("group-sequence", UByte(3), True),
        ("reply-to", "a", False),
        ("reply-to", None, True),
        ("correlation-id", b"1", False),
    ],
)
def test_properties(name: str, reference: object, wanted: bool) -> None:  # noqa: FBT001
    assert properties(Map([(Symbol(name), reference)]))(SEEN) is wanted
    assert properties(Map([(name, reference)]))(SEEN) is wanted


def test_all_fields_have_to_match_and_no_field_is_no_condition() -> None:
    right, wrong = ("region", "&p:eu"), ("count", Int(8))
    assert application_properties(Map([right, right]))(SEEN)
    assert not application_properties(Map([right, wrong]))(SEEN)
    assert application_properties(Map())(SEEN)
    assert properties(Map())(view())


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("region", "holds a map"),
        ([], "holds a map"),
        (Map([(Int(1), "a")]), "has a text for its name"),
        (Map([("a", "&x")]), "'&x' begins with an unknown modifier"),
        (Map([("a", "&")]), "unknown modifier"),
        (Map([("a", [])]), "a list cannot be compared"),
        (Map((f"f{number}", None) for number in range(65)), "65 fields; 64 are allowed"),
    ],
)
def test_malformed_filters_are_refused(value: object, told: str) -> None:
    with pytest.raises(FilterError) as caught:
        application_properties(value)
    assert told in caught.value.description


@pytest.mark.parametrize(
    ("name", "reference", "told"),
    [
        ("color", "blue", "no such field"),
        ("user-id", "bob", "user-id is never a str"),
        ("subject", b"a", "subject is never a bytes"),
        ("group-sequence", 1.5, "group-sequence is never a float"),
        ("creation-time", "now", "creation-time is never a str"),
        ("subject", "&a", "unknown modifier"),
    ],
)
def test_properties_that_can_never_match_are_refused(name: str, reference: object, told: str) -> None:
    with pytest.raises(FilterError) as caught:
        properties(Map([(Symbol(name), reference)]))
    assert told in caught.value.description
