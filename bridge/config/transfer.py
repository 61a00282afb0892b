"""Settings as a document of JSON, by which a supervisor gives its workers exactly what it was told itself.

Pure. A worker that read the files again could find others than its siblings did. The document has
passwords for Kafka, as the settings do: it is for a pipe between the two, never for a log or a file.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from bridge.config.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.config.kinds import Value

    Section = Mapping[str, Value | Mapping[str, str] | None]


def packed(settings: Settings) -> dict[str, Section]:
    """Return the settings by section and field; librdkafka's options by name."""
    return {section.name: _section(getattr(settings, section.name)) for section in fields(settings)}


def unpacked(document: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Return the settings of a document that `packed` has made, by the same version of the bridge."""
    defaults = Settings()
    return Settings(
        **{
            section.name: type(getattr(defaults, section.name))(**document[section.name])
            for section in fields(defaults)
        }
    )


def _section(section: Any) -> Section:  # noqa: ANN401 - any of the dataclasses that `Settings` has
    values = {field.name: getattr(section, field.name) for field in fields(section)}
    return {
        name: value if value is None or isinstance(value, str | int) else dict(value)
        for name, value in values.items()
    }
