"""Cube data models in YAML: cubes with dimensions, joins and measures; views of them are passed over.

In: a `SemanticModel` or the YAML. Out: the other. What Cube has no key for stands under `meta: coset:`. `{CUBE}` and
names of cubes in SQL are the columns of their tables; dimensions that compute something are no columns, and their SQL
is kept as a metric of one row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from coset.semantics.extension import (
    dataset_said,
    field_said,
    join_said,
    model_said,
    read_field,
    read_join,
    read_metrics,
    read_rules,
)
from coset.semantics.model import Dataset, Field, Metric, Relationship, SemanticModel
from coset.semantics.parts import Parts, listed, of_kind, texts, unquoted, without_empty

KINDS = {"n:1": "many_to_one", "1:1": "one_to_one", "1:n": "one_to_many", "n:m": "many_to_one", "": "many_to_one"}
_BACK = {
    "many_to_one": "n:1", "belongsTo": "n:1", "one_to_one": "1:1", "hasOne": "1:1", "one_to_many": "1:n",
    "hasMany": "1:n",
}  # fmt: skip
AGGREGATES = {
    "sum": "SUM({})", "avg": "AVG({})", "min": "MIN({})", "max": "MAX({})", "count": "COUNT({})",
    "count_distinct": "COUNT(DISTINCT {})", "count_distinct_approx": "COUNT(DISTINCT {})",
}  # fmt: skip
_REFERENCE = re.compile(r"\$?\{([A-Za-z_]\w*)(?:\.(\w+))?\}(?:\.(\"(?:[^\"]|\"\")*\"|\w+))?")
_COLUMN = re.compile(r"(?:\{CUBE\}\.)?(\"(?:[^\"]|\"\")*\"|[A-Za-z_]\w*)")


def to_cube(model: SemanticModel) -> dict[str, Any]:
    names = {dataset.name: _identifier(dataset.name) for dataset in model.datasets}
    cubes = []
    for number, dataset in enumerate(model.datasets):
        joins = [each for each in model.relationships if each.left == dataset.name and each.right in names]
        meta = dataset_said(dataset) | {"joins": [join_said(each) for each in joins]}
        if number == 0:
            meta |= {"model": model_said(model)}
        cubes.append(without_empty({
            "name": names[dataset.name],
            "sql_table": ".".join(_quoted(part) for part in dataset.name.split(".")),
            "title": dataset.label,
            "description": dataset.description,
            "joins": [
                {"name": names[each.right], "relationship": KINDS[each.cardinality], "sql": _condition(each, names)}
                for each in joins if each.right != dataset.name
            ],
            "dimensions": [_dimension(each, each.name in dataset.primary_key) for each in dataset.fields],
            "measures": [{"name": "count", "type": "count"}],
            "meta": {"coset": said} if (said := without_empty(meta)) else {},
        }))  # fmt: skip
    return {"cubes": cubes}


def from_cube(document: Mapping[str, Any]) -> SemanticModel:
    cubes = [each for each in listed(document, "cubes") if each.text("name")]
    tables = {each.text("name"): _table(each) for each in cubes}
    datasets, relationships, metrics, rules = [], [], [], []
    name = description = ""
    for cube in cubes:
        said = cube.part("meta").part("coset")
        table = tables[cube.text("name")]
        columns = [(each, _column_of(each.text("sql") or each.text("name"))) for each in cube.all("dimensions")]
        fields = tuple(_read_dimension(each, column) for each, column in columns if column)
        key = texts(said.get("primary_key")) or tuple(
            column for each, column in columns if column and each.get("primary_key") is True
        )
        datasets.append(Dataset(
            table, cube.text("title"), cube.text("description"), texts(said.get("synonyms")), said.text("entity"),
            of_kind(said.get("rows"), int), key, fields, texts(said.get("copies")),
        ))  # fmt: skip
        if said:
            relationships += [read_join(table, each) for each in said.all("joins")]
        else:
            relationships += _joins(cube, tables)
        metrics += read_metrics(said.part("model"))
        metrics += _measures(cube, table)
        metrics += [
            Metric(each.text("name"), _plain(each.text("sql")), each.text("description", "title"), (table,))
            for each, column in columns if not column and each.text("sql")
        ]  # fmt: skip
        whole = said.part("model")
        rules += read_rules(whole)
        name, description = name or whole.text("name"), description or whole.text("description")
    return SemanticModel(
        name or "Cube", description, tuple(datasets), tuple(relationships), tuple(metrics), tuple(rules), (), "Cube"
    )


def _dimension(field: Field, is_key: bool) -> dict[str, Any]:
    meta = field_said(field)
    return without_empty({
        "name": _identifier(field.name),
        "sql": f"{{CUBE}}.{_quoted(field.name)}",
        "type": _type(field),
        "primary_key": is_key,
        "title": field.label,
        "description": field.description,
        "meta": {"coset": meta} if meta else {},
    })  # fmt: skip


def _read_dimension(given: Parts, column: str) -> Field:
    plain = {"time": "TIMESTAMP", "number": "DOUBLE", "boolean": "BOOLEAN"}.get(given.text("type"), "")
    said = given.part("meta").part("coset")
    field = read_field(column, "" if said else plain, given.text("description"), said)
    return replace(field, label=given.text("title"))


def _type(field: Field) -> str:
    kind = field.type.upper()
    if field.is_time and kind != "TIME":
        return "time"
    if kind == "BOOLEAN":
        return "boolean"
    return "number" if kind.split("(")[0] in _NUMBERS else "string"


_NUMBERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
            "DECIMAL", "FLOAT", "DOUBLE", "REAL"}  # fmt: skip


def _condition(join: Relationship, names: Mapping[str, str]) -> str:
    left = _side(join.left_expression, join.left_columns, "CUBE")
    right = _side(join.right_expression, join.right_columns, names[join.right])
    return " AND ".join(f"{one} = {other}" for one, other in zip(left, right, strict=False))


def _side(expression: str, columns: tuple[str, ...], cube: str) -> list[str]:
    """Columns of a side, or its expression with them, as Cube names them."""
    if not expression:
        return [f"{{{cube}}}.{_quoted(each)}" for each in columns]
    for each in columns:
        pattern = rf'(?<![\w"])(?:{re.escape(_quoted(each))}|"{re.escape(each)}")(?![\w"])'
        expression = re.sub(pattern, lambda _, each=each: f"{{{cube}}}.{_quoted(each)}", expression)  # type: ignore[misc]
    return [expression]


def _joins(cube: Parts, tables: Mapping[str, str]) -> list[Relationship]:
    """The joins of a cube that others wrote: equalities of columns of the two."""
    found = []
    own = cube.text("name")
    given = cube.get("joins")
    entries = (
        [(Parts(each).text("name"), Parts(each)) for each in given] if isinstance(given, list)
        else [(str(name), Parts(each)) for name, each in Parts(given).items()]
    )  # fmt: skip
    for other, join in entries:
        pairs = []
        for part in re.split(r"\bAND\b", join.text("sql"), flags=re.IGNORECASE):
            sides: dict[str, str] = {}
            for cube_name, member, column in _REFERENCE.findall(part):
                sides[own if cube_name in ("CUBE", own) else cube_name] = (column or member).strip('"')
            if part.count("=") == 1 and set(sides) == {own, other} and all(sides.values()):
                pairs.append((sides[own], sides[other]))
        if pairs and other in tables:
            found.append(Relationship(
                tables[own], tuple(one for one, _ in pairs), tables[other], tuple(two for _, two in pairs),
                cardinality=_BACK.get(join.text("relationship"), ""),
            ))  # fmt: skip
    return found


def _measures(cube: Parts, table: str) -> list[Metric]:
    found = []
    for each in cube.all("measures"):
        kind, sql, name = each.text("type"), _plain(each.text("sql")), each.text("name")
        if kind in AGGREGATES and (sql or kind == "count"):
            expression = AGGREGATES[kind].format(sql or "*")
        elif kind == "number" and sql:
            expression = sql
        else:
            continue
        if name == "count" and not sql and not each.text("description", "title"):
            continue
        filters = " AND ".join(_plain(one.text("sql")) for one in each.all("filters"))
        found.append(Metric(name, expression, each.text("description", "title"), (table,), filters))
    return found


def _table(cube: Parts) -> str:
    given = cube.text("sql_table") or cube.text("name")
    found = re.fullmatch(r"(?is)\s*select\s+\*\s+from\s+([\w.\"`]+)\s*;?\s*", cube.text("sql"))
    return (found[1] if found else given).replace('"', "").replace("`", "")


def _column_of(sql: str) -> str:
    """The column that a dimension is; empty where it computes something."""
    found = _COLUMN.fullmatch(sql.replace("${CUBE}", "{CUBE}").strip())
    return unquoted(found[1]) if found else ""


def _plain(sql: str) -> str:
    return re.sub(r"\$?\{(?:CUBE)\}\.", "", sql).replace("${", "").replace("{", "").replace("}", "").strip()


def _identifier(name: str) -> str:
    """A name that Cube takes: letters, digits, underscores."""
    found = re.sub(r"\W+", "_", name).strip("_") or "unnamed"
    return f"_{found}" if found[0].isdigit() else found


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'
