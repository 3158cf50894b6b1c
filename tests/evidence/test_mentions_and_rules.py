"""What a document names, surely or perhaps, and which of its sentences are rules."""

from __future__ import annotations

import pytest

from coset.evidence.documents.doubts import are_opposite
from coset.evidence.documents.mentions import Paragraph, find_mentions
from coset.evidence.documents.nameable import Mention, NamedTable, Names, SpokenReading
from coset.evidence.documents.rules import Rule, find_rules
from coset.evidence.documents.sections import Section
from coset.readings.vocabulary import is_business_word

WORDS = set(
    [
        "orders",
        "order",
        "status",
        "date",
        "account",
        "accounts",
        "case",
        "the",
        "tables",
        "table",
        "fact",
        "facts",
        "on",
        "premiums",
        "premium",
        "claims",
        "claim",
        "budget",
        "are",
        "tests",
        "test",
        "record",
        "partner",
        "category",
        "number",
        "link",
        "links",
        "customer",
        "note",
        "notes",
        "type",
        "line",
        "lines",
        "main",
        "are",
    ]
)


def table(reference: str, *columns: str, original: str | None = None) -> NamedTable:
    source, *_, name = reference.split("/")
    owned = tuple((column, f"{reference}.{column}") for column in columns)
    return NamedTable(reference, source, None, name, original is not None, original, owned)


NAMES = Names(
    tables=[
        table("erp/vbrk", "fkart", "status"),
        table("erp/vbrk_bak", "fkart", original="erp/vbrk"),
        table("erp/kna1", "kunnr", "katr1"),
        table("erp/stg_kna1", "kunnr", "katr1", original="erp/kna1"),
        table("crm/orders", "status", "date"),
        table("crm/Account", "Test__c"),
        table("crm/Case", "Test__c", "KindOf"),
        table("dwh/FCT_PREM", "K"),
        table("dwh/FCT_CLM", "K"),
        table("dwh/FCT_BUDGET", "K"),
        table("dwh/XREF_A", "K"),
        table("dwh/XREF_B", "K"),
        table("lost/links", "partner_no"),
    ],
    sources={"erp": "The ERP.", "crm": "The sales system.", "dwh": "Dump of the data warehouse of all plants.", "lost": ""},
    readings=[
        SpokenReading("erp/vbrk", "billing document headers"),
        SpokenReading("erp/kna1", "partners", from_documents=True),
        SpokenReading("erp/kna1.katr1", "partner category"),
        SpokenReading("erp/stg_kna1.katr1", "partner category"),
        SpokenReading("erp/kna1.kunnr", "client number"),
        SpokenReading("lost/links.partner_no", "client number"),
        SpokenReading("dwh/FCT_PREM", "premium facts"),
        SpokenReading("dwh/FCT_CLM", "claim facts"),
        SpokenReading("dwh/FCT_BUDGET", "budget facts"),
    ],
    values=[
        ("F2", "erp/vbrk.fkart"), ("F2", "erp/vbrk_bak.fkart"), ("Paid in full", "crm/orders.status"),
        ("EXP", "crm/Case.KindOf"),
    ],
    is_word=lambda word: word.lower() in WORDS,
)  # fmt: skip


def found(*paragraphs: str, title: str = "Note") -> list[Mention]:
    texts = [Paragraph("d#1", number, text, "d") for number, text in enumerate([title, *paragraphs], start=-1)]
    return find_mentions(texts, NAMES)


def surely(*paragraphs: str, title: str = "Note") -> set[str]:
    return {each.target for each in found(*paragraphs, title=title) if each.is_strong and each.how != "source"}


def perhaps(*paragraphs: str) -> set[str]:
    return {each.target for each in found(*paragraphs) if not each.is_strong}


def test_a_common_word_is_no_mention_unless_it_is_written_as_a_name():
    assert surely("The status of orders depends on the date.") == set()
    assert surely("The table orders holds them.") == {"crm/orders"}
    assert surely("Take fkart from vbrk.") == {"erp/vbrk", "erp/vbrk.fkart"}
    assert surely("In VBRK the field status is 1.") == {"erp/vbrk", "erp/vbrk.status"}
    assert surely("The header of each billing document of the ERP.") == {"erp/vbrk"}
    assert surely("Main tables: orders, Account, Case.") == {"crm/orders", "crm/Account", "crm/Case"}


def test_a_name_that_several_tables_have_means_the_one_that_is_spoken_of():
    assert surely("In the CRM, accounts with Test__c = 1 are tests; their cases do not count.") == {
        "crm/Account.Test__c"
    }


def test_a_copy_is_never_meant_where_its_original_is_there():
    assert surely("Ours are left out (see the partner category).") == {"erp/kna1.katr1"}
    assert surely("In stg_kna1 the field katr1 is empty.") == {"erp/stg_kna1", "erp/stg_kna1.katr1"}


def test_what_nothing_decides_is_kept_apart_as_weak():
    assert surely("Give the client number.") == set()
    assert perhaps("Give the client number.") == {"erp/kna1.kunnr", "lost/links.partner_no"}
    assert surely("Take links. Give the client number.", "See the table links.") == {
        "lost/links", "lost/links.partner_no",
    }  # fmt: skip


def test_a_stored_value_is_a_mention_where_the_words_beside_it_are_those_of_its_column_or_table():
    assert surely("The reference is EXP and the year.") == set()
    assert perhaps("The reference is EXP and the year.") == {"crm/Case.KindOf"}
    assert surely("A case of kind EXP is none.") == {"crm/Case.KindOf"}


def test_a_pattern_means_originals_and_of_these_the_ones_that_words_beside_it_fit():
    assert surely("XREF is maintained.") == {"dwh/XREF_A", "dwh/XREF_B"}
    assert surely("The FCT tables on premiums and claims stopped in March.") == {"dwh/FCT_PREM", "dwh/FCT_CLM"}


def test_a_source_is_named_by_what_its_description_calls_it_and_not_by_small_words():
    def sources(text: str) -> set[str]:
        return {each.target for each in found(text) if each.how == "source"}

    assert sources("It stands in the warehouse.") == {"dwh"}
    assert sources("The day of the plant, or of the home base.") == set()


def test_a_source_is_not_called_by_what_it_holds_nor_by_part_of_a_word():
    names = Names((), {"hes": "dump of the head-end of the smart meters and of the portal"}, (), (), WORDS.__contains__)
    spoken = set(names.spoken_sources)
    assert {("head", "end"), ("portal",)} <= spoken and not {("end",), ("meter",), ("smart", "meter")} & spoken


def test_a_sheet_is_named_by_its_own_name_and_its_workbook():
    tables = [NamedTable(f"share/{name}", "share", None, name) for name in ("rates_Hedge", "rates_Spot", "costs_Hedge")]
    names = Names(tables, {"share": ""}, (), (), WORDS.__contains__)

    def meant(text: str) -> set[str]:
        mentions = find_mentions([Paragraph("d#1", 0, text, "d.md", None)], names)
        return {each.target for each in mentions if each.is_strong and each.target != "share"}

    assert meant("On prend le cours de la feuille Spot.") == {"share/rates_Spot"}
    assert meant("Take sheet Hedge of the workbook costs.") == {"share/costs_Hedge"}


def rules_of(*paragraphs: str, title: str = "Handbook") -> list[Rule]:
    section = Section((title,), 0, paragraphs)
    mentions = [each for each in found(*paragraphs, title=title) if each.is_strong]
    return find_rules({"d#1": section}, mentions, sources=NAMES.sources, is_business=is_business_word)


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("Verbrauch und Erlös gehören in den Zeitraum, in dem die Periode endet.", False),
        ("Gezählt werden ungeplante Ausfälle, die länger als 3 Minuten dauern.", False),
        ("Testpartner und die eigenen Gesellschaften zählen nie als Kunden.", True),
        ("Tous les montants sont en francs; les ventes annulées ne comptent pas.", True),
        ("In de noemer tellen alle gesprekken, met uitzondering van de testlijn.", False),
        ("Die gedeckten Plätze beim Werkhof werden im November neu vergeben.", None),
        ("Anwesend: Finanzen, Netz, Kundendienst. Entschuldigt: Wasser.", None),
    ],
)
def test_rules_of_other_trades_and_languages_are_found_by_words_that_data_are_called_by(
    text: str, general: bool | None
):
    found_rules = rules_of(text)
    assert [each.scope == "general" for each in found_rules] == ([] if general is None else [general])


def test_what_stands_under_house_rules_or_says_that_it_holds_for_every_figure_is_general():
    text = "Gezählt werden Verträge ohne Auszug."
    assert [each.scope for each in rules_of(text)] == ["particular"]
    assert [each.scope for each in rules_of(text, title="Hausregeln")] == ["general"]
    said = "Diese Regeln ersetzen die Fassung 2021. Sie gelten für jede Zahl der Geschäftsleitung."
    assert {each.scope for each in rules_of(said, text)} == {"general"}


def test_rules_are_told_from_talk_and_general_ones_from_particular_ones():
    rules = rules_of(
        "Welcome to the team. The coffee is on the third floor.",
        "Test customers are left out of every figure.",
        "An invoice counts on the day it was posted (vbrk), not on the day it was sent.",
        "Toutes les dates sont en heure de Bruxelles ; les montants sont arrondis.",
        "The canteen opens at noon.",
    )
    assert [(rule.paragraph, rule.scope) for rule in rules] == [(1, "general"), (2, "particular"), (3, "general")]
    assert rules[1].about == ("erp/vbrk",)


@pytest.mark.parametrize(
    "text",
    [
        "Rates and currencies",
        "2. Codes, states and dates:",
        "The table vbrk is in the billing system of the group.",
        "The CRM contains customers, orders and tickets.",
        "Valid from 1 July 2023, last edited May 2024. Replaces version 2 of 2020.",
        "The move of orders to the new data centre happens in three waves.",
    ],
)
def test_headings_descriptions_of_systems_and_tales_of_projects_are_no_rules(text: str):
    others = ("Cancelled orders never count.", "Only paid orders are included.")
    assert [rule.paragraph for rule in rules_of(text, *others)] == [1, 2]


def test_all_rows_of_a_table_of_rules_are_rules_but_its_head():
    rules = rules_of(
        "| about | believe |",
        "| weight of an item | the latest revision in the ERP, never the price list |",
        "| orders | only the CRM counts |",
        "| complaints | quality system |",
        title="Which system wins",
    )
    assert [rule.paragraph for rule in rules] == [1, 2, 3]


def test_a_document_that_says_so_at_its_beginning_holds_for_every_figure():
    rules = rules_of("These rules hold for every figure that leaves the house.", "Returned orders do not count.")
    assert [(rule.paragraph, rule.scope) for rule in rules] == [(1, "general")]


@pytest.mark.parametrize(
    ("one", "other", "opposite"),
    [
        ("Test customers are left out of every figure.", "Test customers are included in every figure.", True),
        ("Amounts in orders.amount are gross.", "Amounts in orders.amount are net.", True),
        ("Testkunden werden nie gezählt.", "Testkunden werden gezählt.", True),
        ("Les clients de test ne comptent pas.", "Les clients de test comptent.", True),
        ("The commission is 5 % of the premium.", "The commission is 7 % of the premium.", True),
        ("Test customers are left out of every figure.", "Test customers are left out of all figures.", False),
        ("Cancelled orders do not count.", "Paid orders count.", False),
        ("Type 01 is left out.", "Type 02 is counted.", False),
        ("Net premium is premium less tax.", "Amounts are gross.", False),
    ],
)
def test_rules_against_each_other_are_told_from_rules_about_other_things(one: str, other: str, opposite: bool):
    assert are_opposite(one, other) is are_opposite(other, one) is opposite
