"""What documents say is not to be used any more, in clauses of several languages."""

from __future__ import annotations

import pytest

from coset.routing.objects.knowledge import Mention
from coset.routing.search.document_search import _is_ended, clauses


@pytest.mark.parametrize(
    ("name", "text", "ended"),
    [
        (
            "rsv_mv",
            "Reserves are booked in rsv_new; rsv_mv is frozen, rsv_snap is a counter nobody runs any more.",
            True,
        ),
        ("rsv_snap", "Reserves are booked in rsv_new; rsv_snap is a counter nobody runs any more.", True),
        ("rsv_new", "Reserves are booked in rsv_new; rsv_mv is frozen.", False),
        ("REF_FX", "Rates kept elsewhere (ledger: taux, warehouse: REF_FX, mainframe) are not ours.", True),
        ("B7", "Do not use A3 but B7.", False),
        ("A3", "Do not use A3 but B7.", True),
        ("T_NEW", "T_OLD was replaced by T_NEW.", False),
        ("T_OLD", "T_OLD was replaced by T_NEW.", True),
        ("tSup", "Replaced numbers are listed in tSup.", False),
        ("KUNDEN_ALT", "KUNDEN_ALT wird nicht mehr gepflegt.", True),
        ("fiches", "La table fiches est obsolète.", True),
        ("ANAG", "ANAG non è più aggiornata.", True),
        ("T_ALT", "Die Tabelle T_ALT stammt aus dem ersten Projekt und ist falsch.", True),
        ("v_list", "v_list is the list as delivered and was never right here.", True),
        ("orders", "Orders are in orders.", False),
        ("missing", "Nothing of it.", None),
    ],
)
def test_a_clause_that_names_a_table_says_whether_its_use_has_ended(name: str, text: str, ended: bool | None):
    assert _is_ended(Mention("x", "name", 0.9, 0, name), text) is ended


def test_commas_inside_brackets_cut_no_clause():
    assert list(clauses("a (b, c) d, e")) == ["a (b, c) d", " e"]
