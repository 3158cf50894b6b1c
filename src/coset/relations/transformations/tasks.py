"""Join tasks on disk: a folder each, with left.csv, right.csv and columns.json naming the columns to join.

Reads a task and writes what was found for it. Knows nothing of the right answer, even where a gold.csv lies beside.
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from coset.errors import UserError
from coset.relations.transformations.matching import match


@dataclass(frozen=True)
class Side:
    """One column with the ids of its rows."""

    column: str
    ids: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    name: str
    left: Side
    right: Side


@dataclass(frozen=True)
class Prediction:
    """The pairs of ids that join, and the rule as an SQL condition on `l` and `r` if there is one."""

    task: str
    pairs: tuple[tuple[str, str], ...]
    rule: str | None

    def as_json(self) -> str:
        return json.dumps({"task": self.task, "pairs": self.pairs, "rule": self.rule}, ensure_ascii=False)


def task_folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}: give the folder that holds one folder for each task")
    found = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not found:
        raise UserError(f"{folder} holds no task: each task is a folder with left.csv, right.csv and columns.json")
    return found


def read_tasks(folder: Path) -> list[Task]:
    """All tasks of a folder, read before any is worked on, so that a broken one is known at once."""
    return [read_task(path) for path in task_folders(folder)]


def read_task(folder: Path) -> Task:
    columns = read_columns(folder / "columns.json")
    return Task(
        folder.name, read_side(folder / "left.csv", columns["left"]), read_side(folder / "right.csv", columns["right"])
    )


def read_columns(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing: it names the columns to join") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error})") from None
    names = {side: content.get(f"{side}_column") if isinstance(content, dict) else None for side in ("left", "right")}
    if not all(isinstance(name, str) for name in names.values()):
        raise UserError(f"{path} must name the columns to join as 'left_column' and 'right_column'")
    return {side: str(name) for side, name in names.items()}


def read_side(path: Path, column: str) -> Side:
    csv.field_size_limit(sys.maxsize)
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            rows = csv.reader(lines)
            header = next(rows, [])
            for name in ("id", column):
                if name not in header:
                    raise UserError(f"{path} has no column '{name}': its columns are {', '.join(header) or 'none'}")
            id_place, value_place = header.index("id"), header.index(column)
            whole = [row for row in rows if len(row) > max(id_place, value_place)]
    except FileNotFoundError:
        raise UserError(f"{path} is missing: a task needs left.csv, right.csv and columns.json") from None
    except (OSError, UnicodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV in UTF-8 ({error})") from None
    return Side(column, tuple(row[id_place] for row in whole), tuple(row[value_place] for row in whole))


def solve(task: Task) -> Prediction:
    found = match(task.left.values, task.right.values)
    pairs = tuple(sorted((task.left.ids[i], task.right.ids[j]) for i, j in found.pairs))
    left, right = (
        exp.column(side.column, table=table, quoted=True).sql(dialect="duckdb")
        for side, table in ((task.left, "l"), (task.right, "r"))
    )
    return Prediction(task.name, pairs, found.condition(left, right))
