"""What operators are told of a service of several workers, by its supervisor and by the workers."""

from __future__ import annotations

import structlog

_log: structlog.typing.FilteringBoundLogger = structlog.get_logger()


def service_started(version: str, amqp: str, management: str | None, kafka: str, workers: int) -> None:
    """Report that all workers listen: clients may connect. Addresses are host:port."""
    _log.info(
        "service started", version=version, amqp=amqp, management=management, kafka=kafka, workers=workers
    )


def worker_started(process: int, *, compiled: bool) -> None:
    """Report, as a worker, that it takes clients; `compiled` is of bridge.mapping.compiled."""
    _log.info("worker started", process=process, compiled=compiled)


def worker_stopping(reason: str, grace_seconds: float) -> None:
    """Report, as a worker, that its shutdown began."""
    _log.info("worker stopping", reason=reason, grace_seconds=grace_seconds)


def worker_stopped(unacknowledged: int) -> None:
    """Report, as a worker, the end; `unacknowledged` records had no answer from Kafka."""
    _log.info("worker stopped", unacknowledged_records=unacknowledged)


def worker_not_read(question: str, error: BaseException) -> None:
    """Report, as a worker, a defect of the bridge: it cannot tell its supervisor what it is asked."""
    _log.error("worker not read", question=question, exc_info=error)


def worker_ended(
    worker: int, process: int, by: str, failure: Exception | None, restart_in_seconds: float
) -> None:
    """Report a worker that ended and was not told to: `by` an exit code or a signal, and what it said."""
    _log.error(
        "worker ended",
        worker=worker,
        process=process,
        by=by,
        description=None if failure is None else str(failure),
        restart_in_seconds=restart_in_seconds,
    )


def worker_not_started(worker: int, error: OSError, restart_in_seconds: float) -> None:
    """Report that the system gives no process for a worker."""
    _log.error(
        "worker not started", worker=worker, description=str(error), restart_in_seconds=restart_in_seconds
    )


def worker_restarted(worker: int, restarts: int) -> None:
    """Report that a worker takes clients again; how often it was started again."""
    _log.info("worker restarted", worker=worker, restarts=restarts)


def worker_silent(worker: int, process: int, seconds: float) -> None:
    """Report a worker whose event loop does not answer."""
    _log.warning("worker silent", worker=worker, process=process, seconds=seconds)


def worker_killed(worker: int, process: int, reason: str) -> None:
    """Report a worker that is killed, since it neither answers nor ends."""
    _log.error("worker killed", worker=worker, process=process, reason=reason)
