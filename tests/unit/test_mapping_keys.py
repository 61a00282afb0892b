from __future__ import annotations

import pytest

from bridge.mapping.errors import MappingError
from bridge.mapping.keys import keyed
from bridge.model import conditions


@pytest.mark.parametrize("key", [b"", b"k"])
def test_a_message_with_a_key_passes(key: bytes) -> None:
    record = (b"value", key, None, -1, 0)
    assert keyed(lambda _: record, "orders")(b"") is record


def test_a_message_without_one_is_refused_with_what_to_do() -> None:
    with pytest.raises(MappingError) as raised:
        keyed(lambda _: (b"value", None, None, -1, 0), "orders")(b"")
    assert raised.value.condition == conditions.PRECONDITION_FAILED
    assert "topic orders is compacted" in raised.value.description
    assert "x-opt-bridge.key" in raised.value.description
