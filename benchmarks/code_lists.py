"""Code lists found against those that are known: python benchmarks/code_lists.py ENVIRONMENT TRUTH.tsv [--list]

Reads the `code_lists` of the environment's state, and a file with the columns `column` and `code_list` (its first name
is the list's table; further words, and a column `chosen_by`, may name the domain as `X = Y`). A column counts where its
surest current list is in that table, with each `Y` in its condition. Also: how many of the outdated lists that the file
names by table are known as outdated for the column.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

from copies import Place, only_schemas, place_of

from coset.environment.configuration import load_environment
from coset.state import EvidenceState
from coset.state.objects import CodeList


def main(environment_path: Path, truth_path: Path, listed: bool) -> None:
    environment = load_environment(environment_path / "coset.yaml")
    with EvidenceState.read(environment.state_folder) as state:
        lists, only = state.code_lists(), only_schemas(state)
    with truth_path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["code_list"]]
    right = outdated = named = 0
    for row in rows:
        found = [each for each in lists if is_column(place_of(each.column, only), place_of(row["column"]))]
        table = place_of(row["code_list"].split(",")[0])
        told = f"{row['code_list']} {row.get('chosen_by') or ''}"
        domains = re.findall(r"=\s*'?([\w-]+)", told)
        current = [each for each in found if each.status == "current"]
        is_right = bool(current) and is_it(current[0], table, domains, only)
        right += is_right
        wrong = row.get("outdated_lists") or row.get("outdated") or ""
        tables = {place_of(name) for name in re.findall(r"\b\w+(?:\.\w+)+", wrong)}
        named += len(tables)
        outdated += sum(
            any(place_of(each.list, only) == one and each.status == "outdated" for each in found) for one in tables
        )
        if listed and not is_right:
            shown = "; ".join(f"{each.list} {each.condition or ''} {each.confidence}" for each in current[:2])
            print("wrong", row["column"], told, "found:", shown or "none", sep="\t")
    print(f"{right} of {len(rows)} columns have their right list: {right / len(rows):.3f}; "
          f"{outdated} of {named} outdated lists are known as such; {len({each.column for each in lists})} columns "
          "have a list")  # fmt: skip


def is_column(found: Place, wanted: Place) -> bool:
    """A column of a family (`day_{}`) is that of each of its members."""
    return len(found) == len(wanted) and all(
        re.fullmatch(re.escape(one).replace(r"\{\}", ".+"), other) for one, other in zip(found, wanted, strict=True)
    )


def is_it(found: CodeList, table: Place, domains: list[str], only: set[Place]) -> bool:
    condition = (found.condition or "").lower()
    return place_of(found.list, only) == table and all(f"'{domain.lower()}'" in condition for domain in domains)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    main(Path(arguments[0]), Path(arguments[1]), "--list" in sys.argv)
