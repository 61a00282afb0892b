"""The rules of CONTRIBUTING.md that no linter knows."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

from support.repository import ROOT, files, project, sources

MODULE_LINES: Final = 400
FUNCTION_LINES: Final = 70
FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)

CODE: Final = {
    str(path.relative_to(ROOT)): path.read_text("utf-8") for path in sources("bridge", "tests", "bench")
}


def tree(name: str) -> ast.Module:
    # Parsed when asked for, and not kept: the trees of all modules are a million objects.
    return ast.parse(CODE[name], name)


def functions(name: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree(name)) if isinstance(node, FUNCTION)]


def is_a_shape(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is a docstring alone, as those of protocols are."""
    return len(function.body) == 1 and isinstance(function.body[0], ast.Expr)


def pure_modules() -> list[str]:
    """Return the modules of the folders that the first import contract keeps free of I/O."""
    contracts = project()["tool"]["importlinter"]["contracts"]
    [contract] = [each for each in contracts if each["name"].startswith("Pure")]
    folders = tuple(f"{name.replace('.', '/')}/" for name in contract["source_modules"])
    return [name for name in CODE if name.startswith(folders)]


def refuse(found: list[str], because: str) -> None:
    """Fail with the whole list of what breaks a rule."""
    assert not found, "\n  ".join([because, *found])


def test_a_module_can_be_read_in_one_sitting() -> None:
    # The length of a test module follows from the cases that there are.
    lines = {
        name: len(text.splitlines()) for name, text in CODE.items() if not Path(name).name.startswith("test_")
    }
    compiled = [path for path in files(ROOT / "bridge") if path.suffix in {".pyx", ".pxd"}]
    assert compiled
    lines |= {path.name: len(path.read_text("utf-8").splitlines()) for path in compiled}
    long = [f"{name}: {count} lines" for name, count in lines.items() if count > MODULE_LINES]
    refuse(long, "a long module has two steps of the road in it")


def test_a_function_is_one_thought() -> None:
    long = [
        f"{name}:{function.lineno}: {function.name}: {count} lines"
        for name in CODE
        for function in functions(name)
        if (count := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES
    ]
    refuse(long, "a long function has two thoughts in it")


def test_a_module_says_what_it_does() -> None:
    product = [name for name in CODE if name.startswith("bridge/")]
    first = {name: (ast.get_docstring(tree(name)) or "").partition("\n")[0] for name in product}
    silent = [name for name, line in first.items() if not line.endswith((".", ":", "?"))]
    refuse(silent, "the first line of a module's docstring is a sentence about it")


def test_a_pure_module_that_computes_has_tests_of_its_own() -> None:
    computing = [
        name
        for name in pure_modules()
        if any(not each.name.startswith("__") and not is_a_shape(each) for each in functions(name))
    ]
    assert computing
    tests = {f"tests/unit/test_{name.removeprefix('bridge/').replace('/', '_')}" for name in computing}
    refuse(sorted(tests - CODE.keys()), "a pure module is tested by a module of its name")


def test_the_repository_speaks_of_no_machine_and_no_registry() -> None:
    folders = "root|home|work|Users"
    # Put together here, so that this file does not say it either.
    registries = "|".join(["py" + "pi", "python" + "hosted", "repo1." + "maven", "npm" + "js", "go" + "lang"])
    forbidden = re.compile(rf"(?<![\w.\-/])/({folders})/\w|\b({registries})\.(com|io|org)\b")
    found = []
    for path in files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # pictures and the like
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in forbidden.finditer(text)]
    refuse(found, "a checkout has no such folder, and a company has a registry of its own")
