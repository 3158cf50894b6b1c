"""The offline reasoner on a real small company: what it answers is true, and what it does not understand it declines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from coset.answering.offline import Answered, Declined, answer
from coset.environment.configuration import load_environment
from coset.evidence.comprehend import comprehend
from coset.evidence.state import EvidenceState
from coset.routing.comprehension import comprehend_meaning
from coset.routing.router import Router
from coset.session.query_session import QuerySession

CITIES = ("Basel", "Bern", "Chur")
PLAYERS = [(n, f"Player {n:03}", CITIES[n % 3], 18 + n % 20, 1000 + n * 7) for n in range(1, 61)]
TEAMS = [(n, f"Club {n}", 1900 + n) for n in range(1, 9)]
GAMES = [(n, n % 50 + 1, n % 8 + 1, f"20{20 + n % 3}-0{n % 9 + 1}-15", n * 3 % 100) for n in range(1, 241)]
Ask = "Asking"


class Asking:
    """An open environment that is asked one question after the other."""

    def __init__(self, router: Router, session: QuerySession, state: EvidenceState) -> None:
        self.router, self.session, self.state = router, session, state

    def __call__(self, question: str) -> Answered | Declined:
        return answer(question, self.router, self.session, self.state)

    def rows(self, question: str) -> list[tuple[object, ...]]:
        found = self(question)
        assert isinstance(found, Answered), found.reason
        return sorted(found.rows, key=repr)

    def reason(self, question: str) -> str:
        found = self(question)
        assert isinstance(found, Declined), found.sql
        return found.reason


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    folder = tmp_path_factory.mktemp("league")
    write(folder)
    environment = load_environment(folder)
    comprehend(environment)
    comprehend_meaning(environment)
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        yield Asking(Router.open(environment, session), session, state)


def write(folder: Path) -> None:
    with sqlite3.connect(folder / "league.db") as connection:
        connection.executescript(
            "CREATE TABLE players (player_id INTEGER PRIMARY KEY, name TEXT, city TEXT, age INTEGER, salary INTEGER);"
            "CREATE TABLE clubs (club_id INTEGER PRIMARY KEY, title TEXT, founding_year INTEGER);"
            "CREATE TABLE games (game_id INTEGER PRIMARY KEY, player_id INTEGER REFERENCES players (player_id), "
            "club_id INTEGER REFERENCES clubs (club_id), day DATE, points INTEGER);"
        )
        for table, rows in (("players", PLAYERS), ("clubs", TEAMS), ("games", GAMES)):
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    (folder / "coset.yaml").write_text("sources:\n  league: {location: league.db}\n", encoding="utf-8")


def test_counts_lists_and_aggregates(ask: Asking):
    assert ask.rows("How many players are there?") == [(60,)]
    assert ask.rows("What are the names of the players from Basel?") == sorted(
        (name,) for _, name, city, _, _ in PLAYERS if city == "Basel"
    )
    ages = [age for *_, age, _ in PLAYERS]
    assert ask.rows("What are the maximum and minimum age of players?") == [(max(ages), min(ages))]
    [(average,)] = ask.rows("What is the average salary of the players in Chur?")
    salaries = [salary for _, _, city, _, salary in PLAYERS if city == "Chur"]
    assert average == pytest.approx(sum(salaries) / len(salaries))


def test_ranges_and_negations(ask: Asking):
    expected = sorted((name,) for _, name, _, age, _ in PLAYERS if age > 30)
    assert ask.rows("Show the names of players whose age is greater than 30.") == expected
    assert ask.rows("How many players are not from Bern?") == [(sum(city != "Bern" for _, _, city, _, _ in PLAYERS),)]
    played = {player for _, player, *_ in GAMES}
    assert ask.rows("How many players have no games?") == [(len(PLAYERS) - len(played),)]


def test_dates(ask: Asking):
    assert ask.rows("How many games in 2021?") == [(sum(day.startswith("2021") for *_, day, _ in GAMES),)]


def test_groups_and_the_first_of_an_order(ask: Asking):
    assert ask.rows("How many players are there for each city?") == [(city, 20) for city in sorted(CITIES)]
    oldest = max(PLAYERS, key=lambda each: each[4])
    assert ask.rows("What is the name of the player with the highest salary?") == [(oldest[1],)]
    assert (
        [row[0] for row in ask("Which 3 players have the highest salary?").rows]
        == [  # type: ignore[union-attr]
            each[1] for each in sorted(PLAYERS, key=lambda each: -each[4])[:3]
        ]
    )


def test_partners_are_counted_once_each(ask: Asking):
    """Joining games would give a player once for each game."""
    many = [player for player, *_ in PLAYERS if sum(game[1] == player for game in GAMES) >= 5]
    assert len(ask.rows("Show the names of players with at least 5 games.")) == len(many)


def test_a_share_is_of_the_whole(ask: Asking):
    [(share,)] = ask.rows("What share of the salary comes from players in Basel?")
    salaries = {city: sum(each[4] for each in PLAYERS if each[2] == city) for city in CITIES}
    assert share == pytest.approx(salaries["Basel"] / sum(salaries.values()))


def test_every_answer_says_how_it_was_read_and_was_checked(ask: Asking):
    found = ask("How many players are from Basel?")
    assert isinstance(found, Answered)
    assert any("Basel" in line and "city" in line for line in found.reading)
    assert found.shape.form == "value"
    assert {"shape", "join loss"} & {check.name for check in found.checks}
    assert not any(check.outcome in ("failed", "doubt") for check in found.checks)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How many players are left-handed?", "not understood"),
        ("How many grumpy players are there?", "'grumpy' is not understood"),
        ("Which player has the highest age?", "share the last place"),
        ("What is the average name of players?", "no numbers"),
        ("Tell me a joke", "not understood"),
    ],
)
def test_what_is_not_sure_is_declined_with_a_reason_and_the_view(ask: Asking, question: str, reason: str):
    found = ask(question)
    assert isinstance(found, Declined)
    assert reason in found.reason
    assert found.view.budget > 0


def test_a_value_is_never_pasted_into_the_statement(ask: Asking):
    found = ask('How many players whose city is "Basel\' OR 1=1 --"?')
    assert isinstance(found, Declined)
