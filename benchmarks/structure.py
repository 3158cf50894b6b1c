"""The structure of the code in figures: modules, lines, who imports whom, complexity, who touches the state by SQL.

    python benchmarks/structure.py [CHECKOUT] [--list]

Counted is what stands in the files of a checkout, this one or another. `--list` names the modules imported by one
other, the packages with more than 15 modules of their own, and the functions over a complexity of 20.
"""

from __future__ import annotations

import ast
import os
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from report import report

MOST_OF_PACKAGE, MOST_COMPLEX = 15, 20
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DECISIONS = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.Assert,
    ast.match_case,
    ast.Lambda,
)
DOORS = {"connection", "_connection", "rows", "count"}
"""What a state lends its own modules."""
ASK = ("coset.answering.ask", "coset.answering.asked_run")
"""Where a question is answered; the second is its name in version 0.1."""


def modules_of(source: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            targets = [base, *(f"{base}.{each.name}" for each in node.names)]
        else:
            continue
        yield from (target for target in targets if target in known and target != name)


def complexity_of(function: ast.AST) -> int:
    """One and the number of decisions, as radon counts them: operands of `and` and `or` and the parts of comprehensions
    among them, which ruff leaves out."""
    found, pending = 1, list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop()
        if isinstance(node, FUNCTIONS):
            continue
        if isinstance(node, DECISIONS):
            found += 1
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            found += 1 + len(node.ifs)
        pending += ast.iter_child_nodes(node)
    return found


def functions_of(name: str, path: Path) -> Iterator[tuple[int, str]]:
    """The functions of a module, each with its complexity."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, FUNCTIONS):
            yield complexity_of(node), f"{name}.{node.name}"


def loaded_for_ask(checkout: Path) -> int:
    """How many of coset's modules are loaded before a question can be answered."""
    program = f"import sys\ntry:\n  import {ASK[0]}\nexcept ImportError:\n  import {ASK[1]}\n"
    program += "print(sum(name.split('.')[0] == 'coset' for name in sys.modules))"
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    return int(answer.stdout)


def sends_sql_to_a_state(path: Path) -> bool:
    """Whether a module uses a state's connection, or what only the state's own modules may import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            if node.attr in DOORS and ast.unparse(node.value).endswith(("state", "state.copy")):
                return True
        elif isinstance(node, ast.ImportFrom):
            if node.module == "coset.state.queries":
                return True
        elif isinstance(node, ast.Import) and any(each.name.startswith("coset.state.queries") for each in node.names):
            return True
    return False


def lines_of(folder: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))


def main() -> None:
    arguments = [each for each in sys.argv[1:] if each != "--list"]
    checkout = Path(arguments[0] if arguments else Path(__file__).parents[1])
    known = modules_of(checkout / "src")
    imports = {name: set(imports_of(name, path, known)) for name, path in known.items()}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name, targets in imports.items():
        for target in targets:
            importers[target].add(name)
    files = {name: path for name, path in known.items() if path.name != "__init__.py"}
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in known.items()}
    alone = [name for name in files if len(importers[name]) == 1]
    packages = Counter(name.rpartition(".")[0] for name in files)
    large = {name: count for name, count in packages.items() if count > MOST_OF_PACKAGE}
    functions = sorted((each for name, path in known.items() for each in functions_of(name, path)), reverse=True)
    touching = Counter(".".join(name.split(".")[:2]) for name, path in files.items() if sends_sql_to_a_state(path))
    figures: dict[str, float | str] = {
        "modules": len(known),
        "lines": sum(lines.values()),
        "lines of a module, median": statistics.median(lines.values()),
        "lines of tests": lines_of(checkout / "tests"),
        "modules imported by one other": len(alone),
        "packages with more than 15 modules of their own": len(large),
        "functions": len(functions),
        **{
            f"functions over a complexity of {most}": sum(found > most for found, _ in functions)
            for most in (10, 20, 30)
        },
        "modules that touch the state by SQL": sum(touching.values()),
        "packages that do": ", ".join(sorted(touching)),
        "modules loaded for ask": loaded_for_ask(checkout),
    }  # fmt: skip
    if "--list" in sys.argv:
        for name in sorted(alone):
            print(f"{lines[name]:5} {name} <- {next(iter(importers[name]))}")
        for name, count in sorted(large.items()):
            print(f"{count:5} {name}")
        for each, name in functions:
            if each > MOST_COMPLEX:
                print(f"{each:5} {name}")
    report("structure", figures, "one package touches the state by SQL", len(touching) == 1)


if __name__ == "__main__":
    main()
