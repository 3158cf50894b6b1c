"""SQL on the state file stands in one package."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "coset"
sys.path.insert(0, str(ROOT / "benchmarks"))

from structure import sends_sql_to_a_state  # noqa: E402


def test_no_other_package_sends_sql_to_the_state():
    files = [file for file in PACKAGE.rglob("*.py") if file.relative_to(PACKAGE).parts[0] != "state"]
    assert len(files) > 200
    assert sends_sql_to_a_state(PACKAGE / "state" / "readings.py")
    past = sorted(str(file.relative_to(PACKAGE)) for file in files if sends_sql_to_a_state(file))
    assert past == []
