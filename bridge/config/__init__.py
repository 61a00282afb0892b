"""The configuration: `bridge.properties` and the environment become frozen, validated settings.

`load` gives the settings or raises ConfigError with all that is wrong; `resolve` also tells where each
value comes from. Options are declared in `options`, and nowhere else.
"""

from __future__ import annotations

from bridge.config.problems import ConfigError, Problem
from bridge.config.resolve import Resolution, load, resolve
from bridge.config.settings import (
    AmqpSettings,
    BridgeSettings,
    DeduplicationSettings,
    ErrorsSettings,
    KafkaSettings,
    LogSettings,
    ManagementSettings,
    MappingSettings,
    RoutesSettings,
    Settings,
    ShutdownSettings,
    SinkSettings,
    SourceSettings,
)

__all__ = [
    "AmqpSettings",
    "BridgeSettings",
    "ConfigError",
    "DeduplicationSettings",
    "ErrorsSettings",
    "KafkaSettings",
    "LogSettings",
    "ManagementSettings",
    "MappingSettings",
    "Problem",
    "Resolution",
    "RoutesSettings",
    "Settings",
    "ShutdownSettings",
    "SinkSettings",
    "SourceSettings",
    "load",
    "resolve",
]
