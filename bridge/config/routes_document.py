"""Reads a YAML file into plain values that know their lines. It judges no key.

Values are what JSON has, without fractions: `yes`, dates, octal and other guesses of YAML 1.1 stay text.
Aliases and merge keys (`<<`) work, up to a size; nothing else of YAML's machinery does, and nothing in
the file makes an object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

from bridge.config.problems import FileLine, Problem

if TYPE_CHECKING:
    from pathlib import Path

Path_: TypeAlias = tuple[str | int, ...]
"""Where a value is in a document: the keys and numbers that lead to it."""

FILE_BYTES_MAX: Final = 1_048_576
NODES_MAX: Final = 100_000
"""Values in a file, those that aliases repeat counted each time."""
DEPTH_MAX: Final = 16

_MAP: Final = "tag:yaml.org,2002:map"
_SEQUENCE: Final = "tag:yaml.org,2002:seq"
_TEXT: Final = "tag:yaml.org,2002:str"
_NULL: Final = "tag:yaml.org,2002:null"
_BOOLEAN: Final = "tag:yaml.org,2002:bool"
_WHOLE: Final = "tag:yaml.org,2002:int"
_MERGE: Final = "tag:yaml.org,2002:merge"

_PLAIN: Final = {
    _NULL: (re.compile(r"~|null|Null|NULL|"), "~nN"),
    _BOOLEAN: (re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    _WHOLE: (re.compile(r"[-+]?[0-9]{1,18}"), "-+0123456789"),
    _MERGE: (re.compile(r"<<"), "<"),
}
"""What plain scalars are but text (YAML 1.2.2, 10.3.2), and the characters that these begin with."""

_TOO_DEEP: Final = "values are nested too deep"
_UNQUOTED: Final = re.compile(r":\s+[{*&%@`]")
_IN_QUOTES: Final = "a value that begins with '*', '{' or '#' has to be in quotes, as in match: \"*.orders\""


class _Loader(yaml.SafeLoader):
    """Composes nodes of the few kinds above; its constructors are not used."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as in PyYAML
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            event = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML's stubs do not say
            raise yaml.composer.ComposerError(None, None, _TOO_DEEP, event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


for _tag, (_form, _first) in _PLAIN.items():
    _Loader.add_implicit_resolver(_tag, re.compile(f"(?:{_form.pattern})$"), list(_first))
_Loader.add_implicit_resolver(_NULL, re.compile("$"), [""])


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says, and where: `places` are those of values, `key_places` those of keys."""

    content: Any
    places: dict[Path_, FileLine] = field(default_factory=dict)
    key_places: dict[Path_, FileLine] = field(default_factory=dict)


def read(path: Path, problems: list[Problem]) -> Document | None:
    """Return what a UTF-8 file says; what is wrong with it goes into `problems`.

    None: it could not be read to its end.
    """
    text = _text(path, problems)
    if text is None:
        return None
    reader = _Reader(path, problems)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            problems.append(Problem("is empty; it begins with: routes:", place=FileLine(path, 1)))
            return None
        return reader.document(node)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problems.append(Problem("has a character that YAML does not allow", place=FileLine(path, line)))
    except yaml.MarkedYAMLError as error:
        problems.append(_not_yaml(error, path, text))
    except _TooLargeError as error:
        problems.append(Problem(str(error), place=error.place))
    return None


def _text(path: Path, problems: list[Problem]) -> str | None:
    try:
        with path.open("rb") as file:
            octets = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        problems.append(Problem(f"cannot read {path}: {error.strerror or 'I/O error'}"))
        return None
    if len(octets) > FILE_BYTES_MAX:
        problems.append(Problem(f"{path} has more than {FILE_BYTES_MAX} bytes; it cannot be meant"))
        return None
    try:
        return octets.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = octets.count(b"\n", 0, error.start) + 1
        problems.append(Problem("this is not UTF-8", place=FileLine(path, line)))
        return None


def _not_yaml(error: yaml.MarkedYAMLError, path: Path, text: str) -> Problem:
    """Return what is wrong with the syntax, and what to do about the mistakes that are easily made."""
    mark = error.problem_mark or error.context_mark
    said, within = error.problem or "it cannot be read", error.context or ""
    line = "" if mark is None else "".join(text.splitlines()[mark.line : mark.line + 1])
    message = f"this is not YAML: {said}"
    if "\\t" in said:
        message = "there is a tab; YAML takes blanks only, for indentation and between words"
    elif "single document" in within:
        message = "a second document begins here; the file is one, without '---' between its parts"
    elif "quoted scalar" in within and "end of" in said:
        message, mark = "the quotes that begin here are not closed", error.context_mark
    elif said == _TOO_DEEP:
        message = _TOO_DEEP
    elif "alias" in f"{said} {within}" or _UNQUOTED.search(line):
        message = f"{message}; {_IN_QUOTES}"
    elif "<block end>" in said:
        message = f"{message}; look at the indentation: the keys of one route begin in one column"
    place = None if mark is None else FileLine(path, mark.line + 1, mark.column + 1)
    return Problem(message, place=place)


class _TooLargeError(Exception):
    def __init__(self, message: str, place: FileLine) -> None:
        super().__init__(message)
        self.place = place


class _Reader:
    """Turns nodes into values and notes their places."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self._path = path
        self._problems = problems
        self._nodes = 0
        self._depth = 0
        self._places: dict[Path_, FileLine] = {}
        self._key_places: dict[Path_, FileLine] = {}

    def document(self, node: yaml.Node) -> Document:
        return Document(self._value(node, ()), self._places, self._key_places)

    def _place(self, node: yaml.Node) -> FileLine:
        mark = node.start_mark
        return FileLine(self._path, mark.line + 1, mark.column + 1)

    def _report(self, message: str, node: yaml.Node, key: str | None = None) -> None:
        problem = Problem(message, key, self._place(node))
        if problem not in self._problems:  # an alias is read each time
            self._problems.append(problem)

    def _count(self, node: yaml.Node) -> None:
        self._nodes += 1
        if self._nodes > NODES_MAX:
            raise _TooLargeError(
                f"with what its aliases repeat, the file has more than {NODES_MAX} values; write less",
                self._place(node),
            )

    def _value(self, node: yaml.Node, path: Path_) -> object:
        self._count(node)
        self._places[path] = self._place(node)
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise _TooLargeError("an alias contains itself, or values are nested too deep", self._place(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                self._check_tag(node, _SEQUENCE)
                return [self._value(item, (*path, number)) for number, item in enumerate(node.value)]
            return self._scalar(node)
        finally:
            self._depth -= 1

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, object]:
        values = {}
        for key, (key_node, value_node) in self._entries(node).items():
            self._key_places[(*path, key)] = self._place(key_node)
            values[key] = self._value(value_node, (*path, key))
        return values

    def _entries(self, node: yaml.MappingNode, depth: int = 0) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the entries of a mapping: its own, then those it merges, the first of a name winning."""
        self._check_tag(node, _MAP)
        if depth > DEPTH_MAX:
            raise _TooLargeError("a merged mapping contains itself", self._place(node))
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            self._count(key_node)
            if key_node.tag == _MERGE:
                merges = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for each in merges:
                    if isinstance(each, yaml.MappingNode):
                        merged = {**self._entries(each, depth + 1), **merged}
                    else:
                        self._report("takes an alias of a mapping, as in <<: *name", each, "<<")
            elif not isinstance(key_node, yaml.ScalarNode):
                self._report("a key is one word", key_node)
            elif key_node.value in own:
                first = self._place(own[key_node.value][0])
                self._report(f"is set already, in line {first.line}; keep one", key_node, key_node.value)
            else:
                own[key_node.value] = key_node, value_node
        return {**own, **{key: entry for key, entry in merged.items() if key not in own}}

    def _scalar(self, node: yaml.Node) -> object:
        text: str = node.value
        if node.tag in _PLAIN and node.tag != _MERGE and _PLAIN[node.tag][0].fullmatch(text):
            if node.tag == _NULL:
                return None
            return int(text) if node.tag == _WHOLE else text.lower() == "true"
        if node.tag != _MERGE:
            self._check_tag(node, _TEXT)
        return text

    def _check_tag(self, node: yaml.Node, expected: str) -> None:
        if node.tag != expected:
            self._report(f"the tag {node.tag!r} has no meaning here; leave it out", node)
