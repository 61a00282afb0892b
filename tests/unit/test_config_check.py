from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.config import resolve
from bridge.config.check import Row, rows
from bridge.config.options import OPTIONS
from bridge.config.redaction import HIDDEN

if TYPE_CHECKING:
    from pathlib import Path


def test_defaults_are_all_there_in_order() -> None:
    result = rows(resolve(None, {}))
    assert [row.key for row in result] == [option.key for option in OPTIONS]
    assert all(row.is_default for row in result)
    by_key = {row.key: row for row in result}
    assert by_key["amqp.port"] == Row("amqp.port", "5672", "default", is_default=True)
    assert by_key["management.enabled"].value == "true"
    assert by_key["kafka.bootstrap.servers"] == Row("kafka.bootstrap.servers", "", "not set", is_default=True)


def test_origins_are_lines_and_variables_and_secrets_are_hidden(tmp_path: Path) -> None:
    path = tmp_path / "bridge.properties"
    path.write_text(
        "amqp.flowCredit=7\nauto.offset.reset=end\nkafka.security.protocol=SASL_SSL\nkafka.sasl.mechanism=PLAIN\n",
        encoding="utf-8",
    )
    environment = {"BRIDGE_KAFKA_SASL_PASSWORD": "hunter2", "BRIDGE_AMQP_PORT": "0"}
    result = {row.key: row for row in rows(resolve(path, environment))}
    assert result["amqp.port"].origin == "environment variable BRIDGE_AMQP_PORT"
    assert result["amqp.port"].value == "0"
    assert result["amqp.manual.credit"] == Row(
        "amqp.manual.credit", "7", f"{path} line 1, as amqp.flowCredit", is_default=False
    )
    assert result["sink.start"] == Row(
        "sink.start", "latest", f"{path} line 2, as auto.offset.reset", is_default=False
    )
    assert result["kafka.sasl.password"] == Row(
        "kafka.sasl.password",
        HIDDEN,
        "environment variable BRIDGE_KAFKA_SASL_PASSWORD",
        is_default=False,
    )
    assert result["kafka.security.protocol"].value == "SASL_SSL"
    assert list(result)[-3:] == [
        "kafka.sasl.mechanism",
        "kafka.sasl.password",
        "kafka.security.protocol",
    ]
