"""Each kind of rule is found on columns that need it, none on columns that do not belong together."""

import random

import duckdb
import pytest

from coset.relations.transformations import find_rules, steps

NAMES = [
    "Jan Kotas", "Andrew Cencici", "Nancy Freehafer", "Mariya Sergienko", "Lara Constable", "Bradford Lango",
    "Lakenya Edison", "Brendan Hage", "Launa Withers", "Cruz Latimore", "Alida Bogle", "Orhan Akal",
]  # fmt: skip
CITIES = ["Oslo", "Bergen", "Lima", "Quito", "Accra", "Dakar", "Hanoi", "Perth", "Turin", "Malmö"]


def words(name):
    return name.split(" ")


CASES = [
    ("identity", CITIES, CITIES),
    ("trim", CITIES, [f" {city}  " for city in CITIES]),
    ("case", CITIES, [city.upper() for city in CITIES]),
    ("accents", ["São Paulo", "Bogotá", "Zürich"], ["Sao Paulo", "Bogota", "Zurich"]),
    ("stray_characters", [f"#{city}" for city in CITIES], [f'"{city}"' for city in CITIES]),
    ("stray_characters", [f"#{number}" for number in range(100, 140)], [str(number) for number in range(100, 140)]),
    ("prefix", [f"CUST{number}" for number in range(1, 40)], [str(number) for number in range(1, 60)]),
    ("suffix", [f"{city} Oblast" for city in CITIES], CITIES),
    ("prefix_swap", [f"bookid_{n}" for n in range(1, 99)], [f"purchaseid_{n}" for n in range(1, 99)]),
    ("zero_padding", [f"{number:06d}" for number in range(7, 70)], [str(number) for number in range(7, 70)]),
    ("numeric", [f"{number}.00" for number in range(1000, 1050)], [f"{number:,}" for number in range(1000, 1050)]),
    ("date", [f"2024-03-{day:02d}" for day in range(1, 29)], [f"{day:02d}.03.2024" for day in range(1, 29)]),
    ("date", [f"2024-03-{day:02d}" for day in range(1, 29)], [f"March {day}, 2024" for day in range(1, 29)]),
    ("date", [f"2024-03-{day:02d}" for day in range(1, 29)], [f"3/{day}/24" for day in range(1, 29)]),
    ("date", [f"1955-03-{day:02d}" for day in range(1, 29)], [f"{day:02d}-Mar-55" for day in range(1, 29)]),
    ("date", [f"2021-05-{day:02d}" for day in range(4, 20)], [f"{day}th May 2021" for day in range(4, 20)]),
    ("date", [f"{year}-02" for year in range(1990, 2010)], [f"February {year}" for year in range(1990, 2010)]),
    ("date", [f"{month:02d}" for month in range(1, 13)], steps.MONTHS),
    ("date", [f"{hour:02d}:30" for hour in range(24)],
     [f"{(hour - 1) % 12 + 1}:30 {'AM' if hour < 12 else 'PM'}" for hour in range(24)]),
    ("separators", ["938-242-504", "981-424-843", "244-655-094"], ["938242504", "981.424.843", "244 655 094"]),
    ("piece", NAMES, [words(name)[1] for name in NAMES]),
    ("piece", [f"{city} (code {n + 100})" for n, city in enumerate(CITIES)], CITIES),
    ("program", NAMES, [f"{words(name)[0][0]}.{words(name)[1][0]}." for name in NAMES]),
    ("program", NAMES, [f"{words(name)[1]}, {words(name)[0]}" for name in NAMES]),
    ("program", NAMES, [f"Dr. {words(name)[0]}" for name in NAMES]),
    ("piece", [f"00{number * 7919 % 90000 + 10000}" for number in range(30)],
     [f"{number * 7919 % 90000 + 10000}"[-4:] for number in range(30)]),
    ("program", [f"{name}, {1850 + 3 * n}-{1854 + 3 * n}" for n, name in enumerate(NAMES)],
     [f"{1850 + 3 * n}-{54 + 3 * n} {words(name)[1]}" for n, name in enumerate(NAMES)]),
    ("piece", ["North River Boat Club", "Grand Lake Museum", "Tall Oak Society of Friends", "Blue Harbour Inn", "Old Mill"],
     ["NRBC", "GLM", "TOSoF", "BHI", "OM"]),
    ("program", NAMES, [(words(name)[0][0] + words(name)[1]).lower()[:8] for name in NAMES]),
    ("separators", ["938-242-504", "981-424-843", "244-655-094", "118-980-214"],
     ["(938) 242-504", "(981) 424-843", "(244) 655-094", "(118) 980-214"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "left", "right"), CASES)
def test_the_best_rule_has_the_expected_kind_and_joins_everything_in_duckdb(kind, left, right):
    rule = find_rules(left, right)[0]
    assert rule.kind == kind
    assert max(rule.left_rate, rule.right_rate) == 1
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE l AS SELECT unnest(?::VARCHAR[]) AS v, generate_subscripts(?, 1) AS n", [left, left]
    )
    connection.execute(
        "CREATE TABLE r AS SELECT unnest(?::VARCHAR[]) AS v, generate_subscripts(?, 1) AS n", [right, right]
    )
    joined = connection.execute(f"SELECT l.n, r.n FROM l JOIN r ON {rule.condition('l.v', 'r.v')}").fetchall()
    # In every case the partners stand in the same row.
    assert {(n, n) for n in range(1, min(len(left), len(right)) + 1)} <= set(joined)
    assert len(set(joined)) == min(len(left), len(right))


def test_a_rule_works_in_either_direction():
    to_right, to_left = (
        find_rules(NAMES, [words(n)[0] for n in NAMES])[0],
        find_rules([words(n)[0] for n in NAMES], NAMES)[0],
    )
    assert to_right.right.steps == () and to_left.left.steps == ()
    assert to_right.left == to_left.right


def test_a_rule_explains_itself():
    left = [*NAMES, "Stranger"]
    rule = find_rules(left, [f"Dr. {words(name)[0]}" for name in NAMES])[0]
    assert rule.description == "the right value is made of the left: 'Dr. ', then the first word"
    assert rule.left_rate == pytest.approx(12 / 13) and rule.right_rate == 1
    assert rule.left_failures == ("Stranger",) and rule.right_failures == ()
    assert rule.cardinality == "one-to-one" and rule.matches == 12


def test_cardinality_counts_distinct_values_on_each_side():
    right = ["Broccoli - raw", "Broccoli - boiled", "Peas - frozen", "Peas - raw", "Leek - raw", "Kale - boiled"]
    rule = find_rules(["Broccoli", "Peas", "Leek", "Kale"], right)[0]
    assert rule.cardinality == "one-to-many" and rule.right_rate == 1


def test_a_second_rule_covers_the_rows_that_the_first_leaves():
    reversed_names = [f"{words(name)[1]}, {words(name)[0]}" for name in NAMES[:7]]
    shortened = [f"{words(name)[0][0]}. {words(name)[1]}" for name in NAMES[7:]]
    first, second = find_rules(NAMES, reversed_names + shortened)
    assert (first.matches, second.matches) == (7, 5)
    assert first.right_failures == tuple(shortened)
    assert set(second.right_failures) <= set(reversed_names)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (NAMES, CITIES),
        (CITIES, [f"{number}" for number in range(1000, 1200)]),
        ([f"{chr(97 + n % 26)}{n * 7919 % 9973:x}" for n in range(500)], NAMES),
        (["alpha beta gamma", "delta epsilon", "zeta eta theta"] * 3, ["red", "green", "blue", "yellow"]),
        ([f"2024-01-{day:02d}" for day in range(1, 29)], CITIES),
    ],
)
def test_columns_that_have_nothing_to_do_with_each_other_have_no_rule(left, right):
    assert find_rules(left, right) == []


def test_random_codes_of_one_shape_have_no_rule():
    chance = random.Random(7)
    codes = ["".join(chance.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(8)) for _ in range(800)]
    assert find_rules(codes[:400], codes[400:]) == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], []), ([], ["a"]), (["a"], []), ([None], [None]), ([""], [""]), (["a"], ["b"]),
        (["x" * 1_000_000], ["y" * 1_000_000]), (["\0"], ["\t"]), (["🙂🙂", "日本"], ["é", "\u0301"]),
        (["((((", "----"], ["----;", "(("]), (["a b " * 500] * 3, ["b a " * 500] * 3),
    ],
)  # fmt: skip
def test_odd_columns_are_survived(left, right):
    assert isinstance(find_rules(left, right), list)


def test_one_value_each_that_is_equal_joins_by_identity():
    assert [rule.kind for rule in find_rules(["a"], ["a", None, "a"])] == ["identity"]


def test_the_same_columns_give_the_same_rules_whatever_their_order():
    right = [f"{words(name)[1]}, {words(name)[0][0]}." for name in NAMES]
    first = find_rules(NAMES, right)
    shuffled, other = list(NAMES), list(right)
    random.Random(3).shuffle(shuffled)
    random.Random(4).shuffle(other)
    assert find_rules(NAMES, right) == first
    assert find_rules(shuffled, other)[0] == first[0]


def test_names_with_and_without_a_middle_name_have_a_rule_each():
    middle = ["Alan", "Beth", "Carl", "Dora", "Eve", "Finn", "Gail", "Hugh"]
    left = [f"{words(name)[0]} {more} {words(name)[1]}" for name, more in zip(NAMES, middle, strict=False)] + NAMES[8:]
    right = [f"{words(name)[1]}, {words(name)[0]} {more[0]}." for name, more in zip(NAMES, middle, strict=False)] + [
        f"{words(name)[1]}, {words(name)[0]}" for name in NAMES[8:]
    ]
    assert [rule.matches for rule in find_rules(left, right)] == [8, 4]


def test_the_last_digits_of_numbers_agree_with_short_numbers_by_chance():
    chance = random.Random(1)
    codes = [f"{chance.choice('ABC')}{chance.randrange(10**6):06d}" for _ in range(2000)]
    assert find_rules(codes, [str(number) for number in chance.sample(range(100, 999), 200)]) == []


def test_rules_are_found_in_long_columns():
    left = [f"order {number * 7} of {number * 13 % 9973}" for number in range(6_000)]
    right = [f"ORD-{number * 7:08d}" for number in range(0, 6_000, 3)]
    rule = find_rules(left, right)[0]
    assert rule.kind == "program" and rule.right_rate == 1
    assert rule.left_rate == pytest.approx(1 / 3)
