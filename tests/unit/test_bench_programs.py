from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.processes import is_running

from bench.programs import BenchError, Program, Servers, await_true, run

if TYPE_CHECKING:
    from pathlib import Path

SERVER = ("http.server", "0", "--bind", "127.0.0.1")
"""A module that runs until it is ended."""


def test_the_result_of_a_program_is_the_json_that_it_printed(tmp_path: Path) -> None:
    file = tmp_path / "given.json"
    file.write_text('{"messages": 3}')

    assert run("json.tool", file) == {"messages": 3}


def test_a_program_that_fails_is_shown_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"python -m json.tool .*: exit code \d(.|\n)*missing.json"):
        run("json.tool", tmp_path / "missing.json")


def test_a_program_that_prints_something_else_has_failed() -> None:
    with pytest.raises(BenchError, match="printed no JSON object"):
        run("calendar", "2025", "1")


def test_a_program_that_takes_too_long_is_killed() -> None:
    with Program(*SERVER) as program:
        with pytest.raises(BenchError, match="did not end within 0 s"):
            program.result(seconds=0.1)
        assert program.is_running

    assert not program.is_running


def test_a_program_that_ends_is_not_waited_for_in_vain(tmp_path: Path) -> None:
    with (
        Program("json.tool", tmp_path / "missing.json") as program,
        pytest.raises(BenchError, match=r"ended before it said 'attached'(.|\n)*missing.json"),
    ):
        program.await_said("attached", seconds=30)


def test_what_a_program_said_is_seen(tmp_path: Path) -> None:
    with Program("json.tool", tmp_path / "missing.json") as program:
        program.await_said("missing.json", seconds=30)


def test_servers_do_not_outlive_their_block(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        server = servers.start(*SERVER)
        assert servers.running == [server]

    assert not is_running(server.process_id)


def test_a_server_that_ends_before_it_is_ready_is_shown_with_its_log(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        server = servers.start("json.tool", tmp_path / "missing.json")

        with pytest.raises(BenchError, match=r"json.tool ended with exit code(.|\n)*missing.json"):
            server.await_ready_line()


def test_what_does_not_happen_is_not_waited_for_longer_than_it_may_take() -> None:
    with pytest.raises(BenchError, match="in vain"):
        await_true(lambda: False, 0.05, lambda: "in vain")
