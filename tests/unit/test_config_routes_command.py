from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from bridge.config.check import RouteRow, route_rows
from bridge.config.command import check
from bridge.config.routes import Routes
from bridge.config.routes_file import load_routes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "routes.yaml"
    path.write_text('routes:\n  - match: "a.{x}"\n    topic: "{x}"\n  - {match: "#", acks: 1, credit: 5}\n')
    return path


def _check(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(check, arguments, env=dict(environment))


def test_rows_are_in_the_order_of_the_file(file: Path) -> None:
    assert route_rows(Routes()) == []
    assert route_rows(load_routes(file)) == [
        RouteRow("a.{x}", "{x}", "", f"{file} line 2 column 5"),
        RouteRow("#", "as addressed", "acks=1, credit=5", f"{file} line 4 column 5"),
    ]


def test_routes_are_printed_after_the_options(file: Path) -> None:
    result = _check(BRIDGE_ROUTES_FILE=str(file))
    assert result.exit_code == 0
    options, _, routes = result.stdout.partition("\n\n")
    assert f"{file}" in options
    lines = [line.split() for line in routes.splitlines()]
    assert lines[0] == ["route", "topic", "says", "from"]
    assert [line[0] for line in lines[1:]] == ["a.{x}", "#"]


def test_without_routes_there_is_no_table_of_them() -> None:
    assert "\n\n" not in _check().stdout


def test_problems_of_routes_end_the_check_with_code_2(file: Path) -> None:
    file.write_text("routes:\n  - mtch: x\n", encoding="utf-8")
    result = _check(BRIDGE_ROUTES_FILE=str(file))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        "the configuration has 2 problems:\n"
        f"  {file} line 2 column 5: mtch: no such key; did you mean match?\n"
        f"  {file} line 2 column 5: routes: match is missing\n"
    )


def test_the_limits_of_the_properties_hold_for_routes(file: Path) -> None:
    file.write_text("routes: [{match: x, max_message_size: 2MiB}]\n", encoding="utf-8")
    result = _check(BRIDGE_ROUTES_FILE=str(file), BRIDGE_AMQP_MAX_MESSAGE_SIZE_BYTES="1048576")
    assert result.exit_code == 2
    assert "a route can only lower it" in result.stderr


def test_the_schema_is_printed_for_editors() -> None:
    result = _check("--routes-schema", BRIDGE_AMQP_PORT="wrong")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"] == "Routes of amqp-kafka-bridge"
    assert result.stdout.endswith("}\n")
