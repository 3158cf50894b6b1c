"""A source that becomes schema-only, or goes, leaves none of its values in what coset keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import coset

SECRET = "Quokka"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    people = "".join(f"{n},{SECRET}-{n:05}x,größe {n},{SECRET.lower()}{n}@example.org\n" for n in range(300))
    (tmp_path / "data" / "people.csv").write_text("id,token,note,mail\n" + people, encoding="latin-1")
    orders = "".join(f"{n},{SECRET}-{n:05}x\n" for n in range(250))
    (tmp_path / "data" / "orders.csv").write_text("no,person\n" + orders)
    (tmp_path / "more.csv").write_text("no,word\n1,one\n2,two\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  hr: {location: data}\n  more: {location: more.csv}\n")
    return tmp_path


def holding(folder: Path) -> list[Path]:
    """The files in which the secret stands, in plain bytes."""
    needles = [SECRET.encode(), SECRET.lower().encode()]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(needle in path.read_bytes() for needle in needles)]


@pytest.mark.parametrize("change", ["schema_only", "gone"])
def test_nothing_of_it_stays(change: str, folder: Path):
    with coset.open(folder) as environment:
        environment.comprehend()
        assert len(environment.sql("SELECT token FROM hr.people LIMIT 3").rows) == 3
    assert folder / ".coset" / "state.duckdb" in holding(folder / ".coset")
    hidden = "  hr: {location: data, schema_only: true}\n" if change == "schema_only" else ""
    (folder / "coset.yaml").write_text(f"sources:\n{hidden}  more: {{location: more.csv}}\n")
    with coset.open(folder) as environment:
        environment.comprehend()
        assert holding(folder / ".coset") == []
        assert environment.sql("SELECT count(*) FROM more.more").rows == [(2,)]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs files in memory")
def test_a_file_in_another_encoding_is_not_copied_to_disk(folder: Path):
    """Its copy is read while it is there, so the folder for temporary files is watched from inside."""
    (folder / "coset.yaml").write_text("sources:\n  hr: {location: data, schema_only: true}\n")
    (folder / "tmp").mkdir()
    program = (
        "import coset, coset.environment.sources.files.contents as c, pathlib\n"
        "seen, real = [], c.copy_as_utf8\n"
        "def watched(*given, **named):\n"
        "    real(*given, **named)\n"
        "    seen.append(str(given[3]))\n"
        "c.copy_as_utf8 = watched\n"
        "with coset.open('.') as environment:\n"
        "    print(environment.sql('SELECT count(*) FROM hr.people').rows[0][0], seen)\n"
        "    print([p for p in pathlib.Path('tmp').rglob('*') if p.is_file()])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env={**os.environ, "TMPDIR": str(folder / "tmp")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, second = run.stdout.splitlines()
    assert first.startswith("300 ['/proc/self/fd/")
    assert second == "[]"
