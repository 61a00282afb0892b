from __future__ import annotations

import pytest

from bridge.addressing import AddressError
from bridge.config.dead_letters import check_template, topic_for


@pytest.mark.parametrize(
    "template",
    ["{topic}.dlt", "dlt.{topic}", "a-{topic}_b", "graves", "none", "a" * 249, "{topic}" + "a" * 248],
)
def test_templates_are_names_perhaps_with_the_topic(template: str) -> None:
    assert check_template(template) == template


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{topic}", "is the topic itself; write something beside it, as in: {topic}.dlt"),
        ("{topic}.{topic}", "has '{', which no topic of Kafka has: {topic} may stand in it once"),
        ("{site}.dlt", "the one thing that stands in braces is the topic"),
        ("{topic.dlt", "the one thing that stands in braces is the topic"),
        ("dlt/{topic}", "has '/', which no topic of Kafka has: write '.'"),
        ("a b", "has ' ', which no topic of Kafka has: a topic has letters"),
        ("..", "Kafka allows no topic named '..'"),
        ("a" * 250, "makes names that are too long; Kafka allows 249 characters"),
        ("{topic}" + "a" * 249, "makes names that are too long; Kafka allows 249 characters"),
    ],
)
def test_what_is_no_template_is_told(template: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        check_template(template)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("topic", "template", "dead_letters"),
    [
        ("orders", None, None),
        ("orders", "{topic}.dlt", "orders.dlt"),
        ("orders", "dlt-{topic}", "dlt-orders"),
        ("orders", "graves", "graves"),
        ("orders.dlt", "{topic}.dlt", None),
        ("dlt-orders", "dlt-{topic}", None),
        ("a.orders.z", "a.{topic}.z", None),
        ("graves", "graves", None),
        (".dlt", "{topic}.dlt", ".dlt.dlt"),
        ("aa", "a{topic}a", "aaaa"),
        ("dlt-orders.dlt", "dead-{topic}", "dead-dlt-orders.dlt"),
    ],
)
def test_a_topic_has_the_one_that_the_template_makes_unless_it_is_such_a_topic(
    topic: str, template: str | None, dead_letters: str | None
) -> None:
    assert topic_for(topic, template) == dead_letters


def test_a_name_that_is_too_long_is_an_error_of_the_address() -> None:
    with pytest.raises(
        AddressError, match="amqp:invalid-field: the bridge's template for dead-letter topics"
    ):
        topic_for("a" * 246, "{topic}.dlt")
    assert topic_for("a" * 245, "{topic}.dlt") == "a" * 245 + ".dlt"
