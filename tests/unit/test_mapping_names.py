from __future__ import annotations

import pytest

from bridge.mapping import names
from bridge.mapping.errors import MappingError


@pytest.mark.parametrize(
    ("key", "header"),
    [
        ("count", "count"),
        ("", ""),
        ("é", "é"),
        ("application", "application"),
        ("subject", "app.subject"),
        ("creation-time", "app.creation-time"),
        ("amqp-types", "app.amqp-types"),
        ("amqp.body", "app.amqp.body"),
        ("x-opt-a", "app.x-opt-a"),
        ("app.a", "app.app.a"),
        ("AMQPheaders", "app.AMQPheaders"),
        ("traceparent", "traceparent"),
    ],
)
def test_application_properties_keep_their_name_unless_it_means_more(key: str, header: str) -> None:
    assert names.application_header(key) == header
    assert names.application_key(header) == key


@pytest.mark.parametrize("header", ["subject", "app.a", "app.", "amqp.a", "x-opt-a", "amqp-types"])
def test_a_header_that_no_application_property_gives(header: str) -> None:
    assert names.application_key(header) is None


@pytest.mark.parametrize(
    ("key", "header"),
    [
        ("x-opt-a", "x-opt-a"),
        ("x-opt-", "x-opt-"),
        ("plain", "amqp.ma.plain"),
        ("", "amqp.ma."),
        (0, "amqp.ma.#0"),
        (2**64 - 1, "amqp.ma.#18446744073709551615"),
        ("#1", "amqp.ma.%231"),
        ("%a", "amqp.ma.%25a"),
        ("a#%", "amqp.ma.a#%"),
    ],
)
def test_annotations_have_a_header_that_says_what_they_are(key: str | int, header: str) -> None:
    assert names.annotation_header("amqp.ma.", key) == header
    assert names.annotation_key("amqp.ma.", header) == key


def test_a_footer_has_no_names_that_go_without_prefix() -> None:
    assert names.annotation_header("amqp.ft.", "x-opt-a") == "amqp.ft.x-opt-a"
    assert names.annotation_key("amqp.ft.", "amqp.ft.x-opt-a") == "x-opt-a"
    assert names.annotation_key("amqp.ft.", "x-opt-a") is None


@pytest.mark.parametrize(
    "header",
    [
        *("plain", "amqp.ma.x-opt-a", "amqp.ma.é", "x-opt-é", "amqp.ma.#", "amqp.ma.#01", "amqp.ma.#a"),
        *("amqp.ma.#18446744073709551616", "amqp.ma.#99999999999999999999999", "amqp.ma.#-1"),
        *("amqp.ma.#٣", "amqp.ma.%41", "amqp.ma.%", "amqp.ft.a"),
    ],
)
def test_a_header_that_no_annotation_gives(header: str) -> None:
    assert names.annotation_key("amqp.ma.", header) is None


def test_the_annotations_of_a_hop() -> None:
    hop = ["x-opt-bridge.key", "x-opt-kafka-headers", "x-opt-offset", "x-opt-sequence-number"]
    assert all(map(names.is_hop, [*hop, "x-opt-enqueued-time"]))
    assert not any(map(names.is_hop, ["x-opt-partition-key", "x-opt-bridge", "x-opt-jms-dest"]))


def test_properties_stand_in_the_order_of_the_specification() -> None:
    assert list(names.PROPERTIES)[:4] == ["message-id", "user-id", "to", "subject"]
    assert names.PROPERTY_PLACES["creation-time"] == 9
    assert len(names.PROPERTIES) == 13


def test_a_name_with_a_nul_is_refused_since_kafka_would_get_half_of_it() -> None:
    assert names.check("a") == "a"
    with pytest.raises(MappingError, match="holds a NUL") as caught:
        names.check("a\0b")
    assert caught.value.condition == "amqp:invalid-field"
