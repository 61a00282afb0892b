from __future__ import annotations

from pathlib import Path

from bridge.devkafka.cache import cache_root


def test_the_variable_of_its_own_wins(tmp_path: Path) -> None:
    own = tmp_path / "own"

    root = cache_root({"BRIDGE_DEVKAFKA_CACHE": str(own), "XDG_CACHE_HOME": str(tmp_path / "xdg")})

    assert root == own


def test_the_xdg_folder_is_next(tmp_path: Path) -> None:
    assert cache_root({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "amqp-kafka-bridge"


def test_the_home_folder_is_last() -> None:
    assert cache_root({}) == Path.home() / ".cache" / "amqp-kafka-bridge"
    assert cache_root({"XDG_CACHE_HOME": ""}) == cache_root({})


def test_it_is_absolute_because_brokers_run_in_other_folders() -> None:
    assert cache_root({"BRIDGE_DEVKAFKA_CACHE": "relative"}) == Path.cwd() / "relative"
