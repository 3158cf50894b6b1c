"""SQL that people wrote, as evidence: which tables it uses, how it joins them, what it filters, what it computes.

In: views of the sources, `.sql` files and semantic models (dbt, OSI, Cube, ...) named under `queries:`. Out: rows of
`written_sql` and `sql_uses`, with references instead of aliases. A statement that cannot be parsed is kept with its
problem; what is computed in a subquery or CTE is not traced further down. Nothing is run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from coset.environment.source import Source, Table, WrittenQuery
from coset.errors import CosetError
from coset.evidence.documents.files import expand
from coset.semantics.extension import described
from coset.semantics.model import SemanticModel
from coset.semantics.read import ENDINGS, read_semantic_model
from coset.state import EvidenceState
from coset.state.documents import SqlUseRow, WrittenSqlRow, replace_written_sql
from coset.state.names import parts_of
from coset.state.objects import Reference
from coset.state.rows import document

MOST_STATEMENTS = 5_000
LONGEST_STATEMENT = 200_000
MOST_FILE_BYTES = 50_000_000
DIALECTS = {"postgresql": "postgres", "postgresql_dump": "postgres", "mysql": "mysql", "sqlite": "sqlite"}

UseKind = Literal["join", "filter", "formula", "rename"]


@dataclass(frozen=True)
class SqlUse:
    """One thing that a statement does. `join`: `columns` equal `others`, as `text` says; `filter`: a condition on
    `columns`; `formula`: `columns` computed to what the statement calls `name`; `rename`: one column called `name`."""

    kind: UseKind
    columns: tuple[str, ...]
    text: str
    others: tuple[str, ...] = ()
    name: str | None = None


@dataclass(frozen=True)
class Analysis:
    tables: tuple[str, ...]
    uses: tuple[SqlUse, ...]
    problem: str | None = None


class KnownTables:
    """The tables that a statement of one source can name: its own, and with the name of their source all others."""

    def __init__(self, source: str | None, tables: Mapping[str, Sequence[Table]]) -> None:
        """`source` None: statements of no source, which may name any table that is the only one of its name."""
        self.source = source
        self._by_name: dict[tuple[str, ...], list[tuple[Reference, Table]]] = {}
        for owner, several in tables.items():
            for table in several:
                found = (Reference(owner, table.schema, table.name), table)
                schema = () if table.schema is None else (table.schema.lower(),)
                name = table.name.lower()
                ways = {(owner.lower(), *schema, name), (owner.lower(), name)}
                ways |= {(*schema, name), (name,)} if source in (owner, None) else set()
                for way in ways:
                    self._by_name.setdefault(way, []).append(found)

    def find(self, *parts: str) -> tuple[Reference, Table] | None:
        """The table of this name, where it is one; longer names may begin with a database that is not ours."""
        written = tuple(part.lower() for part in parts if part)
        for start in range(len(written)):
            found = self._by_name.get(written[start:], [])
            plain = self.source is not None and len(written) == 1
            if len(found) == 1 or (found and plain and found[0][1].schema in {None, "public", "main"}):
                return found[0]
        return None


def analyse(text: str, known: KnownTables, dialect: str | None) -> Analysis:
    """What a statement uses and does."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if len(text) > LONGEST_STATEMENT:
        return Analysis((), (), f"is longer than {LONGEST_STATEMENT:,} characters")
    try:
        tree = sqlglot.parse_one(without_templates(text), dialect=dialect)
    except (SqlglotError, RecursionError, ValueError) as error:
        return Analysis((), (), f"cannot be parsed: {str(error).splitlines()[0][:200]}")
    query = tree.find(exp.Query) if tree is not None else None
    if query is None:
        return Analysis((), (), "holds no query")
    tables: dict[str, None] = {}
    uses: dict[SqlUse, None] = {}
    try:
        for select in query.find_all(exp.Select):
            places = _places(select, known)
            tables |= {str(reference): None for reference, _ in places.values()}
            uses |= dict.fromkeys(_uses(select, places))
    except (SqlglotError, RecursionError) as error:
        return Analysis(tuple(tables), tuple(uses), f"cannot be followed: {str(error).splitlines()[0][:200]}")
    return Analysis(tuple(tables), tuple(uses))


Places = dict[str, tuple[Reference, Table]]


def _places(select: Any, known: KnownTables) -> Places:
    """The tables of the environment behind the names that a SELECT gives them; its own CTEs are none."""
    from sqlglot import exp

    hidden = {each.alias.lower() for each in select.root().find_all(exp.CTE)}
    found: Places = {}
    for table in select.find_all(exp.Table):
        if table.find_ancestor(exp.Select) is not select or (table.name.lower() in hidden and not table.db):
            continue
        if place := known.find(table.catalog, table.db, table.name):
            found[table.alias_or_name.lower()] = place
    return found


def _uses(select: Any, places: Places) -> Iterator[SqlUse]:
    from sqlglot import exp

    if not places:
        return
    conditions = [select.args["where"].this] if select.args.get("where") else []
    for join in select.find_all(exp.Join):
        if join.find_ancestor(exp.Select) is select:
            conditions += [join.args["on"]] if join.args.get("on") else []
            yield from _using(join, places)
    for condition in conditions:
        condition = condition.unnest()
        for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
            if not part.find(exp.Query):
                yield from _condition(part.unnest(), places)
    yield from _projections(select, places)


def _projections(select: Any, places: Places) -> Iterator[SqlUse]:
    from sqlglot import exp

    for projection in select.expressions:
        computed = projection.unalias()
        columns = _columns(computed, places)
        name = projection.alias or None
        if columns and isinstance(computed, exp.Column):
            if name and name.lower() != computed.name.lower():
                yield SqlUse("rename", tuple(columns.values()), computed.sql(dialect="duckdb"), name=name)
        elif columns and not computed.find(exp.Query):
            yield SqlUse("formula", tuple(dict.fromkeys(columns.values())), computed.sql(dialect="duckdb"), name=name)


def _condition(part: Any, places: Places) -> Iterator[SqlUse]:
    from sqlglot import exp

    columns = _columns(part, places)
    if not columns:
        return
    text = part.sql(dialect="duckdb")
    if isinstance(part, exp.EQ):
        left, right = _columns(part.left, places), _columns(part.right, places)
        if left and right and not {_owner(each) for each in left.values()} & {_owner(each) for each in right.values()}:
            yield SqlUse("join", tuple(left.values()), text, tuple(right.values()))
            return
    if len({_owner(each) for each in columns.values()}) == 1:
        yield SqlUse("filter", tuple(dict.fromkeys(columns.values())), text)


def _using(join: Any, places: Places) -> Iterator[SqlUse]:
    for name in (each.name for each in join.args.get("using") or ()):
        owners = [reference for alias in places if (reference := _column(name, alias, places))]
        if len(owners) == 2:
            yield SqlUse("join", (owners[0],), f"USING ({name})", (owners[1],))


def _columns(expression: Any, places: Places) -> dict[str, str]:
    from sqlglot import exp

    found = {}
    for column in expression.find_all(exp.Column):
        if reference := _column(column.name, column.table.lower(), places):
            found[column.sql()] = reference
    return found


def _column(name: str, alias: str, places: Places) -> str | None:
    """The reference of a column; without an alias, of the one table that has it."""
    candidates = [places[alias]] if alias in places else ([] if alias else list(places.values()))
    found = [
        str(Reference(reference.source, reference.schema, reference.table, (column.name,)))
        for reference, table in candidates
        for column in table.columns
        if column.name.lower() == name.lower()
    ]
    return found[0] if len(found) == 1 else None


def _owner(reference: str) -> str:
    return reference.rsplit(".", 1)[0]


def without_templates(text: str) -> str:
    """A dbt model as SQL: `ref` and `source` as the tables they name, other templates left out."""
    if "{" not in text:
        return text
    text = re.sub(r"\{\{\s*ref\(\s*(?:['\"][^'\"]+['\"]\s*,\s*)?['\"]([^'\"]+)['\"]\s*\)\s*\}\}", r"\1", text)
    text = re.sub(r"\{\{\s*source\(\s*['\"]([^'\"]+)['\"]\s*,\s*['\"]([^'\"]+)['\"]\s*\)\s*\}\}", r"\1.\2", text)
    text = re.sub(r"\{[%#].*?[%#]\}", " ", text, flags=re.DOTALL)
    return re.sub(r"\{\{.*?\}\}", "NULL", text, flags=re.DOTALL)


def statements_of_file(path: Path) -> Iterator[WrittenQuery]:
    """The queries of a `.sql` file, each named by its place."""
    text = path.read_text(encoding="utf-8", errors="replace")
    parts = [part for part in re.split(r";\s*(?:\n|$)", text) if re.search(r"\b(select|with)\b", part, re.IGNORECASE)]
    for number, part in enumerate(parts, start=1):
        yield WrittenQuery(path.name if len(parts) == 1 else f"{path.name}#{number}", part, None, "file")


def comprehend_written_sql(
    state: EvidenceState, sources: Mapping[str, Source], tables: Mapping[str, Sequence[Table]],
    of_environment: Sequence[str] = (),
) -> list[tuple[str, str]]:  # fmt: skip
    """Bring `written_sql` and `sql_uses` up to date. `of_environment`: files that name tables of any source. Answers
    with what could not be read."""
    problems: list[tuple[str, str]] = []
    for name, source in sources.items():
        queries, models = _files(source.settings.queries, problems)
        try:
            queries = [*source.written_queries(), *queries]
        except CosetError as error:
            problems.append((f"{name}: views", str(error)))
        dialect = DIALECTS.get(source.kind, "duckdb")
        _keep(state, name, queries, models, KnownTables(name, tables), tables.get(name, ()), dialect)
    queries, models = _files(of_environment, problems)
    if queries or models or state.meta(f"written_sql {EVERYWHERE}"):
        everything = [table for several in tables.values() for table in several]
        _keep(state, EVERYWHERE, queries, models, KnownTables(None, tables), everything, "duckdb")
    return problems


def _keep(
    state: EvidenceState, name: str, queries: Sequence[WrittenQuery], models: Sequence[SemanticModel],
    known: KnownTables, listed: Sequence[Table], dialect: str,
) -> None:  # fmt: skip
    """Analyse and store, where something is not as it was."""
    # The stage of documents writes them anew each time.
    state.add_documents([row for each in models for row in _described(each, known)])
    shape = [[each.schema, each.name, [column.name for column in each.columns]] for each in listed]
    digest = hashlib.sha256(json.dumps([shape, [str(each) for each in (*queries, *models)]]).encode()).hexdigest()
    if state.meta(f"written_sql {name}") == digest:
        return
    rows, uses = [], []
    for number, query in enumerate(queries[:MOST_STATEMENTS]):
        analysis = analyse(query.text, known, dialect)
        statement = f"{name}/{query.schema + '/' if query.schema else ''}{query.name}"
        reference = f"{statement}#{query.origin}{number}"
        rows.append(
            WrittenSqlRow(
                reference, name, query.origin, query.name, query.text[:LONGEST_STATEMENT], tuple(analysis.tables),
                analysis.problem,
            )
        )  # fmt: skip
        uses += [_use_row(reference, name, each) for each in analysis.uses]
    for model in models:
        reference = f"{name}#{model.format}"
        uses += [_use_row(reference, name, each) for each in (*_joins(model, known), *_figures(model, known, dialect))]
    with state.transaction():
        replace_written_sql(state, name, rows, uses)
        state.set_meta(f"written_sql {name}", digest)


EVERYWHERE = "*"
"""What stands for a source where statements may use all of them."""
CONFIRMED = "questions"
"""What stands for a source where a statement is that of an answer which a person confirmed."""


def comprehend_confirmed(
    state: EvidenceState, answered: Sequence[tuple[str, str]], tables: Mapping[str, Sequence[Table]]
) -> None:
    """Mine the statements of confirmed answers, as (question, statement), like any SQL that people wrote."""
    known = KnownTables("", tables)
    rows, uses = [], []
    for number, (question, sql) in enumerate(answered):
        analysis = analyse(sql, known, "duckdb")
        reference = f"{CONFIRMED}#{number}"
        text = sql[:LONGEST_STATEMENT]
        rows.append(
            WrittenSqlRow(reference, CONFIRMED, "answer", question, text, tuple(analysis.tables), analysis.problem)
        )
        uses += [_use_row(reference, CONFIRMED, each) for each in analysis.uses]
    replace_written_sql(state, CONFIRMED, rows, uses)


def _files(
    patterns: Sequence[str], problems: list[tuple[str, str]]
) -> tuple[list[WrittenQuery], list[SemanticModel]]:  # fmt: skip
    """The statements and semantic models of files; what is neither is named."""
    queries: list[WrittenQuery] = []
    models: list[SemanticModel] = []
    for path in expand(patterns, problems, endings=(".sql", *ENDINGS)):
        try:
            if path.stat().st_size > MOST_FILE_BYTES:
                problems.append((str(path), f"is larger than {MOST_FILE_BYTES // 1_000_000} MB"))
            elif path.suffix.lower() == ".sql":
                queries += statements_of_file(path)
            elif model := read_semantic_model(path):
                models.append(model)
                queries += [WrittenQuery(each.name, each.sql, each.schema, "dbt") for each in model.queries]
            else:
                problems.append((str(path), "is no semantic model of a kind that is known"))
        except CosetError as error:
            problems.append((str(path), f"cannot be read: {error}"))
        except (OSError, ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
            problems.append((str(path), f"cannot be read ({type(error).__name__}: {str(error)[:200]})"))
    return queries, models


def _table(name: str, known: KnownTables) -> tuple[Reference, Table] | None:
    return known.find(*parts_of(name))


def _joins(model: SemanticModel, known: KnownTables) -> Iterator[SqlUse]:
    """The relationships that a model declares."""
    for join in model.relationships:
        places = {side: found for side, name in (("l", join.left), ("r", join.right)) if (found := _table(name, known))}
        if len(places) < 2:
            continue
        left = [column for name in join.left_columns if (column := _column(name, "l", places))]
        right = [column for name in join.right_columns if (column := _column(name, "r", places))]
        if left and len(left) == len(join.left_columns) and len(right) == len(join.right_columns):
            text = f"{join.left_expression} = {join.right_expression}" if join.left_expression else ""
            yield SqlUse("join", tuple(left), text or f"declared by {model.format}", tuple(right), "relationships")


def _figures(model: SemanticModel, known: KnownTables, dialect: str) -> Iterator[SqlUse]:
    """The metrics that a model defines, as formulas over the columns that they name."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    for metric in model.metrics:
        places = {name.lower(): found for name in metric.datasets if (found := _table(name, known))}
        try:
            tree = sqlglot.parse_one(metric.expression, dialect=dialect)
        except (SqlglotError, RecursionError, ValueError):
            continue
        aliases = {str(index): found for index, found in enumerate(places.values())}
        columns = tuple(dict.fromkeys(_columns(_without_tables(tree), aliases).values()))
        if columns:
            text = metric.expression + (f" WHERE {metric.condition}" if metric.condition else "")
            yield SqlUse("formula", columns, text, name=metric.name)


def _without_tables(tree: Any) -> Any:
    """Columns by their own names: what a model calls a table is no alias of ours."""
    from sqlglot import exp

    return tree.transform(lambda node: exp.column(node.name) if isinstance(node, exp.Column) else node)


def _described(model: SemanticModel, known: KnownTables) -> Iterator[dict[str, Any]]:
    """What a model says of tables and columns, its rules and metrics among it."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for place, text in (*_said_of_datasets(model, known), *_said_by_rules(model, known)):
        said[place].append(text)
    for place, texts in said.items():
        title = f"{model.format} model"
        yield document(f"{place}#{model.format}", None, place, "semantic model", title, "\n".join(texts), "stated")


def _said_of_datasets(model: SemanticModel, known: KnownTables) -> Iterator[tuple[str, str]]:
    for dataset in model.datasets:
        if (found := _table(dataset.name, known)) is None:
            continue
        if text := described(dataset.label, dataset.description):
            yield str(found[0]), text
        for field in dataset.fields:
            column = _column(field.name, "t", {"t": found})
            codes = ", ".join(f"{code.value} = {code.label}" for code in field.codes)
            if column and (text := ". ".join(filter(None, (described(field.label, field.description), codes)))):
                yield column, text


def _said_by_rules(model: SemanticModel, known: KnownTables) -> Iterator[tuple[str, str]]:
    """Rules and metrics, of every table that they are about."""
    texts = [(rule.about, rule.text) for rule in model.rules]
    for metric in model.metrics:
        condition = f" where {metric.condition}" if metric.condition else ""
        text = described(metric.name, metric.description) + f" = {metric.expression}{condition}"
        texts.append((metric.datasets, text))
    for names, text in texts:
        for name in names:
            if found := _table(name, known):
                yield str(found[0]), text


def _use_row(reference: str, source: str, use: SqlUse) -> SqlUseRow:
    return SqlUseRow(reference, source, use.kind, use.columns, use.others, use.text, use.name)
