"""Semantic models survive writing and reading in every format that can say them; those of others are understood."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from coset.errors import UserError
from coset.semantics.cube import to_cube
from coset.semantics.dbt import to_dbt
from coset.semantics.markdown import to_markdown
from coset.semantics.model import (
    Code,
    Dataset,
    Field,
    Metric,
    Relationship,
    Rule,
    SemanticModel,
    as_json,
)
from coset.semantics.osi import DIALECT, TYPES, VERSION, to_osi
from coset.semantics.read import read_semantic_model

ORDERS = Dataset(
    "shop.sales.vbak", "sales order", "One row an order, cancelled ones too.", ("orders", "purchase"), "order", 1200,
    ("vbeln",),
    (
        Field("vbeln", "VARCHAR", "order number", role="order.identifier"),
        Field("Kunde Nr", "VARCHAR", "", "Who ordered; old numbers end in X.", cleaned_by="rtrim(\"Kunde Nr\", 'X')",
              problems=("stray letters in 3% of values",)),
        Field("fkart", "VARCHAR", "billing type", "", (), "invoice.type",
              (Code("F2", "Invoice"), Code("07", "it's a \"credit\"")), "shop.sales.tvfk where spras = 'E'"),
        Field("erdat", "DATE", "created on"),
        Field("at", "TIMESTAMP WITH TIME ZONE", "", "When it happened"),
    ),
    ("shop.sales.vbak_bak",),
)  # fmt: skip
CUSTOMERS = Dataset("crm.buyers", "buyer", fields=(Field("buyer_id", "BIGINT"), Field("region", "VARCHAR", "region")))
MODEL = SemanticModel(
    "shop", "Everything that is sold.", (ORDERS, CUSTOMERS),
    (
        Relationship("shop.sales.vbak", ("Kunde Nr",), "crm.buyers", ("buyer_id",), "lower(\"Kunde Nr\")",
                     "'b' || \"buyer_id\"", "n:1", 0.71, 0.4, 0.93),
        Relationship("shop.sales.vbak", ("vbeln",), "shop.sales.vbak", ("vbeln",), cardinality="1:1"),
        Relationship("crm.buyers", ("buyer_id", "region"), "shop.sales.vbak", ("vbeln", "fkart"), cardinality="1:n"),
        Relationship("shop.sales.vbak", ("fkart",), "crm.buyers", ("region",), cardinality="n:1", confidence=0.6),
    ),
    (Metric("net revenue", "sum(amount) / 100", "in paid", ("shop.sales.vbak",), "fkart = 'F2'"),),
    (Rule("Test customers are left out of every figure.", (), "handbook"), Rule("F2 counts.", ("shop.sales.vbak",))),
)  # fmt: skip

WRITERS: dict[str, Callable[[SemanticModel], dict[str, Any]]] = {"OSI": to_osi, "dbt": to_dbt, "Cube": to_cube}


def written_and_read(model: SemanticModel, name: str, folder: Path) -> SemanticModel:
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(WRITERS[name](model), allow_unicode=True, sort_keys=False), encoding="utf-8")
    found = read_semantic_model(path)
    assert found is not None
    return found


def in_order(model: SemanticModel) -> SemanticModel:
    """Formats that keep joins with their tables may have them in another order."""
    key = lambda each: (each.left, each.left_columns, each.right, each.right_columns)  # noqa: E731
    return replace(
        model, format="", datasets=tuple(sorted(model.datasets, key=lambda each: each.name)),
        relationships=tuple(sorted(model.relationships, key=key)),
    )  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_a_model_says_the_same_after_writing_and_reading(name: str, tmp_path: Path) -> None:
    assert in_order(written_and_read(MODEL, name, tmp_path)) == in_order(MODEL)


def test_json_holds_all_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(as_json(MODEL), encoding="utf-8")
    assert read_semantic_model(tmp_path / "model.json") == MODEL


word = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)


@pytest.mark.parametrize("name", WRITERS)
@given(label=word, description=word, code=word, column=word)
def test_no_text_breaks_a_format(
    name: str, label: str, description: str, code: str, column: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    field = Field(column, "VARCHAR", label, description, (label,), "a.b", (Code(code, description),))
    model = SemanticModel("m", datasets=(Dataset("s.t", label, description, fields=(field,)),))
    found = written_and_read(model, name, tmp_path_factory.mktemp("m"))
    assert replace(found, format="coset") == model


def test_dbt_parses_what_is_written_and_its_manifest_is_read(tmp_path: Path) -> None:
    dbt = os.environ.get("COSET_TEST_DBT") or shutil.which("dbt")
    if not dbt:
        pytest.skip("needs dbt: pip install 'dbt-core<1.12' dbt-duckdb in an environment of its own")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sources.yml").write_text(yaml.safe_dump(to_dbt(MODEL)))
    (tmp_path / "dbt_project.yml").write_text('{name: p, version: "1.0", profile: p, model-paths: [models]}')
    (tmp_path / "profiles.yml").write_text('{p: {target: d, outputs: {d: {type: duckdb, path: ":memory:"}}}}')
    command = [dbt, "parse", "--profiles-dir", ".", "--no-send-anonymous-usage-stats"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert "deprecat" not in run.stdout.lower() and "warn" not in run.stdout.lower(), run.stdout
    found = read_semantic_model(tmp_path / "target" / "manifest.json")
    assert found is not None
    assert {each.name.split(".")[-1] for each in found.datasets} == {"vbak", "buyers"}
    joins = {(each.left_columns, each.right_columns) for each in found.relationships}
    assert joins == {(("vbeln",), ("vbeln",)), (("fkart",), ("region",))}


KEYS = {  # By the published schema of OSI 0.2.0.dev0: what each part must and may have.
    "model": ({"name", "datasets"}, {"description", "ai_context", "relationships", "metrics", "custom_extensions"}),
    "dataset": ({"name", "source"},
                {"primary_key", "unique_keys", "description", "ai_context", "fields", "custom_extensions"}),
    "field": ({"name", "expression"},
              {"dimension", "label", "description", "datatype", "ai_context", "custom_extensions"}),
    "relationship": ({"name", "from", "to", "from_columns", "to_columns"}, {"ai_context", "custom_extensions"}),
    "metric": ({"name", "expression"}, {"description", "datatype", "ai_context", "custom_extensions"}),
}  # fmt: skip


def test_osi_has_the_keys_that_its_schema_knows() -> None:
    document = json.loads(json.dumps(to_osi(MODEL)))
    assert set(document) == {"version", "semantic_model"} and document["version"] == VERSION
    (model,) = document["semantic_model"]
    parts = [("model", model)]
    parts += [("dataset", each) for each in model["datasets"]]
    parts += [("field", each) for dataset in model["datasets"] for each in dataset.get("fields", ())]
    parts += [("relationship", each) for each in model["relationships"]]
    parts += [("metric", each) for each in model["metrics"]]
    for kind, part in parts:
        must, may = KEYS[kind]
        assert must <= set(part) <= must | may, (kind, part)
        for each in part.get("expression", {}).get("dialects", ()):
            assert set(each) == {"dialect", "expression"} and each["dialect"] == DIALECT
        for each in part.get("custom_extensions", ()):
            assert set(each) == {"vendor_name", "data"} and json.loads(each["data"])
        assert part.get("datatype", "String") in set(TYPES.values())


def test_a_manifest_gives_descriptions_joins_metrics_and_sql(tmp_path: Path) -> None:
    manifest = {
        "metadata": {}, "sources": {"source.p.crm.acct": {"name": "acct", "identifier": "ACCT_V2"}},
        "nodes": {
            "model.p.orders": {
                "resource_type": "model", "name": "orders", "schema": "mart", "raw_code": "select 1",
                "description": "Orders", "columns": {"id": {"name": "id", "description": "Number"}},
            },
            "test.p.r": {
                "resource_type": "test", "name": "r", "attached_node": "model.p.orders", "column_name": "acct",
                "test_metadata": {"name": "relationships", "kwargs": {"field": "no"}},
                "depends_on": {"nodes": ["source.p.crm.acct", "model.p.orders"]},
            },
        },
        "semantic_models": {"s": {
            "name": "orders", "model": "ref('orders')",
            "measures": [{"name": "total", "agg": "sum", "expr": "amount"}, {"name": "buyers", "agg": "count_distinct", "expr": "acct"}],
        }},
        "metrics": {
            "m": {"name": "revenue", "type": "simple", "type_params": {"measure": {"name": "total"}}, "description": "Paid",
                  "filter": {"where_filters": [{"where_sql_template": "{{ Dimension('order__state') }} = 'P'"}]}},
            "r": {"name": "per buyer", "type": "ratio", "type_params": {"numerator": {"name": "revenue"}, "denominator": {"name": "buyers"}}},
        },
    }  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    found = read_semantic_model(tmp_path / "manifest.json")
    assert found is not None
    assert [each.name for each in found.datasets] == ["ACCT_V2", "mart.orders"]
    assert found.datasets[1].fields[0].description == "Number" and found.queries[0].sql == "select 1"
    assert found.relationships == (Relationship("mart.orders", ("acct",), "ACCT_V2", ("no",), cardinality="n:1"),)
    metrics = {each.name: each for each in found.metrics}
    assert metrics["revenue"] == Metric("revenue", "SUM(amount)", "Paid", ("orders",), "state = 'P'")
    assert metrics["per buyer"].expression == "SUM(amount) / COUNT(DISTINCT acct)"


CUBE = """
cubes:
  - name: orders
    sql_table: public.orders
    title: Orders
    joins:
      - name: users
        sql: "{CUBE}.user_id = {users}.id"
        relationship: many_to_one
    dimensions:
      - {name: id, sql: id, type: number, primary_key: true}
      - {name: state, sql: "{CUBE}.status", type: string, description: Where it stands}
      - {name: late, sql: "{CUBE}.delivered_at > {CUBE}.promised_at", type: boolean}
    measures:
      - {name: count, type: count}
      - {name: revenue, sql: amount, type: sum, description: Net, filters: [{sql: "{CUBE}.status = 'paid'"}]}
  - name: users
    sql: SELECT * FROM public.users
    dimensions: [{name: id, sql: id, type: number, primary_key: true}]
"""


def test_cubes_of_others_are_understood(tmp_path: Path) -> None:
    (tmp_path / "model.yml").write_text(CUBE)
    found = read_semantic_model(tmp_path / "model.yml")
    assert found is not None and [each.name for each in found.datasets] == ["public.orders", "public.users"]
    orders = found.datasets[0]
    assert orders.primary_key == ("id",) and orders.label == "Orders"
    assert [(each.name, each.description) for each in orders.fields] == [("id", ""), ("status", "Where it stands")]
    assert found.relationships == (
        Relationship("public.orders", ("user_id",), "public.users", ("id",), cardinality="n:1"),
    )
    metrics = {each.name: each for each in found.metrics}
    assert metrics["revenue"] == Metric("revenue", "SUM(amount)", "Net", ("public.orders",), "status = 'paid'")
    assert metrics["late"].expression == "delivered_at > promised_at" and "count" not in metrics


LOOKML = """
view: orders {
  sql_table_name: public.orders ;;
  label: "Orders"
  dimension: id { primary_key: yes type: number sql: ${TABLE}.order_no ;; description: "Number of the order" }
  dimension: user_id { type: number sql: ${TABLE}.user_id ;; }
  dimension_group: created { type: time timeframes: [date, week] sql: ${TABLE}.created_at ;; }
  dimension: net { type: number sql: ${TABLE}.gross - ${TABLE}.tax ;; }
  measure: revenue { type: sum sql: ${net} ;; description: "Without tax" }
}
view: users { sql_table_name: public.users ;; dimension: id { sql: ${TABLE}.id ;; } }
explore: orders {
  join: users { sql_on: ${orders.user_id} = ${users.id} ;; relationship: many_to_one }
}
"""


def test_lookml_is_understood(tmp_path: Path) -> None:
    pytest.importorskip("lkml")
    (tmp_path / "shop.lkml").write_text(LOOKML)
    found = read_semantic_model(tmp_path / "shop.lkml")
    assert found is not None
    orders = found.datasets[0]
    assert orders.name == "public.orders" and orders.label == "Orders" and orders.primary_key == ("order_no",)
    assert [each.name for each in orders.fields] == ["order_no", "user_id", "created_at"]
    assert found.relationships == (
        Relationship("public.orders", ("user_id",), "public.users", ("id",), cardinality="n:1"),
    )
    metrics = {each.name: each.expression for each in found.metrics}
    assert metrics == {"net": "gross - tax", "revenue": "SUM(net)"}


URN = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.{},PROD)"


def test_datahub_files_are_understood(tmp_path: Path) -> None:
    def proposal(table: str, aspect: str, said: dict[str, Any]) -> dict[str, Any]:
        return {"entityType": "dataset", "entityUrn": URN.format(table), "aspectName": aspect, "aspect": {"json": said}}

    schema = {
        "fields": [
            {"fieldPath": "[version=2.0].[type=struct].[type=long].user_id", "nativeDataType": "bigint"},
            {"fieldPath": "state", "nativeDataType": "text", "description": "from the source"},
        ],
        "primaryKeys": ["user_id"],
        "foreignKeys": [{
            "sourceFields": [f"urn:li:schemaField:({URN.format('orders')},user_id)"],
            "foreignFields": [f"urn:li:schemaField:({URN.format('users')},id)"], "foreignDataset": URN.format("users"),
        }],
    }  # fmt: skip
    events = [
        proposal("orders", "schemaMetadata", schema),
        proposal("orders", "datasetProperties", {"name": "orders", "description": "All orders"}),
        proposal("orders", "editableSchemaMetadata",
                 {"editableSchemaFieldInfo": [{"fieldPath": "state", "description": "P is paid"}]}),
        {"proposedSnapshot": {"com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot": {
            "urn": URN.format("users"),
            "aspects": [{"com.linkedin.pegasus2avro.dataset.DatasetProperties": {"description": "Users"}}]}}},
    ]  # fmt: skip
    (tmp_path / "datahub.json").write_text(json.dumps(events))
    found = read_semantic_model(tmp_path / "datahub.json")
    assert found is not None and [each.description for each in found.datasets] == ["All orders", "Users"]
    orders = found.datasets[0]
    assert orders.name == "shop.public.orders" and orders.label == "" and orders.primary_key == ("user_id",)
    assert [(each.name, each.description) for each in orders.fields] == [("user_id", ""), ("state", "P is paid")]
    assert found.relationships[0].right == "shop.public.users" and found.relationships[0].right_columns == ("id",)


def test_openmetadata_tables_are_understood(tmp_path: Path) -> None:
    page = {"data": [{
        "name": "orders", "fullyQualifiedName": "pg.shop.public.orders", "displayName": "All orders", "description": "All",
        "columns": [
            {"name": "id", "dataType": "BIGINT", "constraint": "PRIMARY_KEY"},
            {"name": "place", "dataType": "STRUCT", "children": [{"name": "city", "description": "Where to"}]},
        ],
        "tableConstraints": [{"constraintType": "FOREIGN_KEY", "columns": ["user_id"],
                              "referredColumns": ["pg.shop.public.users.id"]}],
    }]}  # fmt: skip
    (tmp_path / "om.json").write_text(json.dumps(page))
    found = read_semantic_model(tmp_path / "om.json")
    assert found is not None
    orders = found.datasets[0]
    assert (orders.name, orders.label, orders.primary_key) == ("shop.public.orders", "All orders", ("id",))
    assert [each.name for each in orders.fields] == ["id", "place", "place.city"]
    assert found.relationships == (
        Relationship("shop.public.orders", ("user_id",), "shop.public.users", ("id",), cardinality="n:1"),
    )


def test_markdown_shows_any_text_as_it_is() -> None:
    text = to_markdown(replace(MODEL, datasets=(replace(ORDERS, description="a | b <script> *x*\n# no title"),)))
    assert "a \\| b \\<script\\> \\*x\\* \\# no title" in text
    assert "Test customers are left out of every figure." in text
    assert "07 = it's a" in text and "71 % and 40 % match" in text and "order number" in text


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.json", "{"), ("a.yaml", "a: [1"), ("a.json", '{"datasets": 1, "relationships": [], "format": "x"}')],
)
def test_a_broken_file_is_named_in_one_line(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as caught:
        read_semantic_model(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[]", "{}", '{"a": 1}', "null", '{"semantic_model": [1, {"datasets": "x"}]}',
                                  '{"cubes": [{"name": "a", "joins": 3, "dimensions": {"x": 1}}]}',
                                  '{"nodes": {"a": 1}, "metrics": [2]}', '[{"entityUrn": 1}]'])  # fmt: skip
def test_odd_files_are_read_as_far_as_they_say_something(text: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(text)
    found = read_semantic_model(tmp_path / "odd.json")
    assert found is None or len(found.datasets) <= 1
