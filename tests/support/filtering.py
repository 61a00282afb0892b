"""Messages for filters to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.codec import Described, Map, Symbol, ULong, encode
from bridge.filters.view import View
from bridge.mapping.message import HEADER
from bridge.mapping.names import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Mapping


def message(
    application: Mapping[str, object] | None = None,
    *,
    header: Mapping[str, object] | None = None,
    annotations: Mapping[str, object] | None = None,
    properties: Mapping[str, object] | None = None,
) -> bytes:
    """Encode a message; fields have the names of the specification, as `message-id`."""
    sections: list[tuple[int, object]] = []
    if header is not None:
        sections.append((0x70, [header.get(name) for name in HEADER]))
    if annotations is not None:
        sections.append((0x72, Map((Symbol(name), value) for name, value in annotations.items())))
    if properties is not None:
        sections.append((0x73, [properties.get(name) for name in PROPERTIES]))
    if application is not None:
        sections.append((0x74, Map(application.items())))
    sections.append((0x75, b"body"))
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


def view(
    application: Mapping[str, object] | None = None,
    *,
    header: Mapping[str, object] | None = None,
    annotations: Mapping[str, object] | None = None,
    properties: Mapping[str, object] | None = None,
) -> View:
    """Give a view of such a message."""
    return View(message(application, header=header, annotations=annotations, properties=properties))
