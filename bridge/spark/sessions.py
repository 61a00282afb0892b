"""Starts and ends a Spark session that leaves nothing behind.

A session of ours binds to the loopback address, has no web interface, counts time in UTC, carries
the Kafka connector and keeps its files in a temporary folder. Its Java process belongs to this
Python process: signals from the terminal reach only Python, and Java ends when Python ends, in
whatever way. Where Spark was started by spark-submit, that session is used as it is.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped] # py4j has no types
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from bridge.devkafka import DevKafkaError
from bridge.devkafka.java import java_home
from bridge.spark.errors import SparkSideError
from bridge.spark.jars import connector_jars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LogLevel = Literal["off", "error", "warn", "info", "debug"]

_LOOPBACK: Final = "127.0.0.1"
_END_SECONDS: Final = 20.0
_FLUSH_SECONDS: Final = 1.0  # for its last words, which are in the pipe once Java is gone
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_ALWAYS_SAID: Final = "WARNING: Using incubator modules"
_LOGGING: Final = Path(__file__).with_name("log4j2.properties")

# This release puts a folder `artifacts` into the working folder (SPARK-52396).
_DROPS_ARTIFACTS: Final = pyspark.__version__ == "4.0.0"

# What may be set on any session, also one that spark-submit started.
SQL_SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    # Java does not compile methods of more than 8000 bytes of code, so nothing longer should be
    # fused into one method. Reading nearly all columns is several times as fast.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # The default, INT96, is deprecated, and other readers of Parquet trip over it.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


def session(
    app_name: str = "amqp-kafka-bridge",
    *,
    master: str = "local[*]",
    log_level: LogLevel = "error",
    options: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a Spark session that can read Kafka; `stop` ends it.

    `options` are Spark settings that override ours. A session that is already active is returned
    as it is. Under spark-submit the session is the one that was submitted: it must have been given
    the connector's jars, and of `options` only what can be changed in a running Spark counts.

    Raises SparkSideError when there is no Java, no connector, or Spark does not start.
    """
    if (active := SparkSession.getActiveSession()) is not None:
        return active
    options = options or {}
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        _start(_settings(app_name, master, log_level, options))
        return SparkSession.builder.getOrCreate()
    spark = SparkSession.builder.appName(app_name).getOrCreate()
    for key, value in {**SQL_SETTINGS, **options}.items():
        if spark.conf.isModifiable(key):
            spark.conf.set(key, value)
    return spark


def stop(spark: SparkSession) -> None:
    """Stop a session, and the Java process if `session` started it. Never raises."""
    with contextlib.suppress(Py4JError, OSError), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that Java is gone already
        spark.stop()
    _end()


def _settings(app_name: str, master: str, log_level: LogLevel, options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a Spark that we start, all but its folders."""
    settings = {
        "spark.app.name": app_name,
        "spark.master": master,
        "spark.jars": ",".join(str(jar) for jar in connector_jars()),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **SQL_SETTINGS,
    }
    if master.startswith("local"):  # on a cluster, workers must reach this process
        settings |= {"spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}
    settings |= options
    java_options = [
        f"-Dlog4j2.configurationFile={_LOGGING}",
        f"-Dbridge.spark.log.level={log_level}",
        settings.get(_JAVA_OPTIONS, ""),
    ]
    settings[_JAVA_OPTIONS] = " ".join(java_options)
    return settings


def _start(settings: Mapping[str, str]) -> None:
    """Start Java and Spark; they end with this Python process if nobody stops them before."""
    global _java  # noqa: PLW0603 - pyspark too has one Java process for each Python process
    try:
        _java = _Java()
        _java.start(settings)
    except BaseException as error:
        _end()
        if isinstance(error, DevKafkaError):  # no Java
            raise SparkSideError(str(error)) from None
        if isinstance(error, PySparkRuntimeError | Py4JError | ConnectionError):
            raise SparkSideError(f"Spark did not start: {error}") from error
        raise


def _end() -> None:
    """End the Java process that `session` started, if there is one."""
    global _java
    if _java is not None:
        java, _java = _java, None
        java.end()


class _Java:
    """The Java process of this Python process, and the temporary folder of both."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="amqp-kafka-bridge-spark-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: threading.Thread | None = None

    def start(self, settings: Mapping[str, str]) -> None:
        """Start Java, and Spark in it."""
        folders = {
            "spark.local.dir": str(self._folder),
            "spark.sql.warehouse.dir": str(self._folder / "warehouse"),
        }
        conf = SparkConf(loadDefaults=False).setAll([*folders.items(), *settings.items()])
        if _DROPS_ARTIFACTS:
            # Java keeps the first value for what it does itself; Hadoop's file systems ask for
            # the present one, so that relative paths mean what they mean in Python.
            conf.set(_JAVA_OPTIONS, f"-Duser.dir={self._folder} {settings[_JAVA_OPTIONS]}")
        with _environment("JAVA_HOME", str(java_home())):
            gateway = self._launch(conf)
        self._process = gateway.proc
        # Java deletes what is in it. Should this process be killed, it deletes the folder too.
        gateway.jvm.java.io.File(str(self._folder)).deleteOnExit()
        if _DROPS_ARTIFACTS:
            gateway.jvm.System.setProperty("user.dir", str(Path.cwd()))
            gateway.jvm.org.apache.hadoop.fs.FileSystem.closeAll()
        SparkContext(conf=conf, gateway=gateway)

    def _launch(self, conf: SparkConf) -> Any:  # noqa: ANN401 - py4j has no types
        """Start the Java process and return pyspark's connection to it."""
        errors, end_of_java = os.pipe()
        self._errors = threading.Thread(target=_forward, args=(errors,), name="spark-errors", daemon=True)
        self._errors.start()
        try:
            # In a session of its own, no signal of the terminal reaches Java. What ends it with
            # this process is the pipe at its standard input.
            return launch_gateway(  # type: ignore[no-untyped-call] # pyspark has not typed it
                conf, {"start_new_session": True, "stderr": end_of_java}
            )
        finally:
            os.close(end_of_java)

    def end(self) -> None:
        """End Java, wait until it has, and delete the temporary folder."""
        gateway = SparkContext._gateway  # noqa: SLF001 - no public way
        if gateway is not None:
            with contextlib.suppress(Py4JError, OSError):
                gateway.shutdown()
        # pyspark would go on using the connection to a Java process that is gone.
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - as above
        SparkContext._active_spark_context = None  # noqa: SLF001 - as above
        if (java := self._process) is not None:
            if java.stdin is not None:
                java.stdin.close()
            try:
                java.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                java.kill()
                java.wait()
        if self._errors is not None:
            self._errors.join(_FLUSH_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)


def _forward(errors: int) -> None:
    """Copy what Java writes to standard error to ours, but for what it says on every start."""
    with open(errors, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.startswith(_ALWAYS_SAID):
                with contextlib.suppress(ValueError):  # ours is closed
                    sys.stderr.write(line)


_java: _Java | None = None
atexit.register(_end)


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set an environment variable for child processes that are started meanwhile."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
