"""Where things that were fetched or made once are kept. Creates nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CACHE_VARIABLE = "BRIDGE_DEVKAFKA_CACHE"


def cache_root(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of all caches, as an absolute path; it need not exist.

    It is BRIDGE_DEVKAFKA_CACHE, else `amqp-kafka-bridge` in XDG_CACHE_HOME, else in `~/.cache`.
    `environment` is read instead of `os.environ` when given.
    """
    environment = os.environ if environment is None else environment
    if own := environment.get(CACHE_VARIABLE):
        return Path(own).absolute()
    caches = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches, "amqp-kafka-bridge").absolute()
