"""Environments to learn the judging of joins from: databases with declared keys, pooled so that coincidences abound.

    python benchmarks/relations_pools.py ../shared/corpora FOLDER [--at-once 8] [--only 3]

Every few databases of the corpus become one environment, each database a source of its own, no key declared. Every pool
is written twice: with its own names, and with cryptic ones (a table's letters before each column, words cut short). Its
`joins.json` lists the declared keys and, apart, pairs of columns that refer to the same key. The environments are
comprehended as far as their roles.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import duckdb
import pyarrow as pa
import yaml
from benchmarks.dirty_environment import CleanDatabase, read_corpus
from benchmarks.relations_training import domains

from coset.environment.configuration import load_environment
from coset.use_cases.comprehend import IDENTITIES, NAMES, RELATIONS, SOURCES, TABLES, comprehend

SHARES = (1.0, 1.0, 0.6, 0.3, 0.12)
"""Of a table so many of its rows are kept: not every key is referred to, not every reference has its key."""


def shortened(word: str, rng: random.Random) -> str:
    """A word as a programmer short of letters writes it."""
    if len(word) <= 3 or word.isdigit():
        return word
    if rng.random() < 0.3:
        return word[:3]
    skeleton = word[0] + re.sub("[aeiou]", "", word[1:])
    return (skeleton if len(skeleton) > 1 else word)[:4]


def cryptic(name: str, rng: random.Random) -> str:
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)] or [name]
    return "_".join(shortened(word, rng) for word in words)


class Names:
    """What the tables and columns of a database are called."""

    def __init__(self, database: CleanDatabase, style: str) -> None:
        self.tables = {table.name: table.name for table in database.tables}
        self.columns = {(table.name, column.name): column.name for table in database.tables for column in table.columns}
        if style == "plain":
            return
        rng = random.Random(f"{database.name} {style}")
        mainframe = rng.random() < 0.5
        for table in database.tables:
            short = cryptic(table.name, rng)
            self.tables[table.name] = short.replace("_", "").upper()[:6] if mainframe else short
            start = short.replace("_", "")[:2].upper()
            for column in table.columns:
                name = cryptic(column.name, rng)
                name = start + name.replace("_", "").upper()[:5] if mainframe else name
                self.columns[table.name, column.name] = name
        self._tell_apart(database)

    def _tell_apart(self, database: CleanDatabase) -> None:
        for names in (
            self.tables,
            *({k: v for k, v in self.columns.items() if k[0] == t.name} for t in database.tables),
        ):
            seen: dict[str, int] = {}
            for key, name in names.items():
                seen[name.lower()] = seen.get(name.lower(), 0) + 1
                if seen[name.lower()] > 1:
                    target = self.tables if isinstance(key, str) else self.columns
                    target[key] = f"{name}{seen[name.lower()]}"  # type: ignore[index]


def write_database(database: CleanDatabase, names: Names, path: Path) -> None:
    rng = random.Random(database.name)
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for table in database.tables:
            share = rng.choice(SHARES)
            kept = sorted(rng.sample(range(table.rows), max(min(5, table.rows), int(share * table.rows))))
            arrays = [pa.array([column.values[row] for row in kept]) for column in table.columns]
            connection.register("incoming", pa.table(arrays, names=[f"c{n}" for n in range(len(arrays))]))
            listed = ", ".join(
                f'c{n} AS "{names.columns[table.name, column.name]}"' for n, column in enumerate(table.columns)
            )
            connection.execute(f'CREATE TABLE "{names.tables[table.name]}" AS SELECT {listed} FROM incoming').fetchall()
            connection.unregister("incoming")


def truth_of(database: CleanDatabase, names: Names, source: str) -> tuple[list[list[str]], list[list[str]]]:
    """The declared keys, and for each key all columns that refer to it."""

    def written(table: str, column: str) -> str:
        return f"{source}/main/{names.tables[table]}.{names.columns[table, column]}"

    joins = [
        [written(key.table, key.columns[0]), written(key.parent_table, key.parent_columns[0])]
        for key in database.foreign_keys
        if len(key.columns) == 1
    ]
    members: dict[object, list[str]] = {}
    for (table, column), root in domains(database).items():
        members.setdefault(root, []).append(written(table, column))
    return joins, list(members.values())


def make_pool(databases: list[CleanDatabase], style: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    joins: list[list[str]] = []
    same: list[list[str]] = []
    sources = {}
    for database in databases:
        names = Names(database, style)
        digest = hashlib.sha256(database.name.encode()).hexdigest()[:4]
        source = database.name if style == "plain" else f"s{digest}"
        write_database(database, names, folder / f"{source}.duckdb")
        sources[source] = {"location": f"{source}.duckdb"}
        found, alike = truth_of(database, names, source)
        joins += found
        same += alike
    (folder / "coset.yaml").write_text(yaml.safe_dump({"sources": sources}), encoding="utf-8")
    (folder / "joins.json").write_text(json.dumps({"joins": joins, "same": same}), encoding="utf-8")
    stages = (SOURCES, TABLES, NAMES, RELATIONS, IDENTITIES)
    summary = comprehend(load_environment(folder / "coset.yaml"), stages=stages)
    for name, problem in summary.problems:
        print(f"  {name}: {problem}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--at-once", type=int, default=8, help="databases in one pool")
    parser.add_argument("--only", type=int, help="so many pools and no more")
    given = parser.parse_args()
    databases = []
    for folder in sorted((given.corpora / "rows" / "spider").iterdir()):
        try:
            database = read_corpus(given.corpora, folder.name, "spider")
        except ValueError as error:
            print(f"{folder.name}: {error}", file=sys.stderr)
            continue
        if database.foreign_keys:
            databases.append(database)
    random.Random(0).shuffle(databases)
    pools = [databases[start : start + given.at_once] for start in range(0, len(databases), given.at_once)]
    for number, pool in enumerate(pools[: given.only]):
        for style in ("plain", "cryptic"):
            print(f"pool {number}, {style}: {', '.join(database.name for database in pool)}", file=sys.stderr)
            make_pool(pool, style, given.folder / f"{number:02}-{style}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
