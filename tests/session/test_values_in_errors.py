"""What could not be converted is told by type and column, never by the value."""

from __future__ import annotations

import pytest

from coset.environment.configuration import load_environment
from coset.errors import UserError
from coset.session.query_session import QuerySession


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("values")
    (folder / "people.csv").write_text('name,amount\n"Quokka ""Q"" Smith\'s",4711\nQuokka,-4711\n')
    (folder / "coset.yaml").write_text("sources:\n  hr: {location: people.csv}\n")
    with QuerySession(load_environment(folder)) as session:
        yield session


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("CAST(name AS INTEGER)", "INT32"),
        ("CAST(name AS DATE)", "date"),
        ("strptime(name, '%Y')", "%Y"),
        ("CAST(amount AS TINYINT)", "INT8"),
        ("CAST(name AS UUID)", "UUID"),
        ("CAST(name AS JSON)", "JSON"),
        ("regexp_extract(name, name || '(')", ""),
        ("date_trunc(name, DATE '2020-01-01')", "not recognized"),
        ("make_date(2020, amount, 1)", ""),
        ("9223372036854775807 + amount * 9223372036854775", "Overflow"),
        ("CAST(name AS INTEGER[])", ""),
        ("from_base64(name)", "base64"),
    ],
)
def test_an_error_names_no_value(expression: str, told: str, session: QuerySession):
    with pytest.raises(UserError) as refused:
        session.sql(f"SELECT {expression} FROM hr.people").rows()
    message = str(refused.value)
    assert told in message
    assert not [word for word in ("Quokka", "Smith", "4711") if word in message], message


def test_words_of_the_statement_itself_are_told(session: QuerySession):
    with pytest.raises(UserError, match="'3x'"):
        session.sql("SELECT CAST('3x' AS INTEGER) FROM hr.people").rows()
