from __future__ import annotations

import pytest
from support import murmur2


@pytest.mark.parametrize(("key", "javas"), murmur2.JAVAS.items())
def test_the_hash_that_the_tests_compute_is_javas(key: bytes, javas: tuple[int, int]) -> None:
    assert (murmur2.murmur2(key), murmur2.partition(key, 7)) == javas
