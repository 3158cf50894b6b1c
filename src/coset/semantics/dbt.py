"""dbt: sources as YAML with descriptions and tests, written and read; manifests and MetricFlow models, read.

In: a `SemanticModel`, a manifest, or the YAML of a project. Out: the other. What dbt has no key for stands under
`config: meta: coset:`. Metrics need models in dbt, and coset has none: they are written as `meta`, and read both from
there and from MetricFlow. Jinja in YAML is read as the names that it refers to; nothing of it is run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from coset.semantics.extension import (
    dataset_said,
    described,
    field_said,
    join_said,
    model_said,
    read_dataset,
    read_field,
    read_join,
    read_metrics,
    read_rules,
)
from coset.semantics.model import Dataset, Field, Metric, Query, Relationship, Rule, SemanticModel
from coset.semantics.parts import Parts, listed, texts, without_empty

MOST_ACCEPTED = 200
_TARGET = re.compile(r"(?:source|ref)\(\s*['\"]([^'\"]+)['\"]\s*(?:,\s*['\"]([^'\"]+)['\"]\s*)?\)")
_WRAPPED = re.compile(r"\{\{\s*Dimension\(\s*['\"](?:[^'\"]*__)?([^'\"]+)['\"]\s*\)\s*\}\}")


def to_dbt(model: SemanticModel) -> dict[str, Any]:
    """A file of sources, ready for YAML: a source for each schema."""
    owners: dict[tuple[str, str], list[Dataset]] = defaultdict(list)
    for dataset in model.datasets:
        owners[_owner(dataset.name)].append(dataset)
    joins: dict[tuple[str, str], list[Relationship]] = defaultdict(list)
    more: dict[str, list[Relationship]] = defaultdict(list)
    for join in model.relationships:
        plain = len(join.left_columns) == 1 and not join.left_expression and not join.right_expression
        if plain and join.cardinality in ("n:1", "1:1", ""):
            joins[join.left, join.left_columns[0]].append(join)
        else:
            more[join.left].append(join)
    sources = []
    for number, ((source, schema), datasets) in enumerate(sorted(owners.items())):
        content: dict[str, Any] = {
            "name": _name_of(source, schema),
            "database": source if schema else "",
            "schema": schema or source,
            "tables": [_table(each, joins, more[each.name]) for each in datasets],
        }
        if number == 0:
            content["config"] = {"meta": {"coset": model_said(model)}}
        sources.append(without_empty(content))
    return {"version": 2, "sources": sources}


def from_dbt_yaml(document: Mapping[str, Any]) -> SemanticModel:
    """`sources:`, `models:`, `seeds:`, `snapshots:` with their columns and tests; `semantic_models:`, `metrics:`."""
    datasets: list[Dataset] = []
    relationships: list[Relationship] = []
    names: dict[tuple[str, str], str] = {}
    rules: list[Rule] = []
    metrics: list[Metric] = []
    name = description = ""
    tables = []
    for source in listed(document, "sources"):
        for table in source.all("tables"):
            schema = source.text("schema") or source.text("name")
            path = [source.text("database"), schema, table.text("identifier") or table.text("name")]
            full = ".".join(part for part in path if part)
            names[source.text("name"), table.text("name")] = full
            tables.append((full, table))
        said = _coset(source)
        name, description = said.text("name") or name, said.text("description") or description
        rules += read_rules(said)
        metrics += read_metrics(said)
    for kind in ("models", "seeds", "snapshots"):
        tables += [(part.text("alias") or part.text("name"), part) for part in listed(document, kind)]
    for full, table in tables:
        dataset, found = _read_table(full, table, names)
        datasets.append(dataset)
        relationships += found
    metrics += _metricflow(document, {})
    return SemanticModel(
        name or "dbt", description, tuple(datasets), tuple(relationships), tuple(metrics), tuple(rules), (), "dbt"
    )


def from_manifest(content: Mapping[str, Any]) -> SemanticModel:
    """A compiled project: `target/manifest.json`."""
    given = {str(key): Parts(node) for part in ("sources", "nodes") for key, node in Parts(content.get(part)).items()}
    nodes = {key: node for key, node in given.items() if node.text("name")}
    names = {key: _full_name(node) for key, node in nodes.items()}
    datasets, queries, relationships = [], [], []
    for key, node in nodes.items():
        kind = node.text("resource_type")
        sql = node.text("compiled_code", "compiled_sql", "raw_code", "raw_sql")
        if kind == "model" and sql:
            queries.append(Query(node.text("alias", "name"), sql, node.text("schema") or None))
        if kind != "test":
            fields = tuple(
                Field(column.text("name"), column.text("data_type"), "", column.text("description"))
                for column in node.all("columns") if column.text("name")
            )  # fmt: skip
            datasets.append(Dataset(names[key], "", node.text("description"), fields=fields))
        test = node.part("test_metadata")
        if test.text("name") == "relationships":
            relationships += _tested(node, test.part("kwargs"), names)
    metrics = _metricflow(content, names)
    return SemanticModel("dbt", "", tuple(datasets), tuple(relationships), tuple(metrics), (), tuple(queries), "dbt")


def _full_name(node: Parts) -> str:
    path = (node.text("database"), node.text("schema"), node.text("alias", "identifier", "name"))
    return ".".join(part for part in path if part)


def _tested(node: Parts, kwargs: Parts, names: Mapping[str, str]) -> list[Relationship]:
    """The join that a `relationships` test of a manifest stands for. Which of the two tables is tested, its arguments
    say; where they do not, the test is taken to depend on the other one first."""
    given = kwargs.part("arguments") if "arguments" in kwargs else kwargs
    on = [each for each in texts(node.part("depends_on").get("nodes")) if each in names]
    right = _named(given.text("to"), on) or next((each for each in on if each != node.text("attached_node")), "")
    left = node.text("attached_node") or _named(kwargs.text("model"), on)
    left = left or next((each for each in on if each != right), right)
    column = node.text("column_name") or kwargs.text("column_name")
    if not (left in names and right in names and column and given.text("field")):
        return []
    return [Relationship(names[left], (column,), names[right], (given.text("field"),), cardinality="n:1")]


def _named(template: str, nodes: Sequence[str]) -> str:
    """The node that `ref(...)` or `source(...)` means."""
    found = _TARGET.search(template)
    ending = "." + ".".join(part for part in found.groups() if part) if found else ""
    return next((each for each in nodes if ending and f".{each}".endswith(ending)), "")


def _metricflow(document: Mapping[str, Any], names: Mapping[str, str]) -> list[Metric]:
    """Measures of semantic models, as MetricFlow's metrics use them; ratios and derived metrics in words of these."""
    measures: dict[str, Metric] = {}
    for semantic in listed(document, "semantic_models"):
        found = _TARGET.search(semantic.text("model"))
        relation = semantic.part("node_relation").text("alias")
        dataset = relation or (found[2] or found[1] if found else semantic.text("name"))
        for measure in semantic.all("measures"):
            name = measure.text("name")
            measures[name] = Metric(
                name, _aggregated(measure.text("agg"), measure.text("expr") or name),
                measure.text("description") or measure.text("label"), (dataset,),
            )  # fmt: skip
    found_metrics: dict[str, Metric] = {}
    for metric in listed(document, "metrics"):
        name, kind, given = metric.text("name"), metric.text("type") or "simple", metric.part("type_params")
        used = [_input(given, part) for part in ("measure", "numerator", "denominator")]
        of = [each for each in used if each]
        parts = [measures.get(each) or found_metrics.get(each) or Metric(each, each) for each in of]
        if kind == "ratio" and len(parts) == 2:
            expression = f"{parts[0].expression} / {parts[1].expression}"
        elif kind == "derived":
            parts = [found_metrics[each] for one in given.all("metrics") if (each := one.text("name")) in found_metrics]
            expression = given.text("expr")
        else:
            expression = parts[0].expression if parts else given.text("expr")
        datasets = tuple(dict.fromkeys(name for part in parts for name in part.datasets))
        if name and expression:
            found_metrics[name] = Metric(
                name, expression, metric.text("description") or metric.text("label"), datasets, _condition(metric)
            )
    unused = [each for name, each in measures.items() if not any(name == m.name for m in found_metrics.values())]
    return [*found_metrics.values(), *unused]


def _input(given: Parts, part: str) -> str:
    return given.text(part) or given.part(part).text("name")


def _condition(metric: Parts) -> str:
    """The filter of a metric, with dimensions as the columns they are named for."""
    given = metric.get("filter")
    filters = Parts(given).all("where_filters") if isinstance(given, Mapping) else []
    parts = [each.text("where_sql_template") for each in filters] or list(texts(given))
    return " AND ".join(_WRAPPED.sub(r"\1", part).strip() for part in parts if part)


def _aggregated(function: str, expression: str) -> str:
    if function == "count_distinct":
        return f"COUNT(DISTINCT {expression})"
    if function == "sum_boolean":
        return f"SUM(CASE WHEN {expression} THEN 1 ELSE 0 END)"
    name = {"average": "AVG", "": "SUM"}.get(function, function.upper())
    return f"{name}({expression})"


def _table(
    dataset: Dataset, joins: Mapping[tuple[str, str], list[Relationship]], more: list[Relationship]
) -> dict[str, Any]:
    meta = without_empty(dataset_said(dataset) | {"joins": [join_said(each) for each in more]})
    return without_empty({
        "name": dataset.name.split(".")[-1],
        "description": described(dataset.label, dataset.description),
        "config": {"meta": {"coset": meta}} if meta else {},
        "columns": [_column(each, joins.get((dataset.name, each.name), [])) for each in dataset.fields],
    })  # fmt: skip


def _column(field: Field, joins: list[Relationship]) -> dict[str, Any]:
    meta = field_said(field)
    meta.pop("type", None)
    tests: list[Any] = [
        {"relationships": {"arguments": {"to": _source_of(join.right), "field": join.right_columns[0]},
                           "config": {"severity": "warn", "meta": {"coset": join_said(join)}}}}
        for join in joins
    ]  # fmt: skip
    if field.codes and len(field.codes) <= MOST_ACCEPTED:
        values = {"values": [code.value for code in field.codes]}
        tests.append({"accepted_values": {"arguments": values, "config": {"severity": "warn"}}})
    return without_empty({
        "name": field.name,
        "description": described(field.label, field.description),
        "data_type": field.type,
        "data_tests": tests,
        "config": {"meta": {"coset": meta}} if meta else {},
    })  # fmt: skip


def _read_table(
    full: str, table: Parts, names: Mapping[tuple[str, str], str]
) -> tuple[Dataset, list[Relationship]]:  # fmt: skip
    said = _coset(table)
    fields, found = [], [read_join(full, each) for each in said.all("joins")]
    for column in table.all("columns"):
        fields.append(
            read_field(column.text("name"), column.text("data_type"), column.text("description"), _coset(column))
        )
        for test in [*(column.get("data_tests") or ()), *(column.get("tests") or ())]:
            given = Parts(test).part("relationships")
            if not given:
                continue
            if join := given.part("config").part("meta").part("coset"):
                found.append(read_join(full, join))
                continue
            given = given.part("arguments") if "arguments" in given else given
            if (target := _TARGET.search(given.text("to"))) and given.text("field"):
                right = names.get((target[1], target[2] or ""), target[2] or target[1])
                found.append(
                    Relationship(full, (column.text("name"),), right, (given.text("field"),), cardinality="n:1")
                )
    dataset = read_dataset(full, table.text("description"), said, tuple(fields))
    return dataset, found


def _coset(given: Parts) -> Parts:
    return given.part("config").part("meta").part("coset") or given.part("meta").part("coset")


def _owner(name: str) -> tuple[str, str]:
    source, *schema, _ = name.split(".")
    return source, ".".join(schema)


def _name_of(source: str, schema: str) -> str:
    return "_".join(re.sub(r"\W+", "_", part) for part in (source, schema) if part)


def _source_of(name: str) -> str:
    return f"source('{_name_of(*_owner(name))}', '{name.rsplit('.', maxsplit=1)[-1]}')"
