"""SQL that people wrote gives joins, filters, formulas and the tables that are used."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import duckdb

from coset.environment.configuration import load_environment
from coset.evidence.work import here
from coset.state import EvidenceState
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend
from engines.postgresql import PostgreSQLServer

DUMP = """\
CREATE TABLE pay.pmt (id integer, clm integer, st text);
CREATE TABLE pay.clm (id integer);
COPY pay.pmt (id, clm, st) FROM stdin;
1\t1\tCREATE VIEW not.one AS SELECT;
\\.
COPY pay.clm (id) FROM stdin;
1
\\.
CREATE VIEW pay.issued AS
 SELECT p.id
   FROM (pay.pmt p
     JOIN pay.clm c ON ((c.id = p.clm)))
  WHERE (p.st <> 'void'::text);
"""


def company(folder: Path) -> Path:
    with sqlite3.connect(folder / "crm.db") as connection:
        connection.execute("CREATE TABLE acct (no TEXT, nm TEXT)")
        connection.execute("INSERT INTO acct VALUES ('A1', 'x')")
        connection.execute("CREATE TABLE ord (id INTEGER, cust TEXT, amt REAL, st TEXT)")
        connection.execute("INSERT INTO ord VALUES (1, 'a1', 3.0, 'P')")
        connection.execute(
            "CREATE VIEW paid AS SELECT a.nm, sum(o.amt) / 100 AS euros FROM ord o JOIN acct a ON upper(o.cust) = a.no "
            "WHERE o.st = 'P' GROUP BY a.nm"
        )
    with duckdb.connect(str(folder / "dwh.duckdb")) as connection:
        connection.execute("CREATE TABLE fct (acct_no VARCHAR, v INTEGER); CREATE TABLE dim (acct_no VARCHAR)")
        connection.execute("INSERT INTO fct VALUES ('A1', 1); INSERT INTO dim VALUES ('A1')")
        connection.execute("CREATE VIEW joined AS SELECT * FROM fct JOIN dim USING (acct_no)")
    (folder / "claims.sql").write_text(DUMP)
    (folder / "q").mkdir()
    (folder / "q" / "report.sql").write_text(
        "-- monthly\nSELECT f.v FROM dwh.fct f, crm.acct a WHERE f.acct_no = a.no AND f.v > 0;\n"
        "SELECT broken FROM FROM;\nDELETE FROM fct;\n"
    )
    manifest = {
        "nodes": {
            "model.p.fct": {
                "resource_type": "model", "name": "fct", "raw_code": "select v from {{ ref('dim') }}",
                "description": "Facts by account.", "columns": {"v": {"name": "v", "description": "Value in cents."}},
            },
            "model.p.dim": {"resource_type": "model", "name": "dim"},
            "test.p.r": {
                "resource_type": "test", "name": "r", "column_name": "acct_no", "attached_node": "model.p.fct",
                "test_metadata": {"name": "relationships", "kwargs": {"to": "ref('dim')", "field": "acct_no"}},
                "depends_on": {"nodes": ["model.p.dim", "model.p.fct"]},
            },
        }
    }  # fmt: skip
    (folder / "q" / "manifest.json").write_text(json.dumps(manifest))
    (folder / "coset.yaml").write_text(
        "sources:\n  crm: {location: crm.db}\n  dwh: {location: dwh.duckdb, queries: [q/*]}\n  claims: {location: claims.sql}\n"
    )
    return folder


def test_views_files_and_manifests_tell_joins_filters_and_formulas(tmp_path: Path):
    environment = load_environment(company(tmp_path))
    for _ in range(2):
        comprehend(environment, Settings(spread=here), stages=EVIDENCE)
        with EvidenceState.read(environment.state_folder) as state:
            uses = state.rows("SELECT kind, columns, others, text, name FROM sql_uses")
            statements = state.rows("SELECT name, origin, tables, problem FROM written_sql")
            described = state.rows("SELECT about, text FROM documents WHERE kind = 'semantic model' ORDER BY about")
        joins = {(use["columns"][0], use["others"][0], use["text"]) for use in uses if use["kind"] == "join"}
        assert joins == {
            ("crm/ord.cust", "crm/acct.no", "UPPER(o.cust) = a.no"),
            ("claims/pay/clm.id", "claims/pay/pmt.clm", "c.id = p.clm"),
            ("dwh/main/fct.acct_no", "dwh/main/dim.acct_no", "USING (acct_no)"),
            ("dwh/main/fct.acct_no", "crm/acct.no", "f.acct_no = a.no"),
            ("dwh/main/fct.acct_no", "dwh/main/dim.acct_no", "declared by dbt"),
        }
        filters = {(use["columns"][0], use["text"]) for use in uses if use["kind"] == "filter"}
        assert ("crm/ord.st", "o.st = 'P'") in filters and ("dwh/main/fct.v", "f.v > 0") in filters
        assert any(
            use["name"] == "euros" and use["columns"] == ["crm/ord.amt"] for use in uses if use["kind"] == "formula"
        )
        assert {name for row in statements for name in row["tables"]} >= {"crm/ord", "claims/pay/pmt", "dwh/main/dim"}
        assert [row["name"] for row in statements if row["problem"]] == ["report.sql#2"]
        assert [row["about"] for row in described] == ["dwh/main/fct", "dwh/main/fct.v"]


def test_the_log_of_statements_of_a_server_tells_joins_and_filters(tmp_path: Path, postgresql_server: PostgreSQLServer):
    """The extension is not in every build of the server: what it offers is a view, which is made here."""
    url = postgresql_server.create_database("logged")
    postgresql_server.run(
        url,
        """
        CREATE TABLE acct (no int, nm text); CREATE TABLE ord (id int, cust int, st text);
        INSERT INTO acct SELECT n, 'Firm ' || n FROM generate_series(1, 40) n;
        INSERT INTO ord SELECT n, 1 + n % 40, 'open' FROM generate_series(1, 90) n;
        CREATE VIEW pg_stat_statements AS
        SELECT oid AS dbid, 7::bigint AS queryid, 12::bigint AS calls,
            'SELECT a.nm, count(*) FROM ord o JOIN acct a ON o.cust = a.no WHERE o.st = $1 GROUP BY a.nm' AS query
        FROM pg_database
        UNION ALL SELECT oid, 8, 99, 'UPDATE ord SET st = $1' FROM pg_database
        UNION ALL SELECT oid, 9, 5, 'SELECT broken FROM FROM ord' FROM pg_database;
        """,
    )
    (tmp_path / "coset.yaml").write_text(f"sources:\n  shop: {{location: '{url}', exclude: [pg_stat_statements]}}\n")
    environment = load_environment(tmp_path)
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with EvidenceState.read(environment.state_folder) as state:
        uses = state.rows("SELECT kind, columns, others, text FROM sql_uses WHERE statement LIKE '%statement 7%'")
        names = {row["name"] for row in state.rows("SELECT name FROM written_sql")}
    joins = {(use["columns"][0], use["others"][0]) for use in uses if use["kind"] == "join"}
    assert joins == {("shop/public/ord.cust", "shop/public/acct.no")}
    assert any(use["kind"] == "filter" and "ord.st" in use["columns"][0] for use in uses)
    assert not [name for name in names if "statement 8" in name], "what writes is left out"


def test_a_semantic_model_of_the_environment_gives_joins_figures_and_readings(tmp_path: Path):
    company(tmp_path)
    (tmp_path / "model.yaml").write_text(
        """
semantic_model:
  - name: all
    datasets:
      - {name: orders, source: crm.ord, description: Orders of the shop,
         fields: [{name: amt, expression: {dialects: [{dialect: ANSI_SQL, expression: amt}]}, label: order amount}]}
      - {name: accounts, source: fct}
      - {name: nowhere, source: x.y.z}
    relationships: [{name: j, from: orders, to: accounts, from_columns: [cust], to_columns: [acct_no]}]
    metrics:
      - {name: turnover, expression: {dialects: [{dialect: ANSI_SQL, expression: sum(orders.amt)}]},
         custom_extensions: [{vendor_name: COSET, data: '{"datasets": ["crm.ord"]}'}]}
"""
    )
    (tmp_path / "other.json").write_text('{"a": 1}')
    text = (tmp_path / "coset.yaml").read_text()
    (tmp_path / "coset.yaml").write_text(text + "queries: [model.yaml, other.json]\n")
    environment = load_environment(tmp_path)
    summary = comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    assert any("other.json" in place for place, _ in summary.problems)
    with EvidenceState.read(environment.state_folder) as state:
        uses = state.rows("SELECT kind, columns, others, text, name FROM sql_uses WHERE source = '*'")
        described = state.rows("SELECT about, text FROM documents WHERE kind = 'semantic model' AND about LIKE 'crm%'")
    assert {(use["kind"], use["columns"][0], use["name"]) for use in uses} == {
        ("join", "crm/ord.cust", "relationships"), ("formula", "crm/ord.amt", "turnover"),
    }  # fmt: skip
    told = {row["about"]: row["text"] for row in described}
    assert "Orders of the shop" in told["crm/ord"] and "turnover = sum(orders.amt)" in told["crm/ord"]
    assert told["crm/ord.amt"] == "order amount"
