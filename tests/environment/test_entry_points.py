"""Packages of others: what they declare as entry points takes part, and one that is broken takes nothing down."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import pyarrow as pa

from coset.answering.checks.examined import CheckResult
from coset.environment.scan import EVERYTHING
from coset.environment.source import Column, Source, Table
from coset.identities.signals import Labeler, Signal
from coset.readings.reading import Reading

COLUMNS = (Column("id", "BIGINT", "id", "int"), Column("zqx", "VARCHAR", "zqx", "text"))


class Acme(Source):
    kind = "acme"
    schemes = ("acme",)

    def tables(self):
        return [Table("parts", "parts", COLUMNS, rows=3, rows_exact=True, primary_key=("id",))]

    def change_token(self, table):
        return "1"

    def read(self, table, scan=EVERYTHING):
        return pa.table({"id": [1, 2, 3], "zqx": ["alpha", "beta", "gamma"]}).to_reader()


def of_parts(look):
    if look.column is not None and look.column.name == "zqx":
        yield Signal("acme parts", "attribute", look.attributes("name"), True, "Acme's parts have their name there")


PARTS = Labeler("acme parts", "columns that Acme calls zqx", of_parts)


def read_names(observed, texts):
    for table in observed.tables:
        for column in table.columns:
            if column.name == "zqx":
                yield Reading(column.reference, table.reference, "part name", "as Acme calls it", (), "lexicon", 0.9, "acme")


def check(examined):
    return CheckResult("acme check", "doubt", "Acme doubts everything")
"""
DECLARED = """
[coset.sources]
acme = acme_coset:Acme
broken = acme_coset:Missing
duckdb = acme_coset:Acme

[coset.labelers]
acme = acme_coset:PARTS

[coset.readers]
acme = acme_coset:read_names

[coset.checks]
acme check = acme_coset:check
"""
PROGRAM = """
import logging, sys
from pathlib import Path

import coset
from coset.environment.sources import KINDS, known_kinds, open_source

folder = Path(sys.argv[1])
(folder / "coset.yaml").write_text("sources:\\n  factory: {location: 'acme://plant'}\\n")
assert "acme" in known_kinds() and known_kinds().count("duckdb") == 1
with coset.open(folder / "coset.yaml") as environment:
    summary = environment.comprehend(jobs=1)
    assert not summary.all_problems, summary.all_problems
    assert environment.sql("SELECT zqx FROM factory.parts WHERE id = 2").rows == [("beta",)]
    shown = environment.show("factory.parts.zqx")
    assert "part name" in str(shown), shown
    checks = environment.check("SELECT count(*) FROM factory.parts", "3")
    assert [(each.name, each.outcome) for each in checks if each.name == "acme check"] == [("acme check", "doubt")]
print("all took part")
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as it lies there when it is installed."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "acme_coset.py").write_text(MODULE)
    installed = folder / "acme_coset-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-coset\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(DECLARED)
    return folder


def _run(package: Path | None, *arguments: object) -> subprocess.CompletedProcess[str]:
    places = [*([str(package)] if package else []), *(place for place in sys.path if place)]
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    )  # fmt: skip


def test_what_a_package_declares_takes_part(package, tmp_path):
    done = _run(package, "-c", PROGRAM, tmp_path)
    assert done.stdout == "all took part\n", done.stderr[-3000:]
    labelers = _run(package, "-m", "coset", "labelers", "-e", tmp_path)
    assert "acme parts" in labelers.stdout, labelers.stderr


def test_a_part_that_cannot_be_loaded_is_named_and_the_others_work(package, tmp_path):
    (tmp_path / "coset.yaml").write_text("sources:\n  factory: {location: 'acme://plant'}\n")
    done = _run(package, "-m", "coset", "sql", "SELECT count(*) AS n FROM factory.parts", "-e", tmp_path)
    assert "3" in done.stdout, done.stderr
    assert "'broken' of package acme-coset cannot be loaded" in done.stderr


def test_without_the_package_its_kind_is_unknown(tmp_path):
    (tmp_path / "coset.yaml").write_text("sources:\n  factory: {location: 'acme://plant'}\n")
    done = _run(None, "-m", "coset", "sources", "-e", tmp_path)
    assert done.returncode != 0 and "is not a kind of source" in done.stdout + done.stderr
