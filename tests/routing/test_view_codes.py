"""Code lists in views: told once in the prefix, named by the columns that hold them, whole where there is no prefix."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from coset.benchmark.views import ViewQuestion, score_view, summary_of
from coset.environment.configuration import load_environment
from coset.routing.router import Router
from coset.routing.views.text import CODES, details_lines, prefix_lines
from coset.use_cases.comprehend import comprehend
from made_once import MadeOnce

STATES = {"10": ("Proposal", "Vorschlag"), "20": ("In force", "In Kraft"), "40": ("Cancelled", "Storniert")}
QUESTION = "How many policies are in force?"


def fill(folder: Path) -> None:
    with sqlite3.connect(folder / "office.db") as connection:
        connection.execute("CREATE TABLE lists (dom TEXT, code TEXT, lang TEXT, txt TEXT)")
        rows = [
            ("STATE", code, lang, text)
            for code, both in STATES.items()
            for lang, text in zip(("EN", "DE"), both, strict=True)
        ]
        rows += [("COLOUR", code, "EN", text) for code, text in (("r", "Red"), ("g", "Green"), ("b", "Blue"))]
        connection.executemany("INSERT INTO lists VALUES (?, ?, ?, ?)", rows)
        connection.execute("CREATE TABLE policies (no INTEGER PRIMARY KEY, state TEXT, holder TEXT, begins TEXT)")
        connection.executemany(
            "INSERT INTO policies VALUES (?, ?, ?, ?)",
            [
                (1000 + n, ("10", "20", "20", "40")[n % 4], f"Holder {n % 70}", f"{n % 28 + 1:02}/03/202{n % 5}")
                for n in range(240)
            ],
        )
        connection.execute("CREATE TABLE letters (letter_id INTEGER PRIMARY KEY, policy_state TEXT, pages INTEGER)")
        connection.executemany(
            "INSERT INTO letters VALUES (?, ?, ?)", [(n, ("40", "10", "20")[n % 3], n % 9 + 1) for n in range(90)]
        )
    (folder / "coset.yaml").write_text("sources:\n  office: {location: office.db}\n")
    comprehend(load_environment(folder / "coset.yaml"))


@pytest.fixture(scope="module")
def router(made_once: MadeOnce) -> Router:
    return Router.open(load_environment(made_once("code_lists_in_views", fill) / "coset.yaml"))


def test_a_list_stands_once_in_the_prefix_in_one_language_and_columns_name_it(router: Router):
    view = router.view(QUESTION)
    lines = prefix_lines(view)
    told = lines[lines.index(CODES) + 1]
    assert "'10' Proposal, '20' In force, '40' Cancelled" in told and "Storniert" not in told
    [policies] = [table for table in view.tables if table.reference.endswith("/policies")]
    [state] = [column for column in policies.columns if column.expression == "state"]
    assert state.codes == "of STATE"
    assert prefix_lines(router.view("pages of letters")) == lines


def test_without_a_prefix_codes_stand_with_their_column(router: Router):
    view = router.view(QUESTION, directory=False)
    assert not view.codes
    text = "\n".join(details_lines(view))
    assert "'20' In force" in text and "list: office.lists" in text


def test_dates_as_text_are_told_with_how_to_read_them_although_the_question_names_none(router: Router):
    text = "\n".join(details_lines(router.view(QUESTION)))
    [line] = [line for line in text.splitlines() if line.startswith("  begins") and "clean:" in line][:1]
    assert "dates as text" in line


def test_columns_that_a_view_shows_by_name_alone_are_counted(router: Router):
    asked = ViewQuestion(
        id="1", question=QUESTION, tables=("office.policies",),
        columns=("office.policies.state", "office.policies.begins", "office.policies.missing"),
    )  # fmt: skip
    view = router.view(QUESTION)
    score = score_view(asked, view)
    assert score.not_shown == ("office.policies.missing",) and score.bare == ()
    assert summary_of([score]).columns_told == pytest.approx(2 / 3)
    small = score_view(asked, router.view(QUESTION, 100, directory=False))
    assert {*small.bare, *small.not_shown} > {"office.policies.missing"}


@pytest.mark.parametrize(
    "question", ["Wie viele Policen sind in Kraft?", "¿Cuántas pólizas hay en vigor y no canceladas?"]
)
def test_a_question_in_another_language_finds_what_its_words_mean(router: Router, question: str):
    view = router.view(question)
    assert view.matched and not any("poli" in phrase.lower() for phrase in view.unfound)
    assert view.tables and any(table.reference.endswith("/policies") for table in view.tables)


def test_thirty_questions_in_one_keep_to_the_budget(router: Router):
    question = " and ".join(f"{QUESTION[:-1]} of holder {number}" for number in range(30))
    view = router.view(question, 1_000)
    assert view.matched and view.cost - view.prefix_cost <= 1_000
