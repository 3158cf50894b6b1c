"""`python -m benchmarks.dirty_environment --out DIR [--from DB_OR_FOLDER] [--database NAME] [--seed 7] ...`"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .company import make_company
from .generate import make_dirty_environment
from .options import ENGINES, preset
from .reading import read_corpus, read_database


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="dirty_environment", description=__doc__)
    parser.add_argument(
        "--from", dest="source", type=Path, help="a SQLite or DuckDB file, or a corpus folder; else a made-up company"
    )
    parser.add_argument("--database", help="which database of the corpus folder, as `name` or `corpus/name`")
    parser.add_argument("--out", type=Path, required=True, help="a folder that is new or empty")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", default=",".join(ENGINES), help="some of %(default)s")
    parser.add_argument("--dirt", choices=["light", "medium", "heavy"], default="medium")
    parser.add_argument("--size", type=float, default=1.0, help="of the made-up company; 1 is about 6,000 rows")
    given = parser.parse_args(arguments)
    engines = tuple(engine for engine in ENGINES if engine in given.engines.split(","))
    unknown = set(given.engines.split(",")) - set(ENGINES)
    if unknown:
        parser.error(f"no engine is called {', '.join(sorted(unknown))}; there are {', '.join(ENGINES)}")
    try:
        if given.source is None:
            database = make_company(given.seed, given.size)
        elif given.source.is_dir():
            if not given.database:
                parser.error("name the database of the corpus folder with --database")
            corpus, _, name = given.database.rpartition("/")
            database = read_corpus(given.source, name, corpus or None)
        else:
            database = read_database(given.source)
        truth = make_dirty_environment(database, given.out, seed=given.seed, options=preset(given.dirt, engines))
    except (OSError, ValueError) as error:
        print(f"dirty_environment: {error}", file=sys.stderr)
        return 2
    print(f"{given.out}: {len(truth.sources)} sources, {sum(len(table.names) for table in truth.tables)} tables")
    print(
        f"{len(truth.joins)} joins, {len(truth.texts)} attributes in text, "
        f"{len(truth.duplicates)} duplicated entities, {len(truth.diagnostics)} diagnostics"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
