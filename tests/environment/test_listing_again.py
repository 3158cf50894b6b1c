"""A folder of files that is listed again: only what changed is looked into, and the listing is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from coset.environment.catalogue import list_source
from coset.environment.configuration import Environment, load_environment
from coset.environment.source import Table
from coset.environment.sources.files.contents import Contents


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    data = tmp_path / "data"
    data.mkdir()
    for number, name in enumerate(("apples", "pears", "plums", "Plums")):
        (data / f"{name}.csv").write_text(f"id,size_{number}\n1,small\n2,large\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  fruit: {location: data}\n")
    return load_environment(tmp_path)


def listed(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Table], set[str]]:
    """The tables, and the files that were looked into."""
    seen: set[str] = set()
    look, describe = Contents.look_at_all, Contents.shapes
    monkeypatch.setattr(
        Contents,
        "look_at_all",
        lambda self, sets: (seen.update(each.native_name for each in sets), look(self, sets))[1],
    )
    monkeypatch.setattr(Contents, "shapes", lambda self, files: (seen.add(files.native_name), describe(self, files))[1])
    listing, source = list_source(environment, "fruit")
    monkeypatch.undo()
    assert source is not None and listing.problem is None
    source.close()
    return list(listing.tables), seen


def test_only_the_changed_file_is_looked_into(environment: Environment, monkeypatch: pytest.MonkeyPatch):
    first, seen = listed(environment, monkeypatch)
    assert seen == {"apples.csv", "pears.csv", "plums.csv", "Plums.csv"}
    assert listed(environment, monkeypatch) == (first, set())
    pears = environment.path.parent / "data" / "pears.csv"
    pears.write_text("id,weight,colour\n1,2.5,green\n")
    again, seen = listed(environment, monkeypatch)
    assert seen == {"pears.csv"}
    assert [table.name for table in again] == [table.name for table in first]
    by_name = {table.name: table for table in again}
    assert [column.name for column in by_name["pears"].columns] == ["id", "weight", "colour"]
    assert [table for table in again if table.name != "pears"] == [table for table in first if table.name != "pears"]


def test_a_file_that_is_gone_is_not_remembered(environment: Environment, monkeypatch: pytest.MonkeyPatch):
    listed(environment, monkeypatch)
    (environment.path.parent / "data" / "apples.csv").unlink()
    again, _ = listed(environment, monkeypatch)
    assert "apples" not in {table.name for table in again} and len(again) == 3
