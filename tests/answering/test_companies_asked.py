"""What newcomers ask of small companies, without a model: no answer is wrong, and the plain questions are answered."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from answering.companies_to_ask import COMPANIES, QUESTIONS
from coset.answering.offline import OfflineAnswer, answer
from coset.environment.configuration import load_environment
from coset.routing.router import Router
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.use_cases.comprehend import comprehend

LEAST_ANSWERED = {"retailer": 28, "service": 24, "haulier": 26}
MUST = {
    "retailer": {"Which 5 products sold the most units?", "What is the total refund?", "How many units did we sell?"},
    "service": {"What is the total tax?", "How many seats are sold?"},
    "haulier": {"What is the total damage?", "What is the average salary of drivers?"},
}
NEVER = {
    "retailer": {"What was our total revenue?", "What is our profit?", "How many different products were sold?"},
    "service": {"What is the churn rate?", "How many employees are there?", "How many accounts do we have per year?"},
    "haulier": {"What is the average employee?", "How many managers are there?", "What is the heaviest shipment?"},
}


@pytest.mark.parametrize("name", sorted(COMPANIES))
def test_no_answer_is_wrong(name: str, tmp_path: Path):
    path = tmp_path / f"{name}.sqlite"
    COMPANIES[name](path)
    (tmp_path / "coset.yaml").write_text(f"sources:\n  {name}:\n    location: {path.name}\n", encoding="utf-8")
    environment = load_environment(tmp_path)
    comprehend(environment)
    asked = [*QUESTIONS[name], *((question, None) for question in NEVER[name])]
    wrong, answered = [], set()
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        router = Router.open(environment, session)
        for question, sql in asked:
            found = answer(question, router, session, state)
            if not isinstance(found, OfflineAnswer):
                continue
            answered.add(question)
            if sql is None or not is_same(found.rows, gold(path, sql)):
                wrong.append((question, found.rows[:3], found.sql))
    assert wrong == []
    assert len(answered) >= LEAST_ANSWERED[name] and answered >= MUST[name], sorted(MUST[name] - answered)


def gold(path: Path, sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as database:
        rows = database.execute(sql).fetchall()
    database.close()
    return rows


def is_same(found: object, wanted: list[tuple[object, ...]]) -> bool:
    def plain(cell: object) -> str:
        return f"{cell:.7g}" if isinstance(cell, int | float) else str(cell)

    rows = [tuple(map(plain, row)) for row in found]  # type: ignore[attr-defined]
    return Counter(rows) == Counter(tuple(map(plain, row)) for row in wanted)
