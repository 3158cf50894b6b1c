"""The offline reasoner on a real small company: what it answers is true, and what it does not understand it declines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from coset.answering.offline import Declined, OfflineAnswer, answer
from coset.environment.configuration import load_environment
from coset.routing.objects.knowledge import Rule
from coset.routing.router import Router
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.use_cases.comprehend import comprehend

CITIES = ("Basel", "Bern", "Chur")
PLAYERS = [(n, f"Player {n:03}", CITIES[n % 3], 18 + n % 20, 1000 + n * 7) for n in range(1, 61)]
TEAMS = [(n, f"Club {n}", 1900 + n) for n in range(1, 9)]
GAMES = [(n, n % 50 + 1, n % 8 + 1, f"20{20 + n % 3}-0{n % 9 + 1}-15", n * 3 % 100) for n in range(1, 241)]
COACHES = [
    (n, f"Anna{n}" if n % 2 else f"Beat{n}", f"Keller{n}", n % 8 + 1, n * 5, "FM"[n % 2], f"19{60 + n}-03-0{n % 9 + 1}")
    for n in range(1, 25)
]
ARENAS = [(n, f"Arena {n}", n % 8 + 1, 1920 + 7 * n) for n in range(1, 13)]
LOANS = [(n, n % 50 + 1, f"2021-0{n % 9 + 1}-10") for n in range(1, 31)]


class Asking:
    """An open environment that is asked one question after the other."""

    def __init__(self, router: Router, session: QuerySession, state: EvidenceState) -> None:
        self.router, self.session, self.state = router, session, state

    def __call__(self, question: str) -> OfflineAnswer | Declined:
        return answer(question, self.router, self.session, self.state)

    def rows(self, question: str) -> list[tuple[object, ...]]:
        found = self(question)
        assert isinstance(found, OfflineAnswer), found.reason
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
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        yield Asking(Router.open(environment, session), session, state)


def write(folder: Path) -> None:
    with sqlite3.connect(folder / "league.db") as connection:
        connection.executescript(
            "CREATE TABLE players (player_id INTEGER PRIMARY KEY, name TEXT, city TEXT, age INTEGER, salary INTEGER);"
            "CREATE TABLE clubs (club_id INTEGER PRIMARY KEY, title TEXT, founding_year INTEGER);"
            "CREATE TABLE games (game_id INTEGER PRIMARY KEY, player_id INTEGER REFERENCES players (player_id), "
            "club_id INTEGER REFERENCES clubs (club_id), day DATE, points INTEGER);"
            "CREATE TABLE coaches (coach_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, "
            "club_id INTEGER REFERENCES clubs (club_id), number_of_titles INTEGER, gender TEXT, birth_date DATE);"
            "CREATE TABLE arenas (aid INTEGER PRIMARY KEY, arena TEXT, club_id INTEGER REFERENCES clubs (club_id), "
            "year INTEGER);"
            "CREATE TABLE loans (loan_id INTEGER PRIMARY KEY, player_id INTEGER REFERENCES players (player_id), "
            "returned_on DATE);"
        )
        written = {
            "players": PLAYERS,
            "clubs": TEAMS,
            "games": GAMES,
            "coaches": COACHES,
            "arenas": ARENAS,
            "loans": LOANS,
        }
        for table, rows in written.items():
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


def names(rows: list[tuple[int, str, str, int, int]]) -> list[tuple[object, ...]]:
    return sorted((row[1],) for row in rows)


def test_above_and_below_what_is_usual(ask: Asking):
    usual = sum(each[4] for each in PLAYERS) / len(PLAYERS)
    above = names([each for each in PLAYERS if each[4] > usual])
    assert ask.rows("Show the names of players whose salary is above average.") == above
    assert ask.rows("Show the names of players with salary higher than the average salary.") == above
    oldest = max(each[3] for each in PLAYERS)
    younger = sum(each[3] < oldest for each in PLAYERS)
    assert ask.rows("How many players have an age lower than the maximum age?") == [(younger,)]


def test_neither_both_and_either(ask: Asking):
    [(neither,)] = ask.rows("How many players are from neither Basel nor Bern?")
    assert neither == sum(city == "Chur" for _, _, city, _, _ in PLAYERS)
    question = "Which cities have both players with salary above 1400 and players with salary below 1015?"
    high, low = ({each[2] for each in PLAYERS if test(each[4])} for test in ((1400).__lt__, (1015).__gt__))
    assert ask.rows(question) == sorted((city,) for city in high & low)
    [(either,)] = ask.rows("How many players are from Basel or Chur?")
    assert either == sum(city != "Bern" for _, _, city, _, _ in PLAYERS)


def test_or_across_columns_is_known_to_be_less_sure(ask: Asking):
    question = "How many players are from Basel or older than 35?"
    assert "joined by 'or'" in ask.reason(question)
    found = answer(question, ask.router, ask.session, ask.state, enough=0.5)
    assert isinstance(found, OfflineAnswer)
    assert found.rows == ((sum(city == "Basel" or age > 35 for _, _, city, age, _ in PLAYERS),),)


def test_two_groups_compared(ask: Asking):
    mean = {city: sum(p[4] for p in PLAYERS if p[2] == city) / 20 for city in CITIES}
    [row] = ask.rows("Do players from Basel have a higher average salary than players from Chur?")
    assert row == (mean["Basel"], mean["Chur"], mean["Basel"] > mean["Chur"])
    assert ask.rows("Are there more players in Basel than in Bern?") == [(20, 20, False)]
    rich = {city: sum(p[4] > 1203 for p in PLAYERS if p[2] == city) for city in CITIES}
    [(more,)] = ask.rows("Which city has more players with salary above 1203, Chur or Basel?")
    assert rich[str(more)] == max(rich["Chur"], rich["Basel"]) > min(rich["Chur"], rich["Basel"])


def test_groups_of_so_many(ask: Asking):
    rich = {city: sum(each[4] > 1290 for each in PLAYERS if each[2] == city) for city in CITIES}
    least = max(rich.values())
    expected = sorted((city,) for city, number in rich.items() if number >= least)
    assert ask.rows(f"Which cities have at least {least} players with salary above 1290?") == expected


def test_shares_and_percentages(ask: Asking):
    [(percent,)] = ask.rows("What percentage of players are from Basel?")
    assert percent == pytest.approx(100 / 3)


def test_first_places_are_shared_where_several_are_asked_for(ask: Asking):
    oldest = max(each[3] for each in PLAYERS)
    assert ask.rows("Which players have the highest age?") == names([each for each in PLAYERS if each[3] == oldest])
    mean = {city: sum(each[4] for each in PLAYERS if each[2] == city) for city in CITIES}
    found = ask("Which 2 cities have the highest average salary?")
    assert isinstance(found, OfflineAnswer)
    assert [row[0] for row in found.rows] == sorted(mean, key=lambda city: -mean[city])[:2]


def test_spans_of_time(ask: Asking):
    assert ask.rows("How many games before March 2021?") == [(sum(day < "2021-03-01" for *_, day, _ in GAMES),)]
    third = sum("2021-07-01" <= day <= "2021-09-30" for *_, day, _ in GAMES)
    assert ask.rows("How many games in the third quarter of 2021?") == [(third,)]
    born = sum(each[6] < "1970" for each in COACHES)
    assert ask.rows("How many coaches have a birth date before 1970?") == [(born,)]


def test_conditions_on_partners_that_must_not_be_there_belong_to_them(ask: Asking):
    late = {game[1] for game in GAMES if game[4] > 95}
    assert ask.rows("How many players have no games with points above 95?") == [(len(PLAYERS) - len(late),)]
    played = {game[1] for game in GAMES if game[3].startswith("2021")}
    assert ask.rows("How many players have no games in 2021?") == [(len(PLAYERS) - len(played),)]


def test_several_columns_in_an_order(ask: Asking):
    found = ask("List the name, age and salary of players from Basel, ordered by salary in descending order.")
    assert isinstance(found, OfflineAnswer)
    basel = sorted((each for each in PLAYERS if each[2] == "Basel"), key=lambda each: -each[4])
    assert [*found.rows] == [(name, age, salary) for _, name, _, age, salary in basel]
    counted = ask("Show the title and the number of coaches for each club, ordered by the number of coaches.")
    assert isinstance(counted, OfflineAnswer)
    assert [row[1] for row in counted.rows] == [3] * 8


def test_names_in_short_in_part_and_together(ask: Asking):
    women = sorted((first, last) for _, first, last, _, _, gender, _ in COACHES if gender == "F")
    assert ask.rows("What are the first and last names of female coaches?") == women
    assert ask.rows("What are the full names of female coaches?") == women
    titles = sum(each[4] > 60 for each in COACHES)
    assert ask.rows("How many coaches have more than 60 titles?") == [(titles,)]
    oldest = min(COACHES, key=lambda each: each[6])
    assert ask.rows("What is the last name of the coach with the earliest birth date?") == [(oldest[2],)]


def test_a_doubt_between_readings_that_agree_is_none(ask: Asking):
    """A club with two such coaches may be meant once or twice; where no club has two, it does not matter."""
    few = {each[3] for each in COACHES if each[6] > "1983"}
    assert len(few) == sum(each[6] > "1983" for each in COACHES)
    question = "What are the titles of clubs that have coaches with a birth date after {}?"
    assert ask.rows(question.format(1982)) == sorted((title,) for club, title, _ in TEAMS if club in few)
    assert "once for each partner" in ask.reason(question.format(1961))


def test_a_slip_of_the_pen_is_seen_and_said(ask: Asking):
    found = ask("What is the averge salary of the palyers in Chur?")
    assert isinstance(found, OfflineAnswer), found.reason
    assert found.rows == tuple(ask("What is the average salary of the players in Chur?").rows)  # type: ignore[union-attr]
    assert "misspelt" in found.doubts


def test_ages_keys_and_events_in_the_words_of_people(ask: Asking):
    assert ask.rows("How many players aged 30 or older?") == [(sum(each[3] >= 30 for each in PLAYERS),)]
    assert ask.rows("How many players are older than 30?") == [(sum(each[3] > 30 for each in PLAYERS),)]
    early = sorted((arena,) for _, arena, _, year in ARENAS if year < 1950)
    assert ask.rows("Which arenas were built before 1950?") == early
    assert ask.rows("What is the id of the arena with the year 1941?") == [(3,)]
    assert ask.rows("Show the cities and the number of players from each.") == [(city, 20) for city in sorted(CITIES)]
    assert "another date" in ask.reason("How many loans were issued in 2021?")


def test_every_answer_says_how_it_was_read_and_was_checked(ask: Asking):
    found = ask("How many players are from Basel?")
    assert isinstance(found, OfflineAnswer)
    assert any("Basel" in line and "city" in line for line in found.reading)
    assert found.shape.form == "value"
    assert {"shape", "join loss"} & {check.name for check in found.checks}
    assert not any(check.outcome in ("failed", "doubt") for check in found.checks)
    assert found.steps[0] == "take the rows of league.players"
    assert any("city" in step and "Basel" in step for step in found.steps)
    assert 0.9 < found.confidence < 1.0


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


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """A shop whose names invite mistakes: units are sold, but have a cost too; a refund is called a total."""
    folder = tmp_path_factory.mktemp("shop")
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("CREATE TABLE products (product_id INTEGER PRIMARY KEY, product_name TEXT, unit_cost REAL)")
        connection.executemany(
            "INSERT INTO products VALUES (?, ?, ?)", [(n, f"Product {n:02}", n * 37 % 101 + 0.5) for n in range(1, 41)]
        )
        connection.execute(
            "CREATE TABLE order_lines (line_id INTEGER PRIMARY KEY, order_id INTEGER, product_id INTEGER, quantity INTEGER)"
        )
        connection.executemany(
            "INSERT INTO order_lines VALUES (?, ?, ?, ?)",
            [(n, n // 3 + 1, n * 13 % 40 + 1, n * n % 9 + 1) for n in range(1, 901)],
        )
        connection.execute("CREATE TABLE returns (return_id INTEGER PRIMARY KEY, order_id INTEGER, total_refund REAL)")
        connection.executemany(
            "INSERT INTO returns VALUES (?, ?, ?)", [(n, n % 300 + 1, n * 1.25 + 3) for n in range(1, 401)]
        )
    (folder / "coset.yaml").write_text("sources:\n  shop: {location: shop.db}\n")
    environment = load_environment(folder)
    comprehend(environment)
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        yield Asking(Router.open(environment, session), session, state)


def test_units_sold_are_never_the_cost_of_a_unit(shop: Asking):
    found = shop("Which 5 products sold the most units?")
    assert isinstance(found, Declined) or ("quantity" in found.sql and "unit_cost" not in found.sql)
    assert shop.rows("What is the highest unit cost?") == [(100.5,)]


def test_a_question_for_one_number_never_gets_rows(shop: Asking):
    found = shop("What is the total refund?")
    assert isinstance(found, Declined) or len(found.rows) == 1
    assert shop.rows("What is the average refund?") == [(sum(n * 1.25 + 3 for n in range(1, 401)) / 400,)]


def test_where_documents_say_what_never_counts_no_figure_is_given(shop: Asking, monkeypatch: pytest.MonkeyPatch):
    rule = Rule("rule", "book#1", "Test orders are left out of every figure.", True, (), "")
    monkeypatch.setattr(shop.router.objects, "knowledge", replace(shop.router.objects.knowledge, rules=(rule,)))
    assert "only a model can apply" in shop.reason("How many products are there?")


@pytest.fixture(scope="module")
def rental(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """Two systems that name alike; jobs whose states are codes with a list."""
    folder = tmp_path_factory.mktemp("rental")
    cities = ("Kiel", "Oslo", "Lund", "Bonn")
    with sqlite3.connect(folder / "yard.db") as connection:
        connection.executescript(
            """CREATE TABLE depots (depot_id INTEGER PRIMARY KEY, name TEXT, city TEXT, phone TEXT, opened_on TEXT);
            CREATE TABLE accounts (account_id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT, signed_up TEXT);
            CREATE TABLE job_states (state_code TEXT PRIMARY KEY, meaning TEXT);
            CREATE TABLE jobs (job_id INTEGER PRIMARY KEY, depot_id INTEGER REFERENCES depots, state_code TEXT
                REFERENCES job_states, minutes INTEGER, total_cents INTEGER);
            CREATE TABLE machines (machine_no INTEGER PRIMARY KEY, kind TEXT, depot_id INTEGER REFERENCES depots);
            CREATE TABLE hours (machine TEXT, day TEXT, fuel_l REAL);
            CREATE TABLE invoices (invoice_id INTEGER PRIMARY KEY, account_id INTEGER REFERENCES accounts,
                amount_eur REAL, status TEXT)"""
        )
        fill = connection.executemany
        fill("INSERT INTO depots VALUES (?, ?, ?, ?, ?)", DEPOTS)
        fill(
            "INSERT INTO accounts VALUES (?, ?, ?, ?, ?)",
            [
                (
                    n,
                    f"{('Fjord', 'Stein', 'Birk')[n % 3]}bygg {n:03}",
                    cities[n % 4],
                    ("NO", "DE")[n % 2],
                    f"{2023 + n % 2}-05-11",
                )
                for n in range(1, 81)
            ],
        )
        fill("INSERT INTO job_states VALUES (?, ?)", [("A", "Active"), ("B", "Ended"), ("S", "Cancelled")])
        fill("INSERT INTO jobs VALUES (?, ?, ?, ?, ?)", JOBS)
        fill("INSERT INTO machines VALUES (?, ?, ?)", [(n, ("digger", "lift")[n % 2], n % 4 + 1) for n in range(1, 41)])
        fill("INSERT INTO hours VALUES (?, ?, ?)", [(f"M{n % 40 + 1:04}", "2024-05-01", n % 17) for n in range(400)])
        fill(
            "INSERT INTO invoices VALUES (?, ?, ?, ?)",
            [(n, n % 80 + 1, n * 1.5, ("paid", "open")[n % 2]) for n in range(1, 301)],
        )
    (folder / "coset.yaml").write_text("sources:\n  yard: {location: yard.db}\n")
    environment = load_environment(folder)
    comprehend(environment)
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        yield Asking(Router.open(environment, session), session, state)


DEPOTS = [
    (1, "Depot Kiel", "Kiel", "+49 431 5", "2011-03-01"),
    (2, "Depot Oslo", "Oslo", "+47 22 7", "2014-09-15"),
    (3, "Depot Lund", "Lund", "+46 46 9", "2018-01-10"),
    (4, "Depot Bonn", "Bonn", "+49 228 4", "2020-06-30"),
]
JOBS = [(n, n % 4 + 1, "ABBBS"[n % 5], n % 400, n * 100) for n in range(1, 501)]


def test_a_state_is_found_by_what_its_code_stands_for(rental: Asking):
    assert rental.rows("How many jobs were cancelled?") == [(100,)]
    assert rental.rows("How many active jobs are there?") == [(100,)]


def test_a_feature_of_a_thing_is_that_of_the_row_that_holds_its_name(rental: Asking):
    assert rental.rows("Which city is Depot Kiel in?") == [("Kiel",)]
    assert rental.rows("What is the phone number of Depot Oslo?") == [("+47 22 7",)]


def test_a_word_of_computing_before_a_measure_computes_whatever_is_called_so(rental: Asking):
    paid = sum(n * 1.5 for n in range(1, 301) if n % 2 == 0)
    assert rental.rows("What is the total amount of paid invoices?") == [(paid,)]
    assert rental.rows("What is the average amount of an invoice?") == [(sum(n * 1.5 for n in range(1, 301)) / 300,)]


def test_a_unit_may_name_the_column_that_is_compared(rental: Asking):
    assert rental.rows("How many jobs took longer than 300 minutes?") == [(sum(job[3] > 300 for job in JOBS),)]


def test_a_number_is_compared_in_the_unit_of_its_column(rental: Asking):
    assert rental.rows("How many jobs have a total over 250 euros?") == [(sum(job[4] > 25_000 for job in JOBS),)]
    assert rental.rows("How many jobs took longer than 2 hours?") == [(sum(job[3] > 120 for job in JOBS),)]
    assert "not in the unit" in rental.reason("How many invoices have an amount over 250 dollars?")


def test_a_verb_after_what_is_counted_says_when_it_was_done(rental: Asking):
    assert rental.rows("How many depots opened in 2014?") == [(1,)]
    assert rental.rows("How many accounts signed up in 2023?") == [(40,)]


def test_a_word_before_a_value_names_the_column_that_holds_it(rental: Asking):
    assert rental.rows("How much fuel did machine M0007 use?") == [(sum(n % 17 for n in range(400) if n % 40 == 6),)]


def test_what_there_is_of_something_is_given_once_each(rental: Asking):
    assert rental.rows("Which kinds of machines are there?") == [("digger",), ("lift",)]


def test_when_something_was_done_is_the_day_that_the_verb_names(rental: Asking):
    assert rental.rows("When was Depot Lund opened?") == [("2018-01-10",)]
    assert isinstance(rental("Where was Depot Lund opened?"), Declined)
