from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from support.repository import ROOT, files, read

from bridge.cli import main

DOCUMENTS: Final = [str(path.relative_to(ROOT)) for path in files() if path.suffix == ".md"]
RECORDS: Final = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("0*.md"))
HEADINGS: Final = ["Context", "Decision", "Alternatives", "Consequences"]


def prose(text: str) -> str:
    """Return a document without its blocks of code, whose # is no heading and [] no link."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def targets() -> dict[str, str]:
    """Return the targets of the Makefile that `make help` shows, and what it says of them."""
    return dict(re.findall(r"^([a-z-]+):.*?## (.+)$", read("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(read(name))):
        path = link.partition("#")[0]
        if path and "://" not in link:
            assert (ROOT / name).parent.joinpath(path).exists(), link


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_has_one_title(name: str) -> None:
    assert len(re.findall(r"^# ", prose(read(name)), re.MULTILINE)) == 1


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_the_commands_that_are_named_exist(name: str) -> None:
    text = read(name)
    made = set(re.findall(r"\bmake ([a-z-]+)\b", "\n".join(re.findall(r"`[^`]*`", text))))
    assert made
    assert made <= targets().keys()
    commands = set(re.findall(r"\bbridge ([a-z]+)\b", "\n".join(re.findall(r"`[^`\n]*`", text))))
    assert commands <= set(main.list_commands(None))  # type: ignore[arg-type] # the context is not used


def test_each_target_is_explained() -> None:
    phony = re.findall(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)
    assert {name for names in phony for name in names.split()} == targets().keys()


def test_records_are_numbered_without_a_gap() -> None:
    assert [int(name[:4]) for name in RECORDS] == list(range(len(RECORDS)))
    assert len(RECORDS) > 1


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_says_what_and_why_on_one_page(name: str) -> None:
    text = read(f"docs/decisions/{name}")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert re.match(rf"# {name[:4]}: \S", text)
    assert re.search(r"^- Status: (accepted|superseded by \[\d{4}\]|template)", text, re.MULTILINE)
    assert len(text.splitlines()) <= 60
    assert f"]({name})" in read("docs/decisions/README.md")


def test_the_changelog_has_a_place_for_what_comes() -> None:
    assert re.search(r"^## \[Unreleased\]$", read("CHANGELOG.md"), re.MULTILINE)


def test_every_suite_is_described() -> None:
    suites = {path.parent.name for path in files(ROOT / "tests") if path.name.startswith("test_")}
    described = set(re.findall(r"`tests/(\w+)`", read("CONTRIBUTING.md")))
    assert suites <= described
    assert Path(ROOT, ".ci", "run").stat().st_mode & 0o111
