from __future__ import annotations

import re

import pytest
from support.repository import ROOT, normalized, pinned, project, read

LOCKS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "requirements").glob("*.txt"))
SERVICE, DEV, BUILD, JDK = (f"requirements/{name}.txt" for name in ("service", "dev", "build", "jdk"))


def names(requirements: list[str]) -> set[str]:
    return {normalized(re.split(r"[^A-Za-z0-9._-]", each, maxsplit=1)[0]) for each in requirements}


@pytest.mark.parametrize("lock", LOCKS)
def test_each_pin_has_hashes_and_no_address(lock: str) -> None:
    text = read(lock)
    logical = [line for line in text.replace("\\\n", "").splitlines() if not re.match(r"\s*#|$", line)]
    assert logical
    for line in logical:
        assert re.match(r"[a-z0-9._-]+==\S+ ", line), line
        assert "--hash=sha256:" in line, line
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text


def test_what_the_project_asks_for_is_pinned() -> None:
    metadata = project()["project"]
    assert names(metadata["dependencies"]) <= pinned(SERVICE).keys()
    extras = [each for extra in metadata["optional-dependencies"].values() for each in extra]
    assert names(extras) == names(extras) & (pinned(DEV) | pinned(JDK)).keys()


def test_tests_run_what_the_service_runs() -> None:
    assert pinned(SERVICE).items() <= pinned(DEV).items()


def test_what_builds_is_one_version_everywhere() -> None:
    common = pinned(BUILD).keys() & pinned(DEV).keys()
    assert {"cffi", "editables", "hatchling"} <= common
    assert {name: pinned(BUILD)[name] for name in common} == {name: pinned(DEV)[name] for name in common}
    assert names(project()["build-system"]["requires"]) <= pinned(BUILD).keys()


def test_the_service_has_neither_spark_nor_java_nor_tools() -> None:
    extras = project()["project"]["optional-dependencies"]
    dependencies = names(project()["project"]["dependencies"])
    unwanted = {"py4j", "pip", "setuptools"} | names([*extras["spark"], *extras["jdk"], *extras["dev"]])
    assert not pinned(SERVICE).keys() & (unwanted - dependencies)


@pytest.mark.parametrize("given", ["pins", "jdk"])
def test_versions_given_by_hand_are_those_that_are_installed(given: str) -> None:
    wanted = pinned(f"requirements/{given}.in")
    assert wanted
    assert wanted.items() <= (pinned(DEV) | pinned(JDK)).items()


def test_the_java_runtime_is_one_version_everywhere() -> None:
    [extra] = project()["project"]["optional-dependencies"]["jdk"]
    assert extra in read("requirements/jdk.in").splitlines()
