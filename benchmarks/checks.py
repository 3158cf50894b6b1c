"""How often each check warns on right statements, and how many wrong ones it finds, over a company with known truth.

    python benchmarks/checks.py ENVIRONMENT TRUTH [--examples] [--only CHECK]

ENVIRONMENT is a folder with a comprehended coset.yaml; TRUTH has relations.tsv (joins that hold: left, right, how),
copies.tsv (table, copy_of, kind), codes.tsv (column, code_list, outdated_lists) and meanings.tsv (what tables and
columns mean). Statements are made from these: right ones count and add up over originals, joined as they should be,
without rows that are deleted or tests, with dates read in every form they have (in three ways of writing) and amounts
by currency; those over tables with cancelled, reversed or void rows, of which only a document says whether they
count, are unsettled and counted apart; wrong ones read a copy, keep deleted and test rows, add up the one side of a
join, join values that are written differently as they are, decode with an outdated list, compare dates of several
forms as text or read them in one form alone, add up several currencies, or give a row for each of the many side where
one for each of the other was pinned. A check counts as warning when it says `failed` or `doubt`; its precision is right
warnings among all, its recall is over the kinds that it is made for.
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
from typing import Any

from coset.answering.checks import CHECKS, PinnedShape, Proposal, run_checks
from coset.environment.configuration import load_environment
from coset.errors import CosetError
from coset.session.query_session import QuerySession
from coset.sql_text import identifier
from coset.state import EvidenceState

NUMBERS = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "FLOAT", "SMALLINT")
WARNS = {"failed", "doubt"}
MADE_FOR = {
    "join loss": ("values written differently",),
    "fan-out": ("fan-out",),
    "copies": ("copy",),
    "rules": ("missing rule",),
    "code lists": ("outdated list",),
    "cleaning": ("dates as text", "dates in one form"),
    "units": ("several currencies",),
    "grain": ("wrong grain",),
    "duplicates": (),
    "nulls": ("dates in one form",),
}
LEFT_OUT = re.compile(
    r"soft.?delete|deletion|\bdeleted\b|test (record|account|user)|true for test|undone|notification only", re.I
)
"""What meanings of columns say that mark rows which never count."""
UNSETTLED = re.compile(
    r"\b(cancels?|cancelled|reversed|reversals?|void|voided|withdrawn|drafts?|repeats|repetition|duplicates?)\b", re.I
)
"""What meanings of columns say of rows that may or may not count: only a document tells, so a statement over such a
table that leaves none of them out is not known to be right. It is counted apart."""
MARKS = ("'1'", "'D'", "'Y'", "'X'", "'Z'", "'R'", "'T'", "'TRUE'")
DATED = re.compile(r"\b(date|day|from|until|to|time|month|effective)\b", re.I)
FORMS = {
    "%Y-%m-%d": r"^\d{4}-\d{2}-\d{2}$",
    "%d.%m.%Y": r"^\d{2}\.\d{2}\.\d{4}$",
    "%d/%m/%Y": r"^\d{2}/\d{2}/\d{4}$",
    "%Y%m%d": r"^\d{8}$",
}


@dataclass(frozen=True)
class Statement:
    kind: str
    sql: str
    grain: str = ""


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def split(name: str) -> tuple[str, str]:
    """A column's table and name as SQL writes them."""
    *table, column = name.split(".")
    return ".".join(map(identifier, table)), identifier(column)


def table_of(name: str) -> str:
    return ".".join(map(identifier, name.split(".")))


def where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


class Corpus:
    def __init__(self, truth: Path, session: QuerySession) -> None:
        self.truth, self.session = truth, session
        self.meanings = {row["name"]: row["meaning"] for row in rows_of(truth / "meanings.tsv")}
        self.columns: dict[str, list[str]] = defaultdict(list)
        for name in self.meanings:
            self.columns[name.rpartition(".")[0]].append(name.rpartition(".")[2])
        open_ = {name.rpartition(".")[0] for name, meaning in self.meanings.items() if UNSETTLED.search(meaning)}
        self.unsettled = {table_of(name) for name in open_ if name}

    def statements(self) -> Iterator[Statement]:
        for each in self._statements():
            is_open = each.kind == "right" and any(name in each.sql for name in self.unsettled)
            yield Statement("unsettled", each.sql, each.grain) if is_open else each

    def _statements(self) -> Iterator[Statement]:
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
            yield from self._of_one_table(table)
        for row in copies:
            if row["copy_of"]:
                yield Statement("copy", f"SELECT count(*) AS n FROM {table_of(row['table'])}")
        for row in rows_of(self.truth / "codes.tsv"):
            yield from self._outdated(row)

    def _of_one_table(self, table: str) -> Iterator[Statement]:
        name, counted = table_of(table), self._counts(table)
        yield Statement("right", f"SELECT count(*) AS n FROM {name}{where(counted)}")
        numbers = self._numbers(table)[:2]
        for column in numbers[:1] if not self._has_currencies(table) else ():
            yield Statement("right", f"SELECT max({column}) AS largest FROM {name}{where(counted)}")
        if counted:
            yield Statement("missing rule", f"SELECT count(*) AS n FROM {name}")
            key = identifier(self.columns[table][0])
            yield Statement("missing rule", f"SELECT count(DISTINCT {key}) AS n FROM {name}")
            for column in numbers[:1]:
                yield Statement("missing rule", f"SELECT sum({column}) AS total FROM {name}")
        yield from self._currencies(table, numbers, counted)
        for column in self.columns[table]:
            if DATED.search(self.meanings[f"{table}.{column}"]):
                yield from self._dates(table, identifier(column), counted)

    def _counts(self, table: str, alias: str = "") -> list[str]:
        """The conditions that keep out rows which never count, by what the columns mean."""
        found = []
        for column in self.columns[table]:
            if LEFT_OUT.search(self.meanings[f"{table}.{column}"]):
                text = f"upper(coalesce(CAST({alias}{identifier(column)} AS VARCHAR), ''))"
                found.append(f"{text} NOT IN ({', '.join(MARKS)})")
        return found

    def _currencies(self, table: str, numbers: list[str], counted: list[str]) -> Iterator[Statement]:
        for column in self.columns[table]:
            if not re.search(r"\bcurrency\b", self.meanings[f"{table}.{column}"], re.I) or not numbers:
                continue
            currency, name = identifier(column), table_of(table)
            if (self._one(f"SELECT count(DISTINCT {currency}) FROM {name}") or 0) < 2:
                continue
            for number in numbers:
                sums = f"sum({number}) AS total FROM {name}{where(counted)}"
                yield Statement("several currencies", f"SELECT {sums}")
                yield Statement("right", f"SELECT {currency}, {sums} GROUP BY 1")
                one = where([*counted, f"{currency} = (SELECT min({currency}) FROM {name})"])
                yield Statement("right", f"SELECT sum({number}) AS total FROM {name}{one}")

    def _dates(self, table: str, column: str, counted: list[str]) -> Iterator[Statement]:
        """Dates that are texts: as they are, and read in all their forms."""
        name = table_of(table)
        shares = self._row(
            "SELECT "
            + ", ".join(
                f"count(*) FILTER (regexp_matches(CAST({column} AS VARCHAR), '{form}'))" for form in FORMS.values()
            )
            + f", any_value(typeof({column})) FROM {name}"
        )
        if shares is None or shares[-1] != "VARCHAR":
            return
        forms = [each for each, count in zip(FORMS, shares, strict=False) if count]
        if not forms:
            return
        if forms == ["%Y-%m-%d"]:
            late = where([*counted, f"{column} >= '2024-07-01'"])
            yield Statement("right", f"SELECT count(*) AS n FROM {name}{late}")
            yield Statement("right", f"SELECT max({column}) AS last FROM {name}{where(counted)}")
            return
        tried = ", ".join(f"try_strptime({column}, '{form}')" for form in forms)
        cases = " ".join(
            f"WHEN regexp_matches({column}, '{FORMS[form]}') THEN strptime({column}, '{form}')" for form in forms
        )
        ways = (
            f"coalesce({tried})" if len(forms) > 1 else tried,
            f"CASE {cases} END",
            f"try_strptime({column}, [{', '.join(repr(form) for form in forms)}])",
        )
        for way in ways:
            late = where([*counted, f"{way} >= DATE '2024-07-01'"])
            yield Statement("right", f"SELECT count(*) AS n FROM {name}{late}")
        inner = f"(SELECT {ways[0]} AS day FROM {name}{where(counted)})"
        yield Statement("right", f"WITH read AS {inner} SELECT max(day) AS last FROM read")
        if len(forms) > 1:
            one = f"(SELECT try_strptime({column}, '{forms[0]}') AS day FROM {name}{where(counted)})"
            yield Statement("dates in one form", f"WITH read AS {one} SELECT max(day) AS last FROM read")
            first = f"avg(date_diff('day', DATE '2000-01-01', try_strptime({column}, '{forms[0]}')))"
            yield Statement("dates in one form", f"SELECT {first} AS days FROM {name}{where(counted)}")
        if len(forms) > 1 or forms[0] in {"%d.%m.%Y", "%d/%m/%Y"}:
            late = where([*counted, f"{column} >= '2024-07-01'"])
            yield Statement("dates as text", f"SELECT count(*) AS n FROM {name}{late}")
            yield Statement("dates as text", f"SELECT max({column}) AS last FROM {name}{where(counted)}")

    def _joined(self, row: dict[str, str]) -> Iterator[Statement]:
        (left, a), (right, b) = split(row["left"]), split(row["right"])
        tables = [row[side].rpartition(".")[0] for side in ("left", "right")]
        counted = where([*self._counts(tables[0], "l."), *self._counts(tables[1], "r.")])
        joined = f"FROM {left} l JOIN {right} r ON l.{a} = r.{b}"
        if row["how"] != "identity":
            yield Statement("values written differently", f"SELECT count(*) AS n {joined}{counted}")
            yield Statement("values written differently", f"SELECT r.{b}, count(*) AS n {joined}{counted} GROUP BY 1")
            return
        if float(row["share_of_left_rows"] or 0) < 0.9:
            return
        if not self._is_to_one(joined):
            return
        yield Statement("right", f"SELECT count(*) AS n {joined}{counted}")
        yield Statement("right", f"SELECT r.{b}, count(*) AS n {joined}{counted} GROUP BY 1")
        outer = joined.replace(" JOIN ", " LEFT JOIN ")
        yield Statement("right", f"SELECT count(DISTINCT l.{a}) AS n {outer}{where(self._counts(tables[0], 'l.'))}")
        multiplies = self._multiplies(joined)
        for number in self._numbers(tables[0])[:1]:
            if not self._has_currencies(tables[0]):
                yield Statement("right", f"SELECT sum(l.{number}) AS total {joined}{counted}")
        for number in self._numbers(tables[1])[:1]:
            if multiplies:
                yield Statement("fan-out", f"SELECT sum(r.{number}) AS total {joined}{counted}")
                yield Statement("fan-out", f"SELECT avg(r.{number}) AS mean {joined}{counted}")
        if multiplies:
            yield Statement("wrong grain", f"SELECT r.{b} {joined}{counted}", grain=b.strip('"'))

    def _has_currencies(self, table: str) -> bool:
        return any(re.search(r"\bcurrency\b", self.meanings[f"{table}.{each}"], re.I) for each in self.columns[table])

    def _row(self, sql: str) -> tuple[Any, ...] | None:
        try:
            rows = self.session.sql(sql).rows()
        except CosetError:
            return None
        return rows[0] if rows else None

    def _one(self, sql: str) -> Any:
        row = self._row(sql)
        return row[0] if row else None

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

    def _multiplies(self, joined: str) -> bool:
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
    only = sys.argv[sys.argv.index("--only") + 1 :][:1] if "--only" in sys.argv else list(MADE_FOR)
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
            shape = PinnedShape("table", (statement.grain,), grain=statement.grain) if statement.grain else None
            proposal = Proposal([list(row) for row in result.rows()], (statement.sql,), shape, result)
            counted[statement.kind] += 1
            for check in run_checks(proposal, session, state, only=only):
                if check.outcome in WARNS:
                    warned[check.name][statement.kind] += 1
                    examples[check.name, statement.kind].append(f"{statement.sql}: {check.detail[:300]}")
    kinds = sorted(counted, key=lambda kind: (kind != "right", kind))
    wrong = sum(counted.values()) - counted["right"] - counted["unsettled"]
    print(f"{counted['right']} right and {wrong} wrong statements in {time.monotonic() - began:.0f} s")
    print("| check | on right | precision | recall |" + "".join(f" {kind} ({counted[kind]}) |" for kind in kinds))
    print("|---|---|---|---|" + "---|" * len(kinds))
    for name in (name for name in CHECKS if name in only):
        own = sum(counted[kind] for kind in MADE_FOR[name])
        hits = sum(warned[name][kind] for kind in MADE_FOR[name])
        all_ = warned[name].total() - warned[name]["unsettled"]
        on_right = warned[name]["right"] / max(counted["right"], 1)
        precision = f"{(all_ - warned[name]['right']) / all_:.2f}" if all_ else "-"
        recall = f"{hits / own:.2f}" if own else "-"
        shares = "".join(f" {warned[name][kind] / counted[kind]:.2f} |" for kind in kinds)
        print(f"| {name} | {on_right:.3f} | {precision} | {recall} |{shares}")
    if "--examples" in sys.argv:
        for (name, kind), found in sorted(examples.items()):
            if kind == "right":
                print(f"\n{name}, right statements ({len(found)}):")
                print("\n".join(f"  {each}" for each in found[:8]))


if __name__ == "__main__":
    main()
