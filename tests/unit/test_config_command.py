from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from bridge.config.command import check

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "bridge.properties"


def _check(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(check, arguments, env=dict(environment))


def _columns(output: str, key: str) -> list[str]:
    [line] = [line for line in output.splitlines() if line.startswith(f"{key} ")]
    return line.split(maxsplit=2)


def test_it_prints_what_would_run(file: Path) -> None:
    file.write_text("amqp.host=[::1]\nkafka.bootstrap.servers=kafka:9092\n", encoding="utf-8")
    result = _check("--config", str(file), BRIDGE_AMQP_PORT="5673")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert _columns(result.stdout, "amqp.port")[1:] == [
        "5673",
        "environment variable BRIDGE_AMQP_PORT",
    ]
    assert [cell.strip() for cell in _columns(result.stdout, "amqp.host")[1:]] == [
        "::1",
        f"{file} line 1",
    ]
    assert _columns(result.stdout, "log.level")[1:] == ["info", "default"]


def test_values_are_not_read_as_markup(file: Path) -> None:
    file.write_text("amqp.container.id=[red]bridge[/red]\n", encoding="utf-8")
    result = _check("--config", str(file))
    assert _columns(result.stdout, "amqp.container.id")[1] == "[red]bridge[/red]"


def test_problems_go_to_standard_error_with_exit_code_2(file: Path) -> None:
    file.write_text("amqp.prot=1\n", encoding="utf-8")
    result = _check("--config", str(file))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        "the configuration has a problem:\n"
        f"  {file} line 1: amqp.prot: no such option; did you mean amqp.port?\n"
    )


def test_the_file_may_be_named_by_a_variable(file: Path) -> None:
    file.write_text("log.level=debug\n", encoding="utf-8")
    result = _check(BRIDGE_CONFIG=str(file))
    assert _columns(result.stdout, "log.level")[1] == "debug"


def test_doubts_and_what_is_missing_are_warnings(file: Path) -> None:
    file.write_text("kafka.producer.ling.ms=1\n", encoding="utf-8")
    result = _check("--config", str(file))
    assert result.exit_code == 0
    first, second = result.stderr.splitlines()
    assert first.startswith(f"warning: {file} line 1: kafka.producer.ling.ms: librdkafka ")
    assert second.startswith("warning: kafka.bootstrap.servers is not set")


def test_secrets_are_not_printed() -> None:
    result = _check(
        BRIDGE_KAFKA_SECURITY_PROTOCOL="SASL_SSL",
        BRIDGE_KAFKA_SASL_MECHANISM="PLAIN",
        BRIDGE_KAFKA_SASL_PASSWORD="hunter2",  # noqa: S106 - a password that must not be seen
    )
    assert result.exit_code == 0
    assert "kafka.sasl.password" in result.stdout
    assert "hunter2" not in result.output


def test_help_teaches() -> None:
    result = _check("--help")
    assert result.exit_code == 0
    for part in ("--config FILE", "BRIDGE_CONFIG", "Examples:", "Exit codes:"):
        assert part in result.stdout
