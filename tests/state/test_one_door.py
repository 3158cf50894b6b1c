"""SQL on the state file stands in one package."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "coset"
DOORS = {"connection", "_connection", "rows", "count"}


def sends_sql_to_a_state(file: Path) -> bool:
    """Whether a module uses a state's connection, or what only the state's own modules may import."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in DOORS
            and ast.unparse(node.value).endswith(("state", "state.copy"))
        ):
            return True
        if isinstance(node, ast.ImportFrom) and node.module in {"coset.state.queries"}:
            return True
        if isinstance(node, ast.Import) and any(each.name.startswith("coset.state.queries") for each in node.names):
            return True
    return False


def test_no_other_package_sends_sql_to_the_state():
    files = [file for file in PACKAGE.rglob("*.py") if file.relative_to(PACKAGE).parts[0] != "state"]
    assert len(files) > 200
    assert sends_sql_to_a_state(PACKAGE / "state" / "readings.py")
    past = sorted(str(file.relative_to(PACKAGE)) for file in files if sends_sql_to_a_state(file))
    assert past == []
