"""Keeps secrets out of what people and logs see: which keys are secret, and what is shown instead.

Pure. It errs on the careful side: a path or an address under a key that sounds secret is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN: Final = "[hidden]"

_SECRET: Final = re.compile(
    r"passw(or)?d|passphrase|secret|credential|token|jaas|key\.pem|private\.key|oauthbearer\.config"
    # Java's name for a private key in the file itself, which people carry over.
    r"|keystore\.key"
)


def is_secret(key: str) -> bool:
    """Tell whether the value of `key` (an option's key or an environment variable) is hidden."""
    return _SECRET.search(key.lower().replace("_", ".")) is not None


def shown(key: str, value: str) -> str:
    """Return `value` as it may be printed, which for a secret is not the value."""
    return HIDDEN if is_secret(key) else printable(value)


def printable(text: str) -> str:
    """Return text on one line, with escapes for what cannot be printed."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


class PassThrough(Mapping[str, str]):
    """Options for librdkafka by name: read-only, and without secrets when printed."""

    __slots__ = ("_options",)

    def __init__(self, options: Mapping[str, str] = MappingProxyType({})) -> None:
        self._options = MappingProxyType(dict(options))

    def __getitem__(self, name: str) -> str:
        return self._options[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def __hash__(self) -> int:
        return hash(frozenset(self._options.items()))

    def __repr__(self) -> str:
        return f"PassThrough({self.redacted()!r})"

    def redacted(self) -> dict[str, str]:
        """Return the options as they may be printed."""
        return {name: shown(name, value) for name, value in self._options.items()}
