"""The lexicon of well-known systems: files that are right, systems that are recognised, chance names that are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from coset.errors import UserError
from coset.readings.observed import ObservedColumn, ObservedTable
from coset.readings.pages import MODEL
from coset.readings.reading import best_readings
from coset.readings.systems import FOLDER, load_system, recognise, system_readings, systems


def table(name: str, *columns: str) -> ObservedTable:
    reference = f"s/{name}"
    made = tuple(ObservedColumn(each, reference=f"{reference}.{each}") for each in columns)
    return ObservedTable(name, made, reference, source="s")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.tsv")), ids=lambda path: path.stem)
def test_every_file_that_ships_can_be_read(path: Path) -> None:
    system = load_system(path)
    assert system.tables
    assert all(entry.name == entry.name.strip() for entry in system.items.values())


def test_a_system_is_recognised_by_tables_together_with_their_columns() -> None:
    tables = [
        table("f0101", "aban8", "abalph", "abat1", "abmcu"),
        table("f4211", "sddoco", "sddcto", "sdan8", "sditm", "sduorg"),
        table("f4101_bak2019", "imitm", "imlitm", "imdsc1"),
    ]
    found = {reading.reference: reading for reading in system_readings(tables)}
    assert found["s/f0101"].name == "address book"
    assert "address number" in found["s/f0101.aban8"].name
    assert found["s/f4211.sdan8"].name == "sold-to customer number"
    assert found["s/f4101_bak2019.imitm"].reader == "lexicon"


def test_what_a_model_says_of_this_company_wins_over_what_a_system_means_everywhere() -> None:
    lexicon = system_readings([table("f0101", "aban8", "abalph", "abat1"), table("f4211", "sddoco", "sddcto", "sdan8"),
                               table("f4101", "imitm", "imlitm", "imdsc1")])  # fmt: skip
    known = next(each for each in lexicon if each.reference == "s/f4211.sdan8")
    said = replace(known, name="distributor", reader="model", confidence=MODEL)
    assert best_readings([known, said])["s/f4211.sdan8"] is said


def test_chance_names_prove_nothing() -> None:
    assert not recognise([table("users", "id", "name"), table("orders", "id", "status"), table("account", "id")])
    assert not recognise([table("f0101", "a", "b", "c"), table("f4211", "x"), table("f4101", "y")])


def test_a_wrong_file_is_refused_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "wrong.tsv"
    path.write_text("system\tX\tERP\ncolumn\tA\tname\nnonsense\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"line 2: a column before any table; line 3"):
        load_system(path)


def test_systems_of_one_family_share_their_data_items_and_own_tables_use_them() -> None:
    """An industry's tables name company codes and languages as the ERP below does; so do tables that a company made
    itself, where a name is so peculiar that it means nothing else."""
    erp, industry = (next(each for each in systems() if each.name.startswith(name)) for name in ("SAP ERP", "SAP ind"))
    assert erp.family == industry.family == "SAP"
    only = next(name for name in sorted(erp.items) if name == "bukrs" and name not in industry.items)
    own = ("EANL", "EVER", "ERCH")
    tables = [table(name, "ANLAGE", "VERTRAG", "SPARTE", only) for name in own]
    tables.append(table("ZOWN", only, "REMARK", "AMOUNT"))
    found = {each.reference: each for each in system_readings(tables)}
    assert found[f"s/EANL.{only}"].name == erp.items[only].name
    assert found[f"s/ZOWN.{only}"].name == erp.items[only].name


def test_tables_may_end_as_the_system_keeps_them() -> None:
    crm = next(each for each in systems() if each.ending)
    assert crm.table(f"campaign{crm.ending}") == crm.table("campaign")
