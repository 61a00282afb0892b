"""docs/conditions.md names what the bridge says, all of it and nothing else."""

from __future__ import annotations

import ast
import re
from typing import Final

from confluent_kafka import KafkaError
from support.repository import read, sources

from bridge.kafka import error_tables
from bridge.kafka.failures import classify
from bridge.model import conditions, dialect
from bridge.source import outcomes
from bridge.source.outcomes import Place

GUIDE: Final = "docs/conditions.md"
OF_THE_ENGINE: Final = frozenset({"amqp:session:window-violation", "amqp:session:invalid-field"})
"""What Proton says by itself: tests/wire/test_wire_closes.py has it say so."""
ROW: Final = re.compile(
    r"^\| (attach|detach|message|close)-[a-z-]+ \| (`([a-z:-]+)`|that of \[Kafka's error\])"
)
SYMBOL: Final = re.compile(r"amqp:[a-z-]+(?::[a-z-]+)?")


def section(title: str) -> str:
    """Return what stands under a heading of the guide."""
    _, _, rest = read(GUIDE).partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the tables' rows, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [each for place, each in enumerate(cells) if not _is_head(cells, place)]


def _is_head(cells: list[list[str]], place: int) -> bool:
    ruled = [set("".join(each)) <= set("-") for each in cells[place : place + 2]]
    return any(ruled)


def constants() -> dict[str, str]:
    """Return the names of `bridge.model.conditions` with their symbols."""
    return {
        name: value for name, value in vars(conditions).items() if name.isupper() and name != "FORMER_KEY"
    }


def used(module: str) -> set[str]:
    """Return the names that the code of the bridge uses of a module of `bridge.model`."""
    names: set[str] = set()
    for path in sources("bridge"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Attribute(value=ast.Name(id=found), attr=name) if found == module:
                    names.add(name)
                case ast.ImportFrom(module=found, names=imported) if found == f"bridge.model.{module}":
                    names |= {alias.name for alias in imported}
    return names


def literals() -> set[str]:
    """Return symbols of conditions that code has as text, which the constants are for."""
    found: set[str] = set()
    for path in sources("bridge"):
        if path.name == "conditions.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and SYMBOL.fullmatch(node.value)
            ):
                found.add(node.value)
    return found & set(constants().values())


def named() -> set[str]:
    """Return the conditions of the guide's rows."""
    lines = read(GUIDE).splitlines()
    return {found[3] for line in lines if (found := ROW.match(line)) and found[3]}


def test_each_condition_that_is_used_is_in_the_guide_and_no_other() -> None:
    symbols = constants()
    assert named() == {symbols[name] for name in used("conditions") & symbols.keys()} | OF_THE_ENGINE


def test_conditions_are_named_by_their_constants() -> None:
    assert literals() == set()


def test_rows_have_names_of_their_own() -> None:
    names = [cells[0] for cells in rows(read(GUIDE)) if re.match(r"(attach|detach|message|close)-", cells[0])]
    assert len(names) > 50
    assert len(set(names)) == len(names)
    lines = [
        line for line in read(GUIDE).splitlines() if re.match(r"\| (attach|detach|message|close)-", line)
    ]
    assert [line for line in lines if not ROW.match(line)] == []


def test_each_row_says_whether_to_try_again() -> None:
    for title in ("An attach is refused", "A link ends", "A message is rejected", "A connection ends"):
        wrong = [cells for cells in rows(section(title)) if cells[3] not in {"yes", "no", "see info"}]
        assert wrong == []


def test_the_errors_of_kafka_are_told_as_the_guide_says() -> None:
    said: dict[str, str] = {}
    for errors, condition, *_ in rows(section("Kafka's errors")):
        names = re.findall(r"`(\w+)`", errors)
        assert not said.keys() & set(names)
        said |= dict.fromkeys(names, condition.strip("`"))
    done = {
        **error_tables.PERMANENT,
        **dict.fromkeys(error_tables.FENCED, conditions.LINK_STOLEN),
        **dict.fromkeys(error_tables.NOT_STORED, conditions.INTERNAL_ERROR),
    }
    assert said == done


def test_the_info_has_the_keys_of_the_guide() -> None:
    failure = classify(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    condition = outcomes.condition(failure, Place("orders", "connection 1, link a", 3))
    said = condition.for_wire(dialect="amqp").info.keys()
    assert {cells[0].strip("`") for cells in rows(section("The info map"))} == said


def test_the_former_names_are_those_that_are_sent() -> None:
    in_guide = {cells[0].strip("`") for cells in rows(section("Former names"))}
    former = {name: value for name, value in vars(dialect).items() if str(value).startswith("io.strimzi:")}
    del former["FORMER_KEY"]
    assert in_guide == {former[name] for name in used("dialect") & former.keys()}
