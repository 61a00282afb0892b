from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from bridge.spark.command import ingest

NEEDED = ["--topics", "t", "--output", "out", "--checkpoint", "checkpoint"]
# None stands for a module that cannot be imported.
WITHOUT_PYSPARK = """\
import sys
sys.modules["pyspark"] = None
from bridge.spark.command import ingest
ingest(sys.argv[1:])
"""


def run(*arguments: str, **environment: str) -> tuple[int, str]:
    result = CliRunner().invoke(
        ingest, arguments, env={"BRIDGE_KAFKA_BOOTSTRAP_SERVERS": None, **environment}
    )
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--topics", " , "], "names no topic"),
        (["--interval", "10"], "'10' is not a time such as 500ms"),
        (["--interval", "0s"], "'0s' is not a time"),
        (["--interval", "-1s"], "'-1s' is not a time"),
        (["--batch-records", "0"], "0 is not in the range"),
        (["--option", "kafka.security.protocol"], "is not KEY=VALUE"),
        (["--spark-option", "=1"], "'=1' is not KEY=VALUE"),
        (["--once", "--interval", "1s"], "--once and --interval exclude each other"),
    ],
)
def test_a_wrong_option_is_explained(arguments: list[str], complaint: str) -> None:
    code, output = run("--bootstrap-servers", "localhost:1", *NEEDED, *arguments)
    assert code == 2
    assert complaint in output


def test_the_servers_must_be_named() -> None:
    assert run(*NEEDED)[0] == 2


def test_an_unreachable_kafka_is_told_before_java_starts() -> None:
    code, output = run(*NEEDED, BRIDGE_KAFKA_BOOTSTRAP_SERVERS="127.0.0.1:1")
    assert code == 1
    assert output.startswith("Error: No Kafka broker can be reached: 127.0.0.1:1: ")


def test_the_help_needs_no_spark() -> None:
    script = "import sys; from bridge.spark.command import ingest; ingest(['--help'], standalone_mode=False)"
    check = "; assert 'pyspark' not in sys.modules"
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", script + check], capture_output=True, check=True, text=True
    )
    assert "bridge ingest --bootstrap-servers localhost:9092" in done.stdout


def test_a_missing_pyspark_names_the_extra() -> None:
    command = [sys.executable, "-c", WITHOUT_PYSPARK, "--bootstrap-servers", "localhost:1", *NEEDED]
    done = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603 - as above
    assert done.returncode == 1
    assert "pip install 'amqp-kafka-bridge[spark]'" in done.stderr
