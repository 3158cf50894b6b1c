"""LookML: views with dimensions and measures, and the joins of explores. Read, not written.

In: the text of a `.lkml` file. Out: a `SemanticModel`. Liquid and parameters are kept as they stand; a dimension that
computes something is a metric of one row.
"""

from __future__ import annotations

import re
from typing import Any

from coset.errors import MissingDependency, UserError
from coset.semantics.cube import AGGREGATES
from coset.semantics.model import Dataset, Field, Metric, Relationship, SemanticModel
from coset.semantics.parts import Parts, listed

_COLUMN = re.compile(r"\$\{TABLE\}\.(\"(?:[^\"]|\"\")*\"|`[^`]*`|\w+)")
_REFERENCE = re.compile(r"\$\{(\w+)\.(\w+)\}")
_CARDINALITY = {"many_to_one": "n:1", "one_to_one": "1:1", "one_to_many": "1:n", "many_to_many": "n:m"}
_FUNCTIONS = {"average": "avg"}
_TYPES = {"number": "DOUBLE", "yesno": "BOOLEAN", "date": "DATE", "time": "TIMESTAMP"}


def from_lookml(text: str) -> SemanticModel:
    try:
        import lkml
    except ModuleNotFoundError as error:
        raise MissingDependency("reading LookML", "lookml") from error
    try:
        document: dict[str, Any] = lkml.load(text)
    except SyntaxError as error:
        raise UserError(f"not LookML: {error}") from error
    views = {each.text("name"): each for each in listed(document, "views")}
    tables = {name: _table(view) for name, view in views.items()}
    columns: dict[tuple[str, str], str] = {}
    datasets, metrics = [], []
    for name, view in views.items():
        fields = []
        for kind in ("dimensions", "dimension_groups"):
            for each in view.all(kind):
                column = _column(each)
                if column:
                    columns[name, each.text("name")] = column
                    fields.append(Field(
                        column, "TIMESTAMP" if kind == "dimension_groups" else _TYPES.get(each.text("type"), ""),
                        each.text("label"), each.text("description"),
                    ))  # fmt: skip
                elif each.text("sql"):
                    metrics.append(Metric(
                        each.text("name"), _plain(each.text("sql"), columns), each.text("description", "label"),
                        (tables[name],),
                    ))  # fmt: skip
        key = tuple(
            columns[name, each.text("name")] for each in view.all("dimensions")
            if each.text("primary_key") == "yes" and (name, each.text("name")) in columns
        )  # fmt: skip
        datasets.append(
            Dataset(
                tables[name],
                view.text("label"),
                view.text("description"),
                primary_key=key,
                fields=tuple(dict.fromkeys(fields)),
            )
        )
        metrics += [metric for each in view.all("measures") if (metric := _measure(each, tables[name], columns))]
    joins = [
        join for explore in listed(document, "explores") for join in _joins(explore, tables, columns)
    ]  # fmt: skip
    return SemanticModel("LookML", "", tuple(datasets), tuple(dict.fromkeys(joins)), tuple(metrics), format="LookML")


def _table(view: Parts) -> str:
    return view.text("sql_table_name", "name").rstrip(";").strip().replace('"', "").replace("`", "")


def _column(dimension: Parts) -> str:
    sql = dimension.text("sql").rstrip(";").strip()
    if not sql:
        return dimension.text("name")
    found = _COLUMN.fullmatch(sql)
    return found[1].strip('"`') if found else ""


def _measure(measure: Parts, table: str, columns: dict[tuple[str, str], str]) -> Metric | None:
    kind = measure.text("type")
    kind = _FUNCTIONS.get(kind, kind)
    sql = _plain(measure.text("sql"), columns)
    if kind in AGGREGATES and (sql or kind == "count"):
        expression = AGGREGATES[kind].format(sql or "*")
    elif kind == "number" and sql:
        expression = sql
    else:
        return None
    if kind == "count" and not sql and not measure.text("description", "label"):
        return None
    condition = " AND ".join(
        f"{name} = '{value}'" for each in (measure.get("filters__all") or measure.get("filters") or [])
        for one in (each if isinstance(each, list) else [each]) for name, value in Parts(one).items()
    )  # fmt: skip
    return Metric(measure.text("name"), expression, measure.text("description", "label"), (table,), condition)


def _joins(
    explore: Parts, tables: dict[str, str], columns: dict[tuple[str, str], str]
) -> list[Relationship]:  # fmt: skip
    found = []
    for join in explore.all("joins"):
        other = join.text("from", "name")
        pairs: list[tuple[str, str]] = []
        left = ""
        for part in re.split(r"\bAND\b", join.text("sql_on"), flags=re.IGNORECASE):
            sides = {
                (other if view == join.text("name") else view): columns.get(
                    (other if view == join.text("name") else view, name), name
                ) for view, name in _REFERENCE.findall(part)
            }  # fmt: skip
            if part.count("=") == 1 and len(sides) == 2 and other in sides:
                left = next(view for view in sides if view != other)
                pairs.append((sides[left], sides[other]))
        if pairs and left in tables and other in tables:
            found.append(Relationship(
                tables[left], tuple(one for one, _ in pairs), tables[other], tuple(two for _, two in pairs),
                cardinality=_CARDINALITY.get(join.text("relationship"), "n:1"),
            ))  # fmt: skip
    return found


def _plain(sql: str, columns: dict[tuple[str, str], str]) -> str:
    sql = re.sub(r"\$\{TABLE\}\.", "", sql.rstrip(";").strip())
    sql = _REFERENCE.sub(lambda found: columns.get((found[1], found[2]), found[2]), sql)
    return re.sub(r"\$\{(\w+)\}", r"\1", sql)
