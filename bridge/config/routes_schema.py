"""The shape of routes.yaml: its JSON schema, and what is wrong with a document by it.

The schema is the one place that says which keys there are, what they take and what they default to.
Beside the words of JSON Schema it has `patternErrorMessage`, which editors show as well, and `x-minimum`
and `x-maximum` for lengths of time.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, cast

from jsonschema import Draft7Validator

from bridge.config.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jsonschema import ValidationError

    from bridge.config.routes_document import Document, Path_

_FILE: Final = "routes.schema.json"
_LONGEST_QUOTE: Final = 60
_FEW: Final = 3

_BYTES: Final = {"": 1, "KiB": 1024, "MiB": 1024 * 1024}
_MILLISECONDS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_QUANTITY: Final = re.compile(r"([0-9]+)([A-Za-z]*)")

_KINDS: Final = {
    "object": "a mapping: indented lines of the form key: value",
    "array": "a list: lines that begin with '- '",
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
}


def text() -> str:
    """Return the schema as it is shipped, in JSON Schema draft 7, which editors understand."""
    return resources.files("bridge.config").joinpath(_FILE).read_text("utf-8")


@cache
def schema() -> Mapping[str, Any]:
    """Return the schema, which is not to be modified."""
    loaded: Mapping[str, Any] = json.loads(text())
    return loaded


def of_a_route() -> Mapping[str, Any]:
    """Return what the schema says about each key of a route."""
    keys: Mapping[str, Any] = schema()["properties"]["routes"]["items"]["properties"]
    return keys


def size(value: int | str) -> int:
    """Return the bytes of a size that the schema allows: a number, perhaps with KiB or MiB."""
    return _quantity(str(value), _BYTES)


def duration_ms(value: str) -> int:
    """Return the milliseconds of a length of time that the schema allows, as in 10s."""
    return _quantity(value, _MILLISECONDS)


def _quantity(written: str, units: Mapping[str, int]) -> int:
    found = _QUANTITY.fullmatch(written)
    if found is None:
        raise ValueError(f"{written!r} is no quantity")
    return int(found[1]) * units[found[2]]


def key_of(path: Path_) -> str | None:
    """Return the key that operators read for a place in a document: `deduplicate_window.time`."""
    names = [part for part in path[2:] if isinstance(part, str)]
    if names:
        return ".".join(names)
    return path[0] if path and isinstance(path[0], str) else None


def violations(document: Document) -> Iterator[tuple[Path_, Problem]]:
    """Yield what is wrong with the shape of a document, and where: paths of values, or of unknown keys."""
    wrong = set()
    for error in Draft7Validator(schema()).iter_errors(document.content):
        path: Path_ = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            yield from _unknown_keys(error, path, document)
        elif path not in wrong:  # of several objections to a value the first, about its type, says most
            wrong.add(path)
            yield path, Problem(_message(error, path), key_of(path), document.places.get(path))
    yield from _out_of_range(document)


def _unknown_keys(error: ValidationError, path: Path_, document: Document) -> Iterator[tuple[Path_, Problem]]:
    known = list(cast("Mapping[str, Any]", error.schema)["properties"])
    for key in cast("Mapping[str, object]", error.instance):
        if key not in known:
            snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).replace("-", "_").lower()
            nearest = next(iter(get_close_matches(snake, known, n=1)), None)
            few = nearest is None and len(known) <= _FEW
            message = f"no such key; the keys here are: {', '.join(known)}" if few else "no such key"
            at = (*path, key)
            yield at, Problem(message, key_of(at), document.key_places.get(at), nearest)


def _message(error: ValidationError, path: Path_) -> str:
    """Return a clause that says what is wrong with a value and what is expected."""
    value: Any = error.instance
    wanted: Any = error.validator_value
    subschema = cast("Mapping[str, Any]", error.schema)
    if value is None:
        return _empty(path)
    explain: Mapping[str, Callable[[], str]] = {
        "required": lambda: f"{next(key for key in wanted if key not in value)} is missing",
        "type": lambda: _wrong_type(value, wanted, subschema),
        "enum": lambda: f"{_quoted(value)} is not one of {', '.join(dict.fromkeys(map(str, wanted)))}",
        "pattern": lambda: f"{_quoted(value)}: {subschema['patternErrorMessage']}",
        "minimum": lambda: _range(value, wanted, subschema["maximum"]),
        "maximum": lambda: _range(value, subschema["minimum"], wanted),
        "minLength": lambda: "is empty; give a value or leave it out",
        "maxLength": lambda: f"is longer than {wanted} characters",
        "minItems": lambda: "is empty; give values or leave it out",
        "maxItems": lambda: f"has {len(value)} entries; {wanted} are allowed",
    }
    return explain[str(error.validator)]()


def _empty(path: Path_) -> str:
    if path and path[-1] == "match":
        return "is empty; what begins with '#' has to be in quotes, as in \"#\""
    return "is empty; give a value or leave it out"


def _wrong_type(value: object, wanted: str | list[str], subschema: Mapping[str, Any]) -> str:
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, dict) and "string" in wanted:
        return "a value that begins with '{' has to be in quotes, as in \"{device}.events\""
    if "string" in wanted and isinstance(value, int) and "integer" not in wanted:
        if "x-minimum" in subschema:
            return f"{value} has no unit: {subschema['patternErrorMessage']}"
        return f"{_quoted(value)} is not text; put it in quotes"
    if "patternErrorMessage" in subschema:
        return f"{_quoted(value)}: {subschema['patternErrorMessage']}"
    return f"{_quoted(value)} is not {' or '.join(_KINDS[kind] for kind in wanted)}"


def _out_of_range(document: Document) -> Iterator[tuple[Path_, Problem]]:
    """Yield the quantities with units that are too small or too large: the schema's own words miss them."""
    for path, value, subschema in _quantities(document.content):
        try:
            if "x-minimum" in subschema:
                low, high = subschema["x-minimum"], subschema["x-maximum"]
                fits = duration_ms(low) <= duration_ms(value) <= duration_ms(high)
            else:
                low, high = subschema["minimum"], subschema["maximum"]
                fits = low <= size(value) <= high
        except (KeyError, ValueError):
            continue  # which is told already
        if not fits:
            yield path, Problem(_range(value, low, high), key_of(path), document.places.get(path))


def _quantities(content: object) -> Iterator[tuple[Path_, str, Mapping[str, Any]]]:
    """Yield the texts in a document that stand for a quantity, with their part of the schema."""
    routes = content.get("routes") if isinstance(content, dict) else None
    for number, route in enumerate(routes if isinstance(routes, list) else []):
        pending: list[tuple[Path_, object, Mapping[str, Any]]] = [(("routes", number), route, of_a_route())]
        while pending:
            path, values, keys = pending.pop()
            for key, value in values.items() if isinstance(values, dict) else ():
                subschema = keys.get(key, {})
                if "properties" in subschema:
                    pending.append(((*path, key), value, subschema["properties"]))
                elif "patternErrorMessage" in subschema and isinstance(value, str):
                    yield (*path, key), value, subschema


def _range(value: object, low: object, high: object) -> str:
    return f"{value} is not allowed: {low} to {high}"


def _quoted(value: object) -> str:
    """Return a value for a message as the file has it, and not long."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            shown = repr(value)
            return shown if len(shown) <= _LONGEST_QUOTE else shown[:_LONGEST_QUOTE] + "..."
