"""Starts Spark for one job at the terminal, shows how far it is, and ends Spark whatever happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.spark import brokers, ingest
from bridge.spark.jars import connector_jars
from bridge.spark.progress import Display
from bridge.spark.sessions import session, stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.spark.job import Job, Result
    from bridge.spark.sessions import LogLevel
    from bridge.spark.signals import Signals


def run_job(
    job: Job,
    signals: Signals,
    master: str,
    spark_options: Mapping[str, str],
    log_level: LogLevel,
) -> Result:
    """Run a job to its end, or until a signal; return what it wrote.

    Raises SparkSideError when it fails, StopError when a signal ended it at once: the first one
    while the connector is fetched, later the second.
    """
    brokers.check_reachable(job.bootstrap_servers)
    connector_jars()
    signals.is_patient = True
    with Display() as display:
        display.say("Starting Spark")
        spark = session("bridge-ingest", master=master, log_level=log_level, options=spark_options)
        try:
            signals.take()  # Spark has taken SIGINT
            display.begin(f"Reading {', '.join(job.topics)} into {job.output}; Ctrl-C ends it")
            return ingest.run(
                spark,
                job,
                stop_requested=signals.is_stop_requested,
                on_progress=display.show,
            )
        finally:
            signals.ignore()
            stop(spark)
