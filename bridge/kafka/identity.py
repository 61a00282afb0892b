"""The name under which a link's consumer is a static member of its group (KIP-345).

Pure: the same container and link give the same name on every replica, in any process.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

_PREFIX_MAX: Final = 80
"""Twice that and the hash are less than the 249 characters that Kafka allows."""
_HASH_HEX: Final = 32
_OTHERS: Final = re.compile(r"[^a-zA-Z0-9._-]+")


def instance_id(container_id: str, link_name: str) -> str:
    """Give the `group.instance.id` of a link: what can be read of its name, and a hash of the whole.

    Kafka allows letters, digits, `.`, `_` and `-` (`Topic.validate` of its clients). The hash tells apart
    what looks alike then, and it alone decides: the containers `a.b` and `a` have different links `c` and
    `b.c`.
    """
    readable = _OTHERS.sub("_", f"{container_id[:_PREFIX_MAX]}.{link_name[:_PREFIX_MAX]}")
    whole = f"{len(container_id)}:{container_id}{link_name}".encode("utf-8", "surrogatepass")
    return f"{readable}-{hashlib.sha256(whole).hexdigest()[:_HASH_HEX]}"
