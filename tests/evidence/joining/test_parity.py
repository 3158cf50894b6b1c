"""Python and DuckDB give the same outcome for every step, whatever the text."""

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coset.evidence.joining.programs import Piece, Program
from coset.evidence.joining.steps import (
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
    st.from_regex(r"\A[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}\Z"),
)
marks = st.sampled_from(["-", " ", "; ", "(", ")", ".", "'", "\\", "_", "%", ". "])
pieces = st.builds(
    Piece,
    mode=st.sampled_from(["whole", "word", "chunk", "letters", "digits", "split", "between", "after", "before last"]),
    index=st.integers(-3, 3),
    delimiter=marks,
    closing=marks,
    squeeze=st.booleans(),
    skip=st.integers(0, 2),
    first=st.integers(0, 3),
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
    st.builds(Date, format=st.sampled_from(sorted(DATE_SHAPES))),
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
@given(date=st.dates(min_value=__import__("datetime").date(1000, 1, 1)))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_date_format_reads_the_date_it_writes(connection, form, date):
    text = date.strftime(form)
    assert Date(form).apply(text) == date.isoformat()
    assert connection.execute(f"SELECT {Date(form).sql('v')} FROM (SELECT ? AS v)", [text]).fetchone() == (
        date.isoformat(),
    )


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
        (Affix("id_", ".x"), "id_.x", None),
        (Affix("id_", ".x"), "id_7.x", "7"),
        (Program((Piece("between", 0, "(", ")"), "!")), "a (b) c", "b!"),
        (Program((Piece("word", 0, first=1, case="lower"), Piece("chunk", -1, squeeze=True, case="lower")), clip=8),
         "Diego Hernan Diaz-Martinez", "ddiazmar"),
    ],
)  # fmt: skip
def test_steps_give_what_they_say(connection, step, text, expected):
    assert Recipe((step,)).apply(text) == expected
    assert connection.execute(f"SELECT {Recipe((step,)).sql('v')} FROM (SELECT ? AS v)", [text]).fetchone() == (
        expected,
    )
