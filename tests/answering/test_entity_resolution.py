"""Rows that are one thing are brought together, those that are not stay apart, and a person can check what was done."""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from coset.answering.text_operations.entity_resolution import LinkedPairs, clusters_of, link, resolve_entities
from coset.environment.configuration import load_environment
from coset.errors import LimitReached, UserError
from coset.evidence.work import here
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

SYLLABLES = [
    "bar",
    "cor",
    "del",
    "fin",
    "gal",
    "hom",
    "jur",
    "kel",
    "lam",
    "mor",
    "nor",
    "pel",
    "quin",
    "ros",
    "sol",
    "tam",
    "vol",
    "wes",
]
TRADES = [
    "Logistics",
    "Textiles",
    "Foods",
    "Optics",
    "Robotics",
    "Chemicals",
    "Printing",
    "Shipping",
    "Dairy",
    "Motors",
]
TOWNS = ["Zug", "Bonn", "Metz", "Nice", "Pisa", "Bari", "Linz", "Graz", "Lodz", "Brno", "Gent", "Lyon"]


def spelt_otherwise(name: str, chance: random.Random) -> str:
    words = name.split()
    kind = chance.randrange(5)
    if kind == 0:
        return name.upper() + chance.choice(["", ", Inc.", " GmbH"])
    if kind == 1:
        return " ".join(reversed(words))
    if kind == 2:
        place = chance.randrange(1, len(words[0]) - 1)
        return " ".join([words[0][:place] + words[0][place + 1 :], *words[1:]])
    if kind == 3:
        return f"{name} - {chance.choice(['the', 'old', 'group'])}"
    return name.replace("a", "á", 1) + chance.choice([".", " ", ""])


def firms(count: int, seed: int = 2) -> list[tuple[int, str, str | None, int, str | None, int]]:
    """(entity, name, town, founded, phone, row): a third of the firms have two or three rows."""
    chance = random.Random(seed)
    made, names = [], set()
    while len(names) < count:
        name = "".join(chance.choice(SYLLABLES) for _ in range(3)).title() + " " + chance.choice(TRADES)
        if name in names:
            continue
        names.add(name)
        entity, town, founded = len(names), chance.choice(TOWNS), chance.randrange(1930, 2020)
        phone = f"0{chance.randrange(10**8):08}"
        made.append((entity, name, town, founded, phone))
        for _ in range(chance.choice([0, 0, 0, 0, 1, 2])):
            made.append(
                (entity, spelt_otherwise(name, chance), town if chance.random() < 0.8 else None, founded,
                 phone if chance.random() < 0.7 else None)
            )  # fmt: skip
    chance.shuffle(made)
    return [(*row, number) for number, row in enumerate(made)]


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("firms")
    rows = firms(300)
    with sqlite3.connect(folder / "crm.db") as connection:
        connection.execute(
            "CREATE TABLE firms (firm_id INTEGER PRIMARY KEY, name TEXT, town TEXT, founded INTEGER, phone TEXT)"
        )
        connection.executemany(
            "INSERT INTO firms VALUES (?, ?, ?, ?, ?)", [(row[5], row[1], row[2], row[3], row[4]) for row in rows]
        )
        connection.execute("CREATE TABLE deals (deal_id INTEGER PRIMARY KEY, firm_id INTEGER, amount INTEGER)")
        connection.executemany("INSERT INTO deals VALUES (?, ?, ?)", [(n, n * 7 % len(rows), n) for n in range(600)])
    (folder / "coset.yaml").write_text("sources:\n  crm: {location: crm.db}\n")
    environment = load_environment(folder)
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        yield rows, session, state, resolve_entities(session, state, "crm/firms")


def pairs_of(groups: dict[object, list[int]]) -> set[tuple[int, int]]:
    return {pair for group in groups.values() for pair in combinations(sorted(group), 2)}


def test_copies_are_found_and_strangers_stay_apart(resolved):
    rows, session, _, found = resolved
    truth: defaultdict[object, list[int]] = defaultdict(list)
    for entity, *_, number in rows:
        truth[entity].append(number)
    made: defaultdict[object, list[int]] = defaultdict(list)
    for number, cluster in session.sql("SELECT firm_id, cluster FROM result.entities").rows():
        made[cluster].append(number)
    wanted, got = pairs_of(truth), pairs_of(made)
    assert len(wanted & got) / len(got) >= 0.97, sorted(got - wanted)
    assert len(wanted & got) / len(wanted) >= 0.85, sorted(wanted - got)
    assert found.rows == len(rows) and found.entities == len(made) and found.keys == ("firm_id",)
    assert found.named_by == ("name",)


def test_the_clusters_join_and_change_what_is_counted(resolved):
    _, session, _, found = resolved
    [(rows, entities)] = session.sql(
        f"SELECT count(DISTINCT d.firm_id), count(DISTINCT e.cluster) FROM crm.deals d JOIN {found.name} e USING (firm_id)"
    ).rows()
    assert entities < rows
    sizes = session.sql(
        f"SELECT cluster, count(*), any_value(cluster_size), count(DISTINCT cluster_name) FROM {found.name} GROUP BY ALL"
    ).rows()
    assert all(count == size and names == 1 for _, count, size, names in sizes)


def test_there_are_examples_to_check_and_reasons(resolved):
    *_, found = resolved
    assert found.examples and all(len(each) > 1 for each in found.examples)
    assert found.merged >= len(found.examples)
    assert found.weights["name"]["equal"] > 2 > found.weights["name"]["alike"]
    assert found.weights["founded"]["equal"] > 1 and found.weights["founded"]["different"] < -1
    assert all(0.4 <= probability <= 1 for *_, probability in found.doubtful)


def test_the_same_rows_give_the_same_clusters(resolved):
    _, session, state, found = resolved
    again = resolve_entities(session, state, "crm/firms", named_by=["NAME"], name="again")
    assert again.table.equals(found.table) and again.name == 'result."again"'


def test_what_cannot_be_resolved_is_told(resolved, monkeypatch: pytest.MonkeyPatch):
    _, session, state, _ = resolved
    with pytest.raises(UserError, match="no duplicates were diagnosed in 'crm/deals'"):
        resolve_entities(session, state, "crm/deals")
    with pytest.raises(UserError, match="no table 'crm/nothing'"):
        resolve_entities(session, state, "crm/nothing")
    with pytest.raises(UserError, match="no column 'title': it has firm_id, name"):
        resolve_entities(session, state, "crm/firms", named_by=["title"])
    monkeypatch.setattr("coset.answering.text_operations.entity_resolution.MOST_ROWS", 10)
    with pytest.raises(LimitReached, match="more than 10 rows"):
        resolve_entities(session, state, "crm/firms")


def test_numbers_and_ordinals_tell_things_apart():
    names = [f"season finale part {number}" for number in range(1, 30)] + ["henry iv", "henry v", "henry vi"]
    shows = {"show": ["one show"] * 29 + ["plays"] * 3, "year": ["2001"] * 32}
    found = link(names, shows)
    assert not (found.probability >= 0.9).any()


def test_different_names_are_never_one_whatever_else_agrees():
    chance = random.Random(4)
    names = [
        f"{''.join(chance.choice(SYLLABLES) for _ in range(3))} {chance.choice(TRADES).lower()}" for _ in range(200)
    ]
    cells = {"town": [TOWNS[n % 12] for n in range(200)], "founded": [str(1900 + n % 12) for n in range(200)]}
    found = link(names, cells)
    clusters = clusters_of(200, found)
    merged = {(names[n], names[c]) for n, c in enumerate(clusters) if names[n] != names[c]}
    assert len(merged) <= 2, merged


def test_names_alone_bring_together_only_what_is_equal_but_for_its_spelling():
    found = link(["amber foods", "amber foods", "amber food", "cobalt optics", None], {})
    assert clusters_of(5, found) == [0, 0, 2, 3, 4]


def test_a_chain_of_likenesses_does_not_join_strangers():
    left, right = np.array([0, 0, 1, 0, 1, 2]), np.array([1, 2, 2, 3, 3, 3])
    likely = np.array([True, False, True, False, False, True])
    chained = LinkedPairs(left, right, np.where(likely, 0.99, 0.01), ~likely, {})
    assert clusters_of(4, chained) == [0, 0, 2, 2]
    agreeing = LinkedPairs(left, right, np.where(likely, 0.99, 0.01), np.zeros(6, dtype=bool), {})
    assert clusters_of(4, agreeing) == [0, 0, 0, 0], "names that merely differ keep no one apart"
    nothing = np.array([], dtype=np.int64)
    assert clusters_of(3, LinkedPairs(nothing, nothing, np.zeros(0), np.zeros(0, dtype=bool), {})) == [0, 1, 2]


def test_a_table_without_a_key_is_told_by_its_names(tmp_path: Path):
    lines = "\n".join(f'"{name}",{town or ""},{founded}' for _, name, town, founded, _, _ in firms(120, seed=5))
    (tmp_path / "list.csv").write_text(f"firm,town,founded\n{lines}\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  files: {location: list.csv}\n")
    environment = load_environment(tmp_path)
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        unique = state.rows("SELECT name FROM columns WHERE is_unique")
        found = resolve_entities(session, state, "files/list", named_by=["firm"])
        assert found.keys == ("firm",) and found.merged > 5, unique
