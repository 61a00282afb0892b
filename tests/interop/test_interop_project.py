"""What the clients are built of is pinned, no registry is named, and the README is true."""

from __future__ import annotations

import json
import re
from typing import Final
from xml.etree import ElementTree as ET

from interop.libraries import LIBRARIES
from interop.toolchain import SOURCES

EXACT: Final = re.compile(r"\d+(\.\d+)*")
POM: Final = "{http://maven.apache.org/POM/4.0.0}"


def test_rhea_and_what_it_needs_are_locked_by_their_hashes() -> None:
    package = json.loads((SOURCES / "rhea" / "package.json").read_text())
    packages = json.loads((SOURCES / "rhea" / "package-lock.json").read_text())["packages"]
    installed = {name: each for name, each in packages.items() if name}

    assert all(EXACT.fullmatch(version) for version in package["dependencies"].values())
    assert packages[""]["dependencies"] == package["dependencies"]
    assert {name for name in package["dependencies"] if f"node_modules/{name}" not in installed} == set()
    assert [name for name, each in installed.items() if not each["integrity"].startswith("sha512-")] == []
    assert [name for name, each in installed.items() if "resolved" in each] == []


def test_go_amqp_is_locked_by_its_hash() -> None:
    required = re.findall(r"^require (\S+) (v\S+)$", (SOURCES / "go" / "go.mod").read_text(), re.MULTILINE)
    locked = (SOURCES / "go" / "go.sum").read_text()

    assert required
    assert [module for module, version in required if f"{module} {version} h1:" not in locked] == []


def test_jars_and_plugins_have_one_version_each() -> None:
    pom = ET.parse(SOURCES / "jms" / "pom.xml")  # noqa: S314 - the project's own file
    parts = [*pom.iter(f"{POM}dependency"), *pom.iter(f"{POM}plugin")]
    versions = {part.findtext(f"{POM}artifactId"): part.findtext(f"{POM}version") or "" for part in parts}

    assert len(versions) == 5
    assert {name: version for name, version in versions.items() if not EXACT.fullmatch(version)} == {}
    assert [*pom.iter(f"{POM}repository"), *pom.iter(f"{POM}pluginRepository")] == []


def test_the_readme_tells_what_each_library_lacks() -> None:
    rows = {
        (cells[1].strip(" `"), cells[3].strip())
        for line in (SOURCES.parent / "README.md").read_text("utf-8").splitlines()
        if len(cells := line.split("|")) == 5
    }
    reasons = {(name, reason) for name, library in LIBRARIES.items() for reason in library.lacks.values()}

    assert reasons - rows == set()
