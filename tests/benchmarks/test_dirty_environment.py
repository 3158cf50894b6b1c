"""The generator of dirty environments: what its truth states is what coset finds in the files."""

from __future__ import annotations

import dataclasses
import os
import random
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest

import coset

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.dirty_environment import (  # noqa: E402
    ENGINES,
    CleanColumn,
    CleanDatabase,
    CleanForeignKey,
    CleanTable,
    Options,
    TruthBroken,
    generate,
    load_truth,
    make_company,
    make_dirty_environment,
    preset,
    read_corpus,
    read_database,
)
from benchmarks.dirty_environment.__main__ import main  # noqa: E402
from benchmarks.dirty_environment.key_forms import Domain, Reading, choose_layers, read_key, write_key  # noqa: E402
from benchmarks.dirty_environment.sql import literal  # noqa: E402

SIZE = 0.3
CASES = [(1, "light"), (2, "medium"), (3, "heavy")]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One environment a level of dirt, made when it is first asked for."""
    made = {}

    def folder_of(seed, dirt):
        if dirt not in made:
            made[dirt] = tmp_path_factory.mktemp("dirty") / dirt
            make_dirty_environment(make_company(seed, SIZE), made[dirt], seed=seed, dirt=dirt)
        return made[dirt]

    return folder_of


@pytest.fixture(scope="module", params=CASES, ids=[f"{dirt}-{seed}" for seed, dirt in CASES])
def dirty(request, folders):
    """(truth as read from the folder, open coset session over the folder)"""
    folder = folders(*request.param)
    with coset.QuerySession(coset.load_environment(folder)) as session:
        yield load_truth(folder), session


def answers(session, statements):
    """The first row of each statement, asked for several at a time to save round trips."""
    found = []
    for start in range(0, len(statements), 12):
        some = enumerate(statements[start : start + 12])
        joined = " UNION ALL ".join(
            f"SELECT {number} AS place, answer.* FROM ({sql}) AS answer" for number, sql in some
        )
        found += [row[1:] for row in session.sql(f"SELECT * FROM ({joined}) AS answers ORDER BY place").rows()]
    assert len(found) == len(statements)
    return found


def check_joins(truth, session):
    for join, found in zip(truth.joins, answers(session, [join.sql() for join in truth.joins]), strict=True):
        left, right = join.left_counts, join.right_counts
        stated = (
            left.rows,
            left.known,
            left.matched,
            left.distinct,
            right.rows,
            right.known,
            right.matched,
            right.distinct,
        )
        assert found == stated, join


def check_diagnostics(truth, session):
    items = [(diagnostic, item) for diagnostic in truth.diagnostics for item in diagnostic.items]
    for (diagnostic, item), found in zip(items, answers(session, [item.sql for _, item in items]), strict=True):
        assert found == (item.rows,), (diagnostic.kind, diagnostic.place, item)


def check_texts(truth, session):
    for text in truth.texts:
        stated = Counter((*row.key, row.value) for row in truth.text_rows if row.text == text.id)
        assert Counter(session.sql(text.sql()).rows()) == stated, text
        assert sum(stated.values()) == text.rows


def check_catalogue(truth, session):
    session.catalogue.list_sources()
    found = {
        (name, table.name): {column.name for column in table.columns}
        for name, listing in session.catalogue.listings.items()
        for table in listing.tables
    }
    stated: dict[tuple[str, str], set[str]] = {
        (table.source, name): set() for table in truth.tables for name in table.names
    }
    for column in truth.columns:
        for table in column.place.tables:
            if column.name != "_table_value":
                stated[column.place.source, table].add(column.name)
    assert found == stated


def test_every_true_join_matches_through_coset_as_stated(dirty):
    truth, session = dirty
    assert len(truth.joins) > 20
    check_joins(truth, session)


def test_every_planted_diagnostic_is_counted_through_coset_as_stated(dirty):
    truth, session = dirty
    assert {"null_tokens", "mixed_date_formats", "constant", "empty"} <= {item.kind for item in truth.diagnostics}
    check_diagnostics(truth, session)


def test_every_attribute_in_text_is_recovered_by_the_stated_expression_and_regexes(dirty):
    truth, session = dirty
    assert truth.texts
    check_texts(truth, session)
    for text in truth.texts:
        rows = session.sql(text.place.select(*text.key_expressions, text.place.text)).rows()
        texts = {tuple(row[:-1]): row[-1] or "" for row in rows}
        for row in truth.text_rows:
            if row.text == text.id:
                matches = (re.search(regex, texts[row.key]) for regex in text.regexes)
                assert next((match[1] for match in matches if match), None) == row.value


def test_duplicated_entities_are_separate_rows_with_the_stated_changes(dirty):
    truth, session = dirty
    assert truth.duplicates
    held: dict[str, list[tuple[str, str | None]]] = {}

    def rows(sql):
        if sql not in held:
            held[sql] = session.sql(sql).rows()
        return held[sql]

    for duplicate in truth.duplicates:
        keys = [row[0] for row in rows(duplicate.place.select(duplicate.key_expression))]
        assert [keys.count(key) for key in duplicate.keys] == [1] * len(duplicate.keys)
        for key, change in duplicate.changes:
            values = dict(rows(change.place.select(change.key_expression, change.place.text)))
            assert values[duplicate.keys[0]] == change.original
            assert values[key] == change.copy != change.original


def test_tables_and_columns_are_those_that_coset_lists(dirty):
    check_catalogue(*dirty)


def test_clean_values_come_back_by_the_stated_expression(dirty):
    truth, session = dirty
    tokens = [item for item in truth.diagnostics if item.kind == "null_tokens"]
    for diagnostic in tokens:
        clean = [row[0] for row in session.sql(diagnostic.place.select(diagnostic.expression)).rows()]
        assert not {item.what for item in diagnostic.items} & set(clean)
    for diagnostic in (item for item in truth.diagnostics if item.kind == "mixed_date_formats"):
        known = session.sql(diagnostic.place.count(f"{diagnostic.place.text} IS NOT NULL")).rows()[0][0]
        parsed = session.sql(diagnostic.place.count(f"({diagnostic.expression}) IS NOT NULL")).rows()[0][0]
        assert known == parsed == sum(item.rows for item in diagnostic.items)


def test_no_two_names_in_one_table_differ_only_by_case(dirty):
    truth, _ = dirty
    names = [(c.place.source, table, c.name.lower()) for c in truth.columns for table in c.place.tables]
    assert len(set(names)) == len(names)


def test_every_clean_column_is_found_again_under_its_origin(dirty):
    truth, _ = dirty
    clean = {f"{table.name}.{column.name}" for table in make_company(truth.seed).tables for column in table.columns}
    assert {column.origin for column in truth.columns} | {text.origin for text in truth.texts} >= clean
    declared = {(join.left.origins, join.right.origins) for join in truth.joins if join.status == "declared"}
    assert declared == {
        (
            tuple(f"{key.table}.{column}" for column in key.columns),
            tuple(f"{key.parent_table}.{column}" for column in key.parent_columns),
        )
        for key in make_company(truth.seed).foreign_keys
    }


def test_dirt_levels_differ_in_how_many_rows_join_as_they_stand(folders):
    def plain_share(case):
        joins = load_truth(folders(*case)).joins
        return sum(j.left_counts.matched_as_is for j in joins) / sum(j.left_counts.matched for j in joins)

    assert plain_share(CASES[0]) > plain_share(CASES[-1]) + 0.2


def test_the_same_seed_gives_the_same_environment_in_another_process(folders, tmp_path):
    seed, dirt = CASES[1]
    here, there = folders(seed, dirt), tmp_path / "again"
    given = f"--out {there} --seed {seed} --dirt {dirt} --size {SIZE}"
    command = [sys.executable, "-m", "benchmarks.dirty_environment", *given.split()]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "12345"})
    files = sorted(path.relative_to(there) for path in there.rglob("*") if path.is_file())
    own = [path.relative_to(here) for path in here.rglob("*") if path.is_file()]
    assert files == sorted(path for path in own if path.parts[0] != ".coset")
    for file in files:
        if file.suffix not in {".db", ".duckdb"}:
            assert (here / file).read_bytes() == (there / file).read_bytes(), file
    for suffix in (".db", ".duckdb"):
        (file,) = (file for file in files if file.suffix == suffix)
        assert read_database(here / file) == read_database(there / file)


def test_files_that_do_not_hold_the_truth_are_refused(tmp_path, monkeypatch):
    real = generate.write_source

    def careless(engine, name, tables, folder):
        if engine == "csv":
            first, *rest = tables
            shortened = [dataclasses.replace(column, values=column.values[:-1]) for column in first.columns]
            tables = [dataclasses.replace(first, columns=tuple(shortened)), *rest]
        return real(engine, name, tables, folder)

    monkeypatch.setattr(generate, "write_source", careless)
    with pytest.raises(TruthBroken):
        make_dirty_environment(
            make_company(0, SIZE), tmp_path / "out", seed=0, options=preset("light", ("csv", "jsonl"))
        )


@pytest.mark.parametrize(
    "texts",
    [
        [str(number) for number in range(1, 60)],
        [f"{letter}-{number}-7" for letter in "ABC" for number in range(10, 30)],
        [f"2024-{month:02d}-0{month % 9 + 1}" for month in range(1, 13)],
        [f"P{number:04d}" for number in range(40)],
        ["Zoë's", " blank ", "a#b", "x\ny", "0"],
    ],
)
def test_whatever_layers_are_chosen_a_key_reads_back(texts):
    domain = Domain(frozenset(texts))
    kinds: set[str] = set()
    with duckdb.connect() as connection:
        for seed in range(60):
            rng = random.Random(seed)
            reading = Reading(domain.ignores_case and seed % 2 == 0, domain.ignores_separators and seed % 3 == 0)
            layers = choose_layers(
                domain, reading, rng, label="customer", structure_share=0.9, speck_share=0.9, speck_rows=0.5, keeps_blanks=True
            )  # fmt: skip
            kinds |= {layer.kind for layer in layers}
            written = [write_key(text, layers, rng) for text in texts]
            values = ", ".join(f"({number}, {literal(text)})" for number, text in enumerate(written))
            sql = f"SELECT {read_key('v', layers)} FROM (VALUES {values}) AS t(n, v) ORDER BY n"
            assert [row[0] for row in connection.execute(sql).fetchall()] == [reading.canonical(text) for text in texts]
    if domain.is_integer:
        assert kinds == {
            "separators", "numeric", "zero_padding", "prefix", "suffix", "piece", "stray_characters", "padding"
        }  # fmt: skip
    elif domain.is_day:
        assert kinds == {"date"} | ({"stray_characters", "padding"} & kinds)
    elif domain.is_tidy:
        assert kinds >= {"case", "separators", "prefix", "suffix", "piece", "stray_characters", "padding"}
    else:
        assert kinds <= {"case"}


def test_options_decide_what_is_done(tmp_path):
    nothing = Options(
        engines=("sqlite",), synonym_share=0, abbreviation_share=0, prefix_share=0, noise_share=0, structure_share=0,
        speck_share=0, dangling_share=0, families=0, vertical_splits=0, texts=0, duplicate_tables=0, null_tokens=0,
        mixed_dates=0, mixed_units=0, stray_characters=0, padding=0, mixed_case=0, sentinels=0, stale_counters=0,
        constants=0, empties=0,
    )  # fmt: skip
    truth = make_dirty_environment(make_company(1, SIZE), tmp_path / "clean", seed=1, options=nothing)
    assert not (truth.diagnostics or truth.duplicates or truth.texts or truth.dangling)
    assert {join.kind for join in truth.joins} == {"identity"}
    assert all(join.left_counts.match_share == 1 for join in truth.joins if join.status == "declared")
    families = dataclasses.replace(nothing, families=1, engines=("duckdb", "csv"))
    truth = make_dirty_environment(make_company(1, SIZE), tmp_path / "family", seed=1, options=families)
    (family,) = (table for table in truth.tables if len(table.names) > 1)
    through_name = [join for join in truth.joins if join.kind == "table_name"]
    assert {join.status for join in through_name} >= {"declared"}
    assert all(name.endswith(value) for name, value in family.table_values.items())
    assert all("_table_value" in (*join.left.columns, *join.right.columns) for join in through_name)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_file_with_declared_keys_is_taken_as_it_is(tmp_path, kind):
    statements = [
        "CREATE TABLE team (id INTEGER PRIMARY KEY, label TEXT)",
        "CREATE TABLE game (home INTEGER, away INTEGER, day DATE, PRIMARY KEY (home, day), "
        "FOREIGN KEY (home) REFERENCES team (id), FOREIGN KEY (away) REFERENCES team (id))",
        "INSERT INTO team VALUES (1, 'one'), (2, 'two'), (3, NULL), (10, '')",
        "INSERT INTO game VALUES (1, 2, '2024-01-31'), (2, 3, '2024-02-01'), (3, NULL, '2024-02-02')",
    ]
    path = tmp_path / "games.file"
    connection = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    clean = read_database(path)
    assert {key.columns for key in clean.foreign_keys} == {("home",), ("away",)}
    assert clean.table("game").primary_key == ("home", "day")
    assert clean.table("game").column("day").type == "date"
    assert clean.table("team").column("label").values == ("one", "two", None, None)
    truth = make_dirty_environment(clean, tmp_path / "out", seed=2, dirt="heavy")
    # Two references to one parent can be joined with each other too.
    implied = {(*join.left.origins, *join.right.origins) for join in truth.joins if join.status == "implied"}
    assert implied & {("game.home", "game.away"), ("game.away", "game.home")}


def test_the_command_writes_an_environment_and_refuses_a_full_folder(tmp_path, capsys):
    arguments = ["--out", str(tmp_path / "out"), "--engines", "csv,pg_dump", "--dirt", "light", "--size", "0.2"]
    assert main(arguments) == 0
    assert set(load_truth(tmp_path / "out").sources.values()) == {"csv", "pg_dump"}
    assert "joins" in capsys.readouterr().out
    assert main(arguments) == 2
    assert "is not empty" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path / "other"), "--engines", "oracle"])
    assert set(ENGINES) == {"sqlite", "duckdb", "csv", "parquet", "jsonl", "pg_dump", "mongodump"}


def test_a_dump_is_what_pg_dump_writes_of_the_same_tables(tmp_path, postgresql_server, postgresql_url):
    def lines(dump):
        own = ("-- Dumped", "\\restrict", "\\unrestrict", "SET transaction_timeout")  # differ from version to version
        # A server may put a row into an earlier free place, so the order of rows is not compared.
        return Counter(line for line in dump.split("\n") if line and not line.startswith(own))

    make_dirty_environment(make_company(1, SIZE), tmp_path / "out", seed=1, options=preset("light", ("pg_dump",)))
    (file,) = (tmp_path / "out").glob("*.sql")
    ours = file.read_text()
    restored = "".join(line for line in ours.splitlines(keepends=True) if "transaction_timeout" not in line)
    run = {"env": postgresql_server.environment, "check": True, "capture_output": True, "text": True}
    command = [postgresql_server.binaries / "psql", "-v", "ON_ERROR_STOP=1", "-q", postgresql_url]
    subprocess.run(command, input=restored, **run)
    theirs = subprocess.run([postgresql_server.binaries / "pg_dump", postgresql_url], **run).stdout
    assert lines(ours) == lines(theirs)
    assert "CREATE TABLE" in ours and "PRIMARY KEY" in ours


def test_tables_without_rows_or_keys_do_no_harm(tmp_path):
    tables = (
        CleanTable("empty", (CleanColumn("id", "integer", ()),), ("id",)),
        CleanTable("single", (CleanColumn("only", "text", ("x",)),)),
        CleanTable(
            "nulls", (CleanColumn("a", "real", (None, None)), CleanColumn("b", "text", (None, 'it\'s \\ \t "b"')))
        ),
    )
    clean = CleanDatabase("odd", tables, (CleanForeignKey("nulls", ("b",), "empty", ("id",)),))
    truth = make_dirty_environment(clean, tmp_path / "out", seed=1, dirt="heavy")
    assert {table.canonical_name for table in truth.tables} == {"single", "nulls"}
    with coset.QuerySession(coset.load_environment(tmp_path / "out")) as session:
        check_catalogue(truth, session)
        check_diagnostics(truth, session)
    with pytest.raises(ValueError, match="with rows"):
        make_dirty_environment(CleanDatabase("none", tables[:1]), tmp_path / "none")


@pytest.mark.shared
@pytest.mark.parametrize(("database", "dirt"), [("csu_1", "heavy"), ("wine_1", "medium"), ("inn_1", "heavy")])
def test_a_database_of_the_corpora_becomes_an_environment_whose_truth_coset_confirms(tmp_path, shared, database, dirt):
    clean = read_corpus(shared / "corpora", database, "spider")
    make_dirty_environment(clean, tmp_path / "out", seed=4, dirt=dirt)
    truth = load_truth(tmp_path / "out")
    assert {join.status for join in truth.joins} >= {"declared"}
    with coset.QuerySession(coset.load_environment(tmp_path / "out")) as session:
        check_catalogue(truth, session)
        check_joins(truth, session)
        check_diagnostics(truth, session)
        check_texts(truth, session)
