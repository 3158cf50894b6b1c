"""The rows that stages read are the columns that the state has."""

from __future__ import annotations

from pathlib import Path

import pytest

from coset.environment.source import Column, Table
from coset.state import EvidenceState
from coset.state.objects import ColumnEvidence, Diagnostic, Share, TableEvidence, ValueGroup
from coset.state.read_model import ReadModel
from coset.state.tables import ColumnRow, DiagnosticRow, GroupValueRow, StateRow


@pytest.mark.parametrize("kind", StateRow.__subclasses__(), ids=lambda kind: kind.__name__)
def test_every_kind_of_row_can_be_read_of_a_new_state(kind: type[StateRow], tmp_path: Path):
    with EvidenceState.open(tmp_path) as state:
        assert ReadModel(state).all(kind) == ()


def test_what_was_stored_is_read_by_table_by_reference_and_by_name(tmp_path: Path):
    def table(name: str, *columns: ColumnEvidence) -> TableEvidence:
        listed = Table(name, name, tuple(each.column for each in columns), schema="main", rows=3)
        return TableEvidence("shop", listed, columns, rows=3)

    status = ColumnEvidence(
        Column("status", "VARCHAR", "status", "TEXT"),
        values=ValueGroup(True, 2, (("new", 2), ("old", 1))),
        diagnostics=(Diagnostic("null_tokens", Share(0.1), "N/A stands where a value is missing.", examples=("N/A",)),),
    )
    with EvidenceState.open(tmp_path) as state:
        state.store_tables(
            [table("orders", status), table("parts", ColumnEvidence(Column("no", "BIGINT", "no", "INT")))]
        )
        model = ReadModel(state)
        assert list(model.tables) == ["shop/main/orders", "shop/main/parts"]
        assert [column.name for column in model.columns_of["shop/main/orders"]] == ["status"]
        assert [row.name for row in model.of_tables(ColumnRow, ["shop/main/parts"])] == ["no"]
        reference = model.resolve("shop.orders.status")
        assert [row.value for row in model.of_references(GroupValueRow, [reference])] == ["new", "old"]
        assert [row.examples for row in model.within(DiagnosticRow, "shop")] == [("N/A",)]
