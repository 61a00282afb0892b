"""Reads `BRIDGE_*` variables into entries. Pure: the environment is an argument.

A variable is the key in capitals with `_` for `.`. An unknown one is refused, because a misspelt
setting that is silently ignored is found at the worst time; what others put there is known by form.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from bridge.config import ancestor, librdkafka
from bridge.config.librdkafka_names import READ_BY
from bridge.config.options import BY_KEY, OPTIONS, VARIABLE_PREFIX, variable_of
from bridge.config.problems import Entry, Problem, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

OTHER_VARIABLES: Final = {
    "BRIDGE_CONFIG": "The configuration file, when --config is not given.",
    "BRIDGE_DEVKAFKA_CACHE": "Where the Kafka for development is kept once it was fetched.",
    "BRIDGE_PURE_PYTHON": "1: use nothing compiled, for comparison (docs/performance.md).",
}
"""Variables that are not options."""

_SERVICE_LINK: Final = re.compile(
    r"BRIDGE_(?:[A-Z0-9_]+_)?"
    r"(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?"
    r"|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
_SERVICE_LINK_URL: Final = re.compile(r"(?:tcp|udp|sctp)://[0-9A-Fa-f.:\[\]]+:[0-9]+")

_KEY_OF: Final = {variable_of(key): key for key in (*ancestor.NAMES, *BY_KEY)}
_NAME_OF: Final = {name.replace(".", "_").upper(): name for name in READ_BY}


def read(environment: Mapping[str, str], problems: list[Problem]) -> list[Entry]:
    """Return the entries that the environment gives; unknown variables go into `problems`."""
    entries = []
    for name, value in sorted(environment.items()):
        if not name.startswith(VARIABLE_PREFIX) or name in OTHER_VARIABLES:
            continue
        if is_service_link(name, value):
            continue
        key = _key(name)
        if key is None:
            known = [*(option.variable for option in OPTIONS), *OTHER_VARIABLES]
            nearest = next(iter(get_close_matches(name, known, n=1)), None)
            problems.append(Problem("no such variable", place=Variable(name), nearest=nearest))
        else:
            entries.append(Entry(key, value, Variable(name), key))
    return entries


def is_service_link(name: str, value: str) -> bool:
    """Tell whether Kubernetes put a variable there, for a Service named `bridge` or `bridge-...`.

    One of its variables can have an option's name: BRIDGE_AMQP_PORT is `tcp://10.0.0.1:5672` in every
    pod beside a Service `bridge-amqp`. Its value tells them apart.

    Source: Kubernetes documentation, "Discovering services: environment variables".
    """
    if _SERVICE_LINK.fullmatch(name):
        return True
    return name.endswith("_PORT") and _SERVICE_LINK_URL.fullmatch(value) is not None


def _key(variable: str) -> str | None:
    """Return the key that a variable stands for, or None if it stands for none."""
    if variable in _KEY_OF:
        return _KEY_OF[variable]
    prefix = variable_of(librdkafka.PREFIX)
    if not variable.startswith(prefix) or variable == prefix:
        return None
    clients, name = librdkafka.split(
        librdkafka.PREFIX + variable.removeprefix(prefix).replace("_", ".").lower()
    )
    # A few of librdkafka's names have underscores of their own.
    known = _NAME_OF.get(name.replace(".", "_").upper(), name)
    return librdkafka.join(clients, known)
