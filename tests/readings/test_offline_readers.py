"""What the readers that need no model make of names, other languages, comments and documents."""

from __future__ import annotations

import pytest

from coset.readings.expansion import Expander
from coset.readings.kept import KeptNames
from coset.readings.names import habits_of
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.readings.offline import SHOWN, STRUCTURE, CopyOf, read_offline
from coset.readings.reading import Reading, best_readings
from coset.readings.stated import Text
from coset.readings.stems import stems_of
from coset.readings.vocabulary import vocabulary


def table(name: str, *columns: str | ObservedColumn, source: str = "s", description: str = "") -> ObservedTable:
    made = [each if isinstance(each, ObservedColumn) else ObservedColumn(each) for each in columns]
    reference = f"{source}/{name}"
    return ObservedTable(
        name,
        tuple(
            ObservedColumn(
                each.name, each.type, f"{reference}.{each.name}", "", each.description, each.samples,
                distinct=each.distinct, rows=each.rows,
            )
            for each in made
        ),
        reference,
        description=description,
        source=source,
    )  # fmt: skip


def read(*tables: ObservedTable, texts: tuple[Text, ...] = ()) -> dict[str, Reading]:
    return best_readings(read_offline(ObservedEnvironment("", tables), texts))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("acct_nm", "account name"),
        ("strt_dt", "start date"),
        ("sbscr_id", "subscriber id"),
        ("custBillAddr", "customer bill address"),
        ("ordqty", "order quantity"),
        ("unit_price", "unit price"),
    ],
)
def test_short_forms_are_spelled_out(name: str, words: str) -> None:
    assert read(table("t1", name))[f"s/t1.{name}"].name == words


def test_words_written_together_are_told_apart_with_the_words_of_the_documents() -> None:
    texts = (Text("A policy is effective from its first day. Every policy has a number.", "handbook"),)
    assert read(table("x", "POLEFFDT"), texts=texts)["s/x.POLEFFDT"].name == "policy effective date"


def test_a_prefix_that_all_columns_of_a_table_share_is_no_word() -> None:
    tables = (
        table("ORDMST", "OMCUST", "OMSTAT", "OMDATE", "OMCURR"),
        table("ITMMST", "IMDESC", "IMPRIC", "IMUNIT", "IMTYPE"),
    )
    found = read(*tables)
    assert found["s/ORDMST.OMCUST"].name == "customer"
    assert found["s/ITMMST.IMDESC"].name == "item description"
    assert found["s/ORDMST"].name == "order master"


def test_what_all_tables_of_a_source_end_with_is_no_word_and_prefixes_have_one_length() -> None:
    tables = (
        table("ORDHFL", "OHCUST", "OHSTAT", "OHDATE", "OHCURR"),
        table("EQIPFL", "EQSEQN", "EQSERV", "EQSTAT", "EQSITE"),
        table("ITEMFL", "ITDESC", "ITPRIC", "ITUNIT", "ITTYPE"),
        table("CUSTFL", "CUNAME", "CUCITY", "CUZONE", "CUTYPE"),
        table("PRICFL", "PCUNIT", "PCDATE", "PCTYPE", "PCCURR"),
        table("SHIPFL", "SHDATE", "SHCITY", "SHUNIT", "SHTYPE"),
    )
    found = read(*tables)
    assert found["s/CUSTFL"].name == "customer"
    assert found["s/PRICFL"].name == "price"
    assert found["s/EQIPFL.EQSTAT"].name.endswith("status")


def test_units_flags_and_marks_of_own_columns_are_read_for_what_they_are() -> None:
    found = read(
        table("line", ObservedColumn("len_m", "number"), "vip_yn", "X_REGION", ObservedColumn("cap_eur", "number"))
    )
    assert found["s/line.len_m"].name == "length in metres"
    assert found["s/line.vip_yn"].name.endswith("flag")
    assert found["s/line.X_REGION"].name == "region"
    assert found["s/line.cap_eur"].name.endswith("in euro")


def test_a_column_that_is_called_by_a_preposition_says_what_it_holds() -> None:
    found = read(table("visit", "at", "by", "why"))
    assert [found[f"s/visit.{name}"].name for name in ("at", "by", "why")] == [
        "visit time",
        "visit user",
        "visit reason",
    ]


def test_values_decide_between_two_meanings_of_a_short_form() -> None:
    dates = ObservedColumn("st_dt", "text", samples=("2024-01-05", "2024-02-07", "2023-11-30"))
    assert read(table("x", dates))["s/x.st_dt"].name.endswith("date")


def test_names_of_another_language_are_translated_in_english_order() -> None:
    found = read(
        table("factures", "code_apporteur", "date_echeance", "montant_tva", "libelle", "statut"),
        table("ecritures", "compte", "devise", "solde"),
    )
    assert found["s/factures"].name == "invoice"
    assert found["s/factures.code_apporteur"].name == "broker code"
    assert found["s/factures.date_echeance"].name == "due date"
    assert found["s/factures.montant_tva"].name == "vat amount"
    german = read(table("kunden", "kundennummer", "strasse", "rechnungsbetrag", "lieferdatum", "waehrung"))
    assert german["s/kunden.kundennummer"].name == "customer number"


def test_a_comment_wins_over_a_name_and_a_remark_names_nothing() -> None:
    named = ObservedColumn("x7", "text", description="Reason of the return")
    remark = ObservedColumn("cust_nm", "text", description="As typed by the clerk")
    found = read(table("ret", named, remark))
    assert (found["s/ret.x7"].name, found["s/ret.x7"].reader) == ("reason of the return", "comment")
    assert found["s/ret.cust_nm"].name == "customer name"
    assert found["s/ret.cust_nm"].meaning == "As typed by the clerk"


def test_documents_that_name_a_table_or_column_read_it() -> None:
    texts = (
        Text("The returns are in RMAHDR, the audits in QAUD.", "description of s", None, "s"),
        Text("* PLEFDT    effective date of the policy\n* OTHER    nothing\n", "copybook.txt#1"),
    )
    found = read(table("RMAHDR", "RMNO"), table("QAUD", "QANO"), table("PLM", "PLEFDT"), texts=texts)
    assert (found["s/RMAHDR"].name, found["s/RMAHDR"].reader) == ("returns", "document")
    assert found["s/QAUD"].name == "audits"
    assert found["s/PLM.PLEFDT"].name == "effective date of the policy"
    assert found["s/PLM.PLEFDT"].source == "copybook.txt#1"


def test_descriptions_say_in_several_ways_what_is_in_a_table() -> None:
    said = (
        "Buyers and dealers are both in XQORG. The price book is XQPRC, and tXqp is the part table. XQZ is out of use."
    )
    found = read(*(table(name, "A1") for name in ("XQORG", "XQPRC", "tXqp", "XQZ")), texts=(
        Text(said, "description of s", None, "s"),
    ))  # fmt: skip
    assert found["s/XQORG"].name == "buyers and dealers"
    assert found["s/XQPRC"].name == "price book"
    assert found["s/tXqp"].name == "part"
    assert found["s/XQZ"].reader != "document"


def test_a_name_that_nothing_knows_keeps_its_letters_and_is_hardly_believed() -> None:
    found = read(table("zq9x", "xqzv"))["s/zq9x.xqzv"]
    assert found.confidence <= 0.3


def test_small_whole_numbers_are_no_revenue_and_a_copy_reads_as_its_original() -> None:
    counted = ObservedColumn("rev", "whole", samples=("1", "2", "1", "3"))
    assert read(table("rates", "month", counted))["s/rates.rev"].name != "revenue"
    originals = (table("acct", "acct_nm", "zzqx_dt"), table("acct_bak", "acct_nm", "zzqx_dt"))
    copies = {"s/acct_bak": CopyOf("s/acct", "backup")}
    found = best_readings(read_offline(ObservedEnvironment("", originals), (), copies))
    assert found["s/acct_bak.acct_nm"].name == found["s/acct.acct_nm"].name == "account name"
    assert found["s/acct_bak"].name == "account (backup)"


def test_a_language_that_no_dictionary_has_is_kept_as_it_is_and_hardly_believed() -> None:
    finnish = ("tilausnumero", "asiakkaan_nimi", "toimituspaivamaara", "yhteissumma", "kirjanpitotili")
    found = read(table("tilausrivit", *finnish))
    assert len(found) == 6
    assert all(each.confidence < 0.5 for each in found.values())


def test_a_table_of_five_thousand_columns_is_read_whole() -> None:
    names = [f"{first}_{second}_{number}" for number in range(500) for first, second in (
        ("acct", "nm"), ("strt", "dt"), ("sbscr", "id"), ("pol", "eff"), ("cust", "amt"), ("ship", "qty"),
        ("addr", "cd"), ("inv", "no"), ("prod", "desc"), ("xq", "zz"),
    )]  # fmt: skip
    found = read(table("wide", *names))
    assert len(found) == 5_001
    assert found["s/wide.acct_nm_7"].name == "account name 7"


def test_a_short_form_that_may_stand_for_several_things_is_a_guess_until_something_around_it_speaks() -> None:
    """The first meaning listed is taken, but views do not show it; a word of the documents confirms it."""
    forms = [form for form, meanings in vocabulary().short_forms.items() if len(meanings) > 2 and len(form) == 2]
    for form in forms[:20]:
        reading = read(table("zq", form))[f"s/zq.{form}"]
        assert reading.reader != "abbreviations" or reading.confidence < SHOWN
    assert Expander({"revision": 5}).expand(("rev",)).certainty > Expander({}).expand(("rev",)).certainty
    texts = (Text("Each revision has a state. A revision replaces the revision before it.", "handbook"),)
    confirmed = read(table("zq", "rev_no", "rev_dt"), texts=texts)["s/zq.rev_no"]
    assert (confirmed.name, confirmed.confidence >= SHOWN) == ("revision number", True)


def test_a_short_form_that_means_two_things_of_the_company_is_a_guess() -> None:
    both = Expander({"revision": 6, "revenue": 6}).expand(("rev",))
    assert both.certainty < Expander({"revision": 6}).expand(("rev",)).certainty


def test_a_sentence_that_names_a_table_in_passing_is_a_guess_and_a_description_is_not() -> None:
    said = "After the move the payments were wrong in XQPAY."
    passing = read(table("XQPAY", "A1"), texts=(Text(said, "handbook.md#3"),))["s/XQPAY"]
    assert passing.confidence < SHOWN
    marked = read(
        table("XQPAY", "A1"), texts=(Text("| fin | customers (`XQCUS`), payments (`XQPAY`) |", "handbook.md#2"),)
    )
    assert (marked["s/XQPAY"].name, marked["s/XQPAY"].confidence >= SHOWN) == ("payments", True)
    described = read(table("XQPAY", "A1"), texts=(Text("The payments are in XQPAY.", "description of s", None, "s"),))
    assert described["s/XQPAY"].confidence >= SHOWN


def test_what_is_nested_is_a_fact_of_what_it_stands_in_and_not_of_the_table() -> None:
    agency = ObservedColumn("code", "text", "s/quotes.agency.code")
    made = ObservedTable(
        "quotes", (ObservedColumn("status", "text", "s/quotes.status"), agency), "s/quotes", source="s"
    )
    assert read(made)["s/quotes.agency.code"].name == "agency code"


def test_a_column_does_not_borrow_the_name_of_a_table_that_is_only_guessed() -> None:
    found = read(table("zqx", "code", "text"))
    assert found["s/zqx.code"].name == "code"


def test_a_beginning_is_read_as_the_word_that_the_source_writes_in_full_elsewhere() -> None:
    found = read(
        table("apporteurs", "code_apporteur", "raison_sociale", "pays"),
        table("rattachements", "code_app", "date_fin", "code_reseau"),
        table("ecritures", "compte", "devise", "solde", "date_compta"),
    )
    assert found["s/rattachements.code_app"].name == "broker code"
    assert found["s/ecritures.date_compta"].name == "accounting date"


def test_tables_of_one_source_may_be_in_different_languages() -> None:
    found = read(
        table("feiertage", "datum", "bezeichnung", "kanton"),
        table("personalliste", "eintritt", "austritt", "abteilung", "vorname", "nachname"),
        table("wachtrij", "omschrijving", "afdeling", "klant", "bestelling"),
    )
    assert found["s/personalliste.abteilung"].name == "department"
    assert found["s/wachtrij.omschrijving"].name.endswith("description")
    assert found["s/wachtrij.afdeling"].name == "department"


def test_a_sentence_of_another_language_names_nothing() -> None:
    texts = (Text("Die Zählerstände (hRead) gelten. Selon la liste valable (gm_code).", "leitfaden.md#1"),)
    found = read(table("hRead", "nId"), table("gm_code", "cd"), texts=texts)
    assert all(each.reader != "document" for each in found.values())


def test_languages_and_units_at_the_end_of_names_are_read() -> None:
    wait = ObservedColumn("wait_s", "whole", samples=("12", "40"))
    found = read(table("places", "city_de", "city_fr", wait))
    assert found["s/places.city_fr"].name == "french city"
    assert found["s/places.wait_s"].name == "wait in seconds"


def test_the_letters_of_a_warehouse_and_marks_of_own_columns_are_habits() -> None:
    found = read(
        table("D_CUSTOMER", "CUSTOMER_SK"), table("D_MONTH", "MONTH_SK"),
        table("F_SALES", "AMOUNT"), table("F_STOCK", "QUANTITY"),
    )  # fmt: skip
    assert found["s/D_CUSTOMER"].name == "customer dimension"
    own = read(table("Account", "AccountNumber", "OwnerId", "FullName", "City", "Phone", "Fax", "Street", "Web",
                     "new_score", "new_topic", "new_reason"))  # fmt: skip
    assert own["s/Account.new_topic"].name == "topic"


def test_what_somebody_calls_a_table_tells_what_the_stem_of_its_name_stands_for() -> None:
    tables = (table("SHPHDR", "SHPNO", "SHPDT"), table("SHPLIN", "SHPNO", "LINNO"), table("CLNT", "CLNTID"))
    before = read(*tables)
    texts = (Text("The shipments are in SHPHDR.", "description of s", None, "s"),)
    after = read(*tables, texts=texts)
    assert after["s/SHPLIN"].name == "shipment line"
    assert after["s/SHPLIN.SHPNO"].name == "shipment number"
    assert after["s/SHPLIN.SHPNO"].confidence > before["s/SHPLIN.SHPNO"].confidence
    assert after["s/CLNT"] == before["s/CLNT"]


def test_a_stem_that_would_stand_for_two_words_stands_for_none() -> None:
    tables = (table("CNTHDR", "CNTID"), table("CNTMST", "CNTNM"), table("SHPHDR", "SHPNO"))
    titles = {"s/CNTHDR": "contracts", "s/SHPHDR": "shipments"}
    known = stems_of(tables, titles, habits_of(tables), STRUCTURE)
    assert known == {"cnt": "contract", "shp": "shipment"}
    known = stems_of(tables, {**titles, "s/CNTMST": "counters"}, habits_of(tables), STRUCTURE)
    assert known == {"shp": "shipment"}


def test_what_was_read_of_names_is_taken_over_where_nothing_changed_for_them_and_else_read_again():
    tables = (
        table("acct", "acct_nm", "opn_dt", "brnch_cd"),
        table("vhcl", "vhcl_no", "plt", "clr"),
    )
    observed = ObservedEnvironment("", tables)
    texts = [Text("An account is opened in a branch.", "handbook")]
    first = KeptNames()
    read_offline(observed, texts, kept=first)
    for more in ([Text("Zebras sleep.", "zoo")], [Text("The plate of a vehicle. Plates and colours.", "cars")]):
        kept = KeptNames.of(first.read, first.counted)
        assert read_offline(observed, texts + more, kept=kept) == read_offline(observed, texts + more)
        same = {(each.table_reference, each.round) for each in kept.read if any(each is known for known in first.read)}
        assert (tables[0].reference, 1) in same
        assert ((tables[1].reference, 1) in same) == (more[0].place == "zoo")
        anew = KeptNames()
        read_offline(observed, texts + more, kept=anew)
        assert (kept.read, kept.counted) == (anew.read, anew.counted)


@pytest.mark.parametrize("name", ["?", "--", "_", "", "%", "§ §", "..", "1", "名前"])
def test_names_without_letters_are_read_as_they_stand_and_end_nothing(name: str) -> None:
    found = read(table("orders", name, "order_no"), table(name or "-", "customer"))
    assert found["s/orders.order_no"].name == "order number"
    assert f"s/orders.{name}" not in found or found[f"s/orders.{name}"].confidence < 0.8
