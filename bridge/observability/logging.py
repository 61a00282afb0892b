"""Sets structlog up: JSON for machines, or a console form for people, one line for each event.

Standard library loggers (librdkafka's among them) end in the same stream, in the same form. Log lines
go to stderr, so that a command's output stays its own. Message bodies are never logged.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Literal, TextIO, cast

import structlog

_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    structlog.processors.StackInfoRenderer(),
]


class _Stderr:
    """Standard error, where a line that cannot be written is lost: nothing else may fail for it."""

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            return sys.stderr.write(text)
        return 0

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


def configure(
    level: Literal["debug", "info", "warning", "error"],
    form: Literal["json", "console"],
    worker: int | None = None,
) -> None:
    """Send all log events of the process to stderr. May be called again with other settings.

    `worker` is the number that the lines of a worker carry, whatever thread writes them.
    """
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: list[structlog.typing.Processor]
    if form == "json":
        renderer = [
            # Without the values of local variables: a secret or a message may be among them.
            structlog.processors.ExceptionRenderer(
                structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
            ),
            structlog.processors.EventRenamer("event"),
            structlog.processors.JSONRenderer(),
        ]
    else:
        renderer = [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    shared = _SHARED if worker is None else [*_SHARED, _with_worker(worker)]
    structlog.configure(
        processors=[*shared, *renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        # One write for each line, with its end: other threads write to the same stream (librdkafka's log).
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Stderr())),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)


def _with_worker(number: int) -> structlog.typing.Processor:
    def add(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event.setdefault("worker", number)
        return event

    return add
