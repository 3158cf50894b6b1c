"""Cross-schema matching with the weights that ship: real systems whose attributes correspond, and broken files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from coset.identities.matching import beside_others
from coset.json_lines import json_lines
from coset.surfaces.command_line import coset

PAIRS = Path(__file__).parents[2] / "benchmarks/matching_pairs"


def match(source: Path, target: Path, out: Path):
    return CliRunner().invoke(
        coset, ["bench", "matching", "--source", str(source), "--target", str(target), "--out", str(out)]
    )


@pytest.mark.parametrize(("name", "first", "first_five"), [("claims", 0.7, 0.93), ("trial", 0.5, 0.8)])
def test_attributes_of_two_systems_find_each_other(tmp_path: Path, name: str, first: float, first_five: float) -> None:
    out = tmp_path / "ranked.jsonl"
    result = match(PAIRS / f"{name}.a.jsonl.zst", PAIRS / f"{name}.b.jsonl.zst", out)
    assert result.exit_code == 0, result.output
    targets = {entry["attribute"] for _, entry in json_lines(PAIRS / f"{name}.b.jsonl.zst")}
    ranked = {entry["source"]: entry["target_ranked"] for _, entry in json_lines(out)}
    assert all(set(order) == targets and len(order) == len(targets) for order in ranked.values())
    gold = {entry["source"]: set(entry["targets"]) for _, entry in json_lines(PAIRS / f"{name}.gold.jsonl.zst")}
    # Plain MiniLM finds .86 and .55 of them among the first five.
    assert np.mean([bool(gold[source] & set(ranked[source][:1])) for source in gold]) >= first
    assert np.mean([bool(gold[source] & set(ranked[source][:5])) for source in gold]) >= first_five


def test_a_lone_table_and_a_lone_attribute_are_ranked_too(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"attribute": "x", "table": "orders", "column": "buyer_id"}\n')
    lines = [
        {"attribute": name, "table": "purchases", "column": name} for name in ("amount", "customer_id", "placed_at")
    ]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = match(tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "out.jsonl")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "out.jsonl").read_text())["target_ranked"][0] == "customer_id"


def test_what_is_like_everything_counts_less() -> None:
    likeness = np.array([[0.9, 0.8, 0.1], [0.9, 0.1, 0.2], [0.9, 0.2, 0.7]])
    order = np.argsort(-beside_others(likeness, 2), axis=1)
    assert order[0, 0] == 1 and order[1, 0] == 0 and order[2, 0] == 2
    assert np.array_equal(np.argsort(-likeness, axis=1)[:, 0], [0, 0, 0])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"attribute": "x", "table": "t", "column": "c"}\n{"attribute": "y"}\n', "line 2 is no attribute"),
        ('{"attribute": "x", "table": "t", "column": "c"}\n' * 2, "line 2: the attribute 'x' is there twice"),
        ("", "holds no attribute"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    result = match(tmp_path / "a.jsonl", tmp_path / "a.jsonl", tmp_path / "out.jsonl")
    assert result.exit_code != 0
    assert told in str(result.exception) + result.output
    assert not (tmp_path / "out.jsonl").exists()
