"""`coset bench routing`: route questions over schemas on disk and write what was found, for a scorer to read."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import waiting


@click.command()
@click.option("--schemas", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Databases, one JSON line each, plain or .zst.")  # fmt: skip
@click.option("--questions", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Questions, one JSON line each: db, question, and the corpus where there are several.")  # fmt: skip
@click.option("--pool", is_flag=True, help="All databases of the file form one environment.")
@click.option("--evidence/--no-evidence", default=True, show_default=True,
              help="Read the hint that comes with a question (its field evidence) as part of it.")  # fmt: skip
@click.option("--out", "path", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Where the answers go: lines of id, tables, columns, kept, seconds.")  # fmt: skip
def routing(schemas: Path, questions: Path, pool: bool, evidence: bool, path: Path) -> None:
    """Rank the tables and columns that each question needs, and say which columns the default view keeps.

    Without --pool each question sees its own database. Gold columns in the file are never read.

    \b
    coset bench routing --schemas schemas.jsonl.zst --questions questions.jsonl.zst --pool --out found.jsonl
    """
    from coset.identities.model import load_model
    from coset.routing.model import load_routing_model
    from coset.routing.schema_files import read_asked, read_schemas
    from coset.routing.schema_routing import SchemaRouter

    started = time.monotonic()
    model = load_routing_model()
    identities = load_model() if model.ranks_by_demand else None
    databases = {database.key: database for database in read_schemas(schemas)}
    by_name = {key[1]: database for key, database in databases.items()}
    asked = list(read_asked(questions))
    pooled: SchemaRouter | None = None
    if pool:
        with waiting(f"reading {len(databases)} databases"):
            pooled = SchemaRouter(list(databases.values()), model, identities)
    routers: dict[tuple[str, str], SchemaRouter] = {}
    try:
        with path.open("w", encoding="utf-8") as out:
            for question in asked:
                database = databases.get(question.key) or by_name.get(question.key[1])
                router = pooled
                if router is None:
                    if database is None:
                        raise UserError(
                            f"question {question.id} is asked of '{question.key[1]}', which {schemas.name} lacks"
                        )
                    if database.key not in routers:
                        routers[database.key] = SchemaRouter([database], model, identities)
                    router = routers[database.key]
                found = router.route(question.hinted if evidence else question.text)
                line = {
                    "id": question.id, "tables": found.tables, "columns": found.columns, "kept": found.kept,
                    "seconds": round(found.seconds, 6),
                }  # fmt: skip
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    click.echo(
        f"{len(asked):,} questions over {len(databases):,} databases, {time.monotonic() - started:.1f} s: {path}"
    )
