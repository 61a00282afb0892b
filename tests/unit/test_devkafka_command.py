from __future__ import annotations

import pytest
from click.testing import CliRunner

from bridge.devkafka.command import devkafka


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--brokers", "2"], "'2' is not one of '1', '3'"),
        (["--port", "65535"], "65535 is not in the range"),
        (["--property", "message.max.bytes"], "'message.max.bytes' is not KEY=VALUE"),
        (["--property", "=1"], "'=1' is not KEY=VALUE"),
    ],
)
def test_a_wrong_option_is_explained(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(devkafka, arguments)

    assert result.exit_code == 2
    assert complaint in result.stderr


def test_the_help_shows_how_to_use_it() -> None:
    result = CliRunner().invoke(devkafka, ["--help"])

    assert result.exit_code == 0
    assert "bridge devkafka --port 9092\n" in result.stdout
