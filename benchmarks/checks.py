"""How often each check warns on right statements, and how many wrong ones it finds, over a company with known truth.

    python benchmarks/checks.py ENVIRONMENT TRUTH

ENVIRONMENT is a folder with a comprehended coset.yaml; TRUTH has relations.tsv (joins that hold: left, right, how),
copies.tsv (table, copy_of, kind) and codes.tsv (column, code_list, outdated_lists). Statements are made from these:
right ones count and add up over originals, joined as they should be; wrong ones read a copy, add up the one side of a
join, join values that are written differently as they are, or decode with an outdated list. A check counts as warning
when it says `failed` or `doubt`.
"""

from __future__ import annotations

import csv
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coset.answering.checks import CHECKS, Proposal, run_checks
from coset.environment.configuration import load_environment
from coset.errors import CosetError
from coset.session.query_session import QuerySession
from coset.sql_text import identifier
from coset.state import EvidenceState

NUMBERS = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "FLOAT", "SMALLINT")
WARNS = {"failed", "doubt"}
LOOKED_AT = ("join loss", "fan-out", "copies", "rules", "code lists", "cleaning", "units", "nulls", "duplicates")


@dataclass(frozen=True)
class Statement:
    kind: str
    sql: str


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def split(name: str) -> tuple[str, str]:
    """A column's table and name as SQL writes them."""
    *table, column = name.split(".")
    return ".".join(map(identifier, table)), identifier(column)


def table_of(name: str) -> str:
    return ".".join(map(identifier, name.split(".")))


class Corpus:
    def __init__(self, truth: Path, session: QuerySession) -> None:
        self.truth, self.session = truth, session

    def statements(self) -> Iterator[Statement]:
        copies = rows_of(self.truth / "copies.tsv")
        copied = {row["table"] for row in copies}
        live: set[str] = set()
        for row in rows_of(self.truth / "relations.tsv"):
            owners = {each.rpartition(".")[0] for each in (row["left"], row["right"])}
            if owners & copied or "[" in row["left"] + row["right"]:
                continue
            live |= owners
            yield from self._joined(row)
        for table in sorted(live):
            yield Statement("right", f"SELECT count(*) AS n FROM {table_of(table)}")
            for column in self._numbers(table)[:1]:
                yield Statement("right", f"SELECT max({column}) AS largest FROM {table_of(table)}")
        for row in copies:
            if row["copy_of"]:
                yield Statement("copy", f"SELECT count(*) AS n FROM {table_of(row['table'])}")
        for row in rows_of(self.truth / "codes.tsv"):
            yield from self._outdated(row)

    def _joined(self, row: dict[str, str]) -> Iterator[Statement]:
        (left, a), (right, b) = split(row["left"]), split(row["right"])
        joined = f"FROM {left} l JOIN {right} r ON l.{a} = r.{b}"
        if row["how"] != "identity":
            yield Statement("values written differently", f"SELECT count(*) AS n {joined}")
            return
        if float(row["share_of_left_rows"] or 0) < 0.9:
            return
        if not self._is_to_one(joined):
            return
        yield Statement("right", f"SELECT count(*) AS n {joined}")
        yield Statement("right", f"SELECT r.{b}, count(*) AS n {joined} GROUP BY 1")
        for number in self._numbers(row["left"].rpartition(".")[0])[:1]:
            yield Statement("right", f"SELECT sum(l.{number}) AS total {joined}")
        for number in self._numbers(row["right"].rpartition(".")[0])[:1]:
            if self._multiplies(joined, left):
                yield Statement("fan-out", f"SELECT sum(r.{number}) AS total {joined}")

    def _numbers(self, table: str) -> list[str]:
        """Columns that hold amounts rather than keys: fractions, or many different numbers that are no key."""
        try:
            described = self.session.sql(f"SELECT * FROM {table_of(table)} LIMIT 1")
        except CosetError:
            return []
        return [
            identifier(name)
            for name, kind in zip(described.columns, described.types, strict=True)
            if kind.startswith(("DOUBLE", "DECIMAL", "FLOAT"))
        ]

    def _is_to_one(self, joined: str) -> bool:
        """Whether no row of the left side has several partners: else a list is not narrowed, or pairs are meant."""
        try:
            found = self.session.sql(f"SELECT count(*) = count(DISTINCT l) {joined}").rows()
        except CosetError:
            return False
        return bool(found and found[0][0])

    def _multiplies(self, joined: str, left: str) -> bool:
        try:
            found = self.session.sql(f"SELECT count(*) > count(DISTINCT r) {joined}").rows()
        except CosetError:
            return False
        return bool(found and found[0][0])

    def _outdated(self, row: dict[str, str]) -> Iterator[Statement]:
        table, column = split(row["column"])
        for written in re.findall(r"[a-z]+\.[\w.]+", row.get("outdated_lists") or row.get("outdated") or ""):
            code = self._code_column(table, column, written)
            if code:
                joined = f"FROM {table} l JOIN {table_of(written)} r ON l.{column} = r.{code}"
                yield Statement("outdated list", f"SELECT r.{code}, count(*) AS n {joined} GROUP BY 1")

    def _code_column(self, table: str, column: str, written: str) -> str | None:
        """The column of a list that holds most of the codes."""
        best: tuple[int, str] = (0, "")
        try:
            for name in self.session.sql(f"SELECT * FROM {table_of(written)} LIMIT 1").columns:
                counted = f"SELECT count(DISTINCT l.{column}) FROM {table} l JOIN {table_of(written)} r ON "
                found = self.session.sql(
                    f"{counted} CAST(l.{column} AS VARCHAR) = CAST(r.{identifier(name)} AS VARCHAR)"
                )
                best = max(best, (int(found.rows()[0][0]), identifier(name)))
        except CosetError:
            return None
        return best[1] or None


def main() -> None:
    folder, truth = Path(sys.argv[1]), Path(sys.argv[2])
    environment = load_environment(folder)
    warned: dict[str, Counter[str]] = defaultdict(Counter)
    counted: Counter[str] = Counter()
    examples: dict[tuple[str, str], list[str]] = defaultdict(list)
    began = time.monotonic()
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        for statement in dict.fromkeys(Corpus(truth, session).statements()):
            try:
                result = session.sql(statement.sql)
            except CosetError:
                continue  # Sources that a statement cannot join as they are say nothing of the checks.
            proposal = Proposal([list(row) for row in result.rows()], (statement.sql,), None, result)
            counted[statement.kind] += 1
            for check in run_checks(proposal, session, state, only=LOOKED_AT):
                if check.outcome in WARNS:
                    warned[check.name][statement.kind] += 1
                    examples[check.name, statement.kind].append(f"{statement.sql}: {check.detail[:200]}")
    kinds = sorted(counted, key=lambda kind: (kind != "right", kind))
    print(f"{sum(counted.values())} statements in {time.monotonic() - began:.0f} s")
    print("| check |" + "".join(f" {kind} ({counted[kind]}) |" for kind in kinds))
    print("|---|" + "---|" * len(kinds))
    for name in (name for name in CHECKS if name in LOOKED_AT):
        print(f"| {name} |" + "".join(f" {warned[name][kind] / counted[kind]:.2f} |" for kind in kinds))
    if "--examples" in sys.argv:
        for (name, kind), found in sorted(examples.items()):
            if kind == "right":
                print(f"\n{name}, right statements:")
                print("\n".join(f"  {each}" for each in found[:8]))


if __name__ == "__main__":
    main()
