"""Systems that several clients share: joins are found though a key repeats in another client's rows."""

from __future__ import annotations

from pathlib import Path

import duckdb

from coset.environment.configuration import load_environment
from coset.evidence.work import here
from coset.state import EvidenceState
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend


def joins(folder: Path, trial: str) -> set[tuple[str, str]]:
    """The joins of a company whose first twenty customers and orders a trial client has, too."""
    folder.mkdir()
    with duckdb.connect(str(folder / "erp.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE customers AS SELECT '100' AS client, printf('%08d', 4000 + 7 * i) AS custno, 'n' || i AS name "
            f"FROM range(300) t(i) UNION ALL SELECT {trial}, printf('%08d', 4000 + 7 * i), 'trial' FROM range(20) t(i)"
        )
        connection.execute(
            "CREATE TABLE billing AS SELECT '100' AS client, i AS doc, printf('%08d', 4000 + 7 * (i * 13 % 290)) AS payer "
            f"FROM range(900) t(i) UNION ALL SELECT {trial}, 9000 + i, printf('%08d', 4000 + 7 * i) FROM range(20) t(i)"
        )
    (folder / "coset.yaml").write_text("sources:\n  erp: {location: erp.duckdb}\n")
    comprehend(load_environment(folder), Settings(spread=here), stages=EVIDENCE)
    with EvidenceState.read(load_environment(folder).state_folder) as state:
        rows = state.rows("SELECT left_columns, right_columns FROM relations")
    return {(row["left_columns"][0].rsplit(".")[-1], row["right_columns"][0].rsplit(".")[-1]) for row in rows}


def test_a_key_that_repeats_in_the_rows_of_a_trial_client_is_one(tmp_path: Path):
    assert ("payer", "custno") in joins(tmp_path / "two", "'200'")


def test_a_key_that_repeats_within_one_client_is_none(tmp_path: Path):
    assert ("payer", "custno") not in joins(tmp_path / "one", "'100'")
