"""Python and DuckDB give the same outcome for every step, whatever the text."""

import datetime

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coset.relations.transformations.programs import Piece, Program
from coset.relations.transformations.steps import (
    BLANK_SEPARATORS,
    DATE_SHAPES,
    WITHOUT_SEPARATORS,
    WITHOUT_STRAY,
    WITHOUT_ZEROS,
    Affix,
    Date,
    Lower,
    Number,
    Recipe,
    Trim,
    Unaccented,
)

# Letters, marks, digits and separators of several scripts, with those that have odd case mappings.
LETTERS = "aAbBzZ éÉßẞİıΣσςåÅøØñœŒдДЖжשأ日本²Ⅷ०٣0123456789 \t\n\u00a0-_.,;:#'\"()[]/@*&\\%\u0301🙂"
texts = st.text(alphabet=LETTERS, max_size=24)
numbers = st.from_regex(r"\A[+-]?0{0,3}[0-9]{0,4}(,[0-9]{3})?(\.[0-9]{0,4})?\Z")
dates = st.one_of(
    st.dates().map(lambda date: date.strftime("%d/%m/%Y")),
    st.dates().map(lambda date: f"{date.day} {date.strftime('%B')} {date.year:04d}"),
    st.dates().map(lambda date: f"{date.isoformat()} 00:00:00"),
    st.dates().map(lambda date: date.strftime("%d-%b-%Y")),
    st.dates().map(lambda date: f"{date.strftime('%A')}, {date.day}th {date.strftime('%B')} {date.year:04d}"),
    st.datetimes().map(lambda moment: moment.strftime("%I:%M %p")),
    st.from_regex(r"\A[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( [AP]M)?\Z"),
    st.from_regex(r"\A[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}\Z"),
)
marks = st.sampled_from(["-", " ", "; ", "(", ")", ".", "'", "\\", "_", "%", ". "])
pieces = st.builds(
    Piece,
    mode=st.sampled_from(
        ["whole", "word", "chunk", "letters", "digits", "split", "between", "after", "before last", "initials"]
    ),
    index=st.integers(-3, 3),
    delimiter=marks,
    closing=marks,
    squeeze=st.booleans(),
    skip=st.integers(0, 2),
    first=st.integers(0, 3),
    last=st.integers(0, 3),
    case=st.sampled_from(["", "lower", "upper", "capital"]),
)
parts = st.tuples(st.lists(st.one_of(pieces, texts.filter(bool)), max_size=2), pieces).map(
    lambda row: (*row[0], row[1])
)
programs = st.builds(Program, parts=parts, clip=st.integers(0, 6))
steps = st.one_of(
    st.sampled_from(
        [Trim(), Lower(), Unaccented(), WITHOUT_STRAY, WITHOUT_SEPARATORS, BLANK_SEPARATORS, WITHOUT_ZEROS, Number()]
    ),
    st.builds(
        Date,
        format=st.sampled_from(sorted(DATE_SHAPES)),
        outcome=st.sampled_from(["%Y-%m-%d", "%y-%m-%d", "%Y-%m", "%m", "%H:%M:%S"]),
    ),
    st.builds(Affix, prefix=st.text(alphabet="aA#-'0", max_size=2), suffix=st.text(alphabet="aA#-'0", max_size=2)),
    programs,
)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connected:
        yield connected


@given(
    recipe=st.lists(steps, min_size=1, max_size=3).map(lambda row: Recipe(tuple(row))),
    text=st.one_of(texts, numbers, dates),
)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_recipe_gives_the_same_in_python_and_in_duckdb(connection, recipe, text):
    (outcome,) = connection.execute(f"SELECT {recipe.sql('v')} FROM (SELECT ?::VARCHAR AS v)", [text]).fetchone()
    assert outcome == recipe.apply(text)


@pytest.mark.parametrize("form", sorted(DATE_SHAPES))
@given(moment=st.datetimes(min_value=datetime.datetime(1970, 1, 1), max_value=datetime.datetime(2060, 1, 1)))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_format_reads_what_it_writes(connection, form, moment):
    text, again = moment.strftime(form), Date(form, form)
    assert again.apply(text) == text
    assert connection.execute(f"SELECT {again.sql('v')} FROM (SELECT ? AS v)", [text]).fetchone() == (text,)


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (Trim(), " a \t b\u00a0", "a b"),
        (WITHOUT_ZEROS, "A007-010-0", "A7-10-0"),
        (Number(), "+01,234.500", "1234.5"),
        (Number(), "-0.0", "-0"),
        (Number(), "12a", None),
        (Date("%d/%m/%Y"), "31/02/2024", None),
        (Date("%Y-%m-%d"), "2024-03-05T00:00:00", "2024-03-05"),
        (Date("%d %B %Y"), "Friday, 3rd May 2024", "2024-05-03"),
        (Date("%m/%d/%y", "%y-%m-%d"), "04/13/76", "76-04-13"),
        (Date("%b-%y", "%y-%m"), "Feb-07", "07-02"),
        (Date("%I:%M %p", "%H:%M"), "12:05 AM", "00:05"),
        (Date("%I:%M %p", "%H:%M"), "13:05 AM", None),
        (Affix("id_", ".x"), "id_.x", None),
        (Affix("id_", ".x"), "id_7.x", "7"),
        (Program((Piece("between", 0, "(", ")"), "!")), "a (b) c", "b!"),
        (Program((Piece("initials"),)), "Northern river-boat  Club", "NrbC"),
        (Program((Piece("word", 0), "-", Piece("word", -1, last=2))), "1892 to 1896", "1892-96"),
        (Program((Piece("word", 0, first=1, case="lower"), Piece("chunk", -1, squeeze=True, case="lower")), clip=8),
         "Diego Hernan Diaz-Martinez", "ddiazmar"),
    ],
)  # fmt: skip
def test_steps_give_what_they_say(connection, step, text, expected):
    assert Recipe((step,)).apply(text) == expected
    assert connection.execute(f"SELECT {Recipe((step,)).sql('v')} FROM (SELECT ? AS v)", [text]).fetchone() == (
        expected,
    )
