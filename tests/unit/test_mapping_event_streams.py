from __future__ import annotations

import pytest

from bridge.mapping.event_streams import desired


@pytest.mark.parametrize(
    ("capabilities", "properties", "filters"),
    [
        ({"AMQP_EVENT_STREAMS_V1_0", "ANONYMOUS-RELAY"}, (), ()),
        ((), ("event-streams-partition",), ()),
        ((), ("event-streams-consumer-group",), ()),
        ((), (), ("amqp:event-streams-delivery-annotations-filter",)),
        ((), (), ("event-streams-sql-filter",)),
    ],
)
def test_who_uses_the_extension_is_answered_in_it(
    capabilities: set[str], properties: tuple[str, ...], filters: tuple[str, ...]
) -> None:
    assert desired(capabilities, properties, filters)


def test_nobody_else_is() -> None:
    others = {"ANONYMOUS-RELAY", "amqp_event_streams"}
    assert not desired(others, ("x-opt-bridge.partition",), ("apache.org:selector-filter:string",))
