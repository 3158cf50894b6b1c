"""Dangerous statements dressed up and hidden in honest ones: the guard must still refuse, and nothing may be touched.

A mutant is built in steps that DuckDB's parser may or may not follow. When it parses, `check` must refuse it, since
the dangerous part is still in it. For mutants that pass for any reason the engine is asked as well, with canary files
beside it: nothing of them may come back, and no file may change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from statement_corpus import CANARY, Statement, contents, fill_folder, locked, read, shop_knows

from coset.errors import UserError
from coset.session.guard import check, decode, is_no_select, parse

FUZZ = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)

HONEST = [s for s in read("honest_statements.sql") if not re.match(r"DESCRIBE|SUMMARIZE", s.text)]
# Statements with a tree can be spliced into others; the rest (COPY, SET, ...) stands alone or after a semicolon.
BYPASS = [s for s in read("bypass_statements.sql") if "does not parse" not in s.says and "is empty" not in s.says]
# What the guard refuses only for the lack of a name elsewhere: hidden in another statement that name may be there.
WITHOUT_CONTEXT = ("there is no table", "there are 2 statements", "SHOW is refused", "a parameter")
SPLICED = [
    s for s in BYPASS if re.match(r"(SELECT|WITH|FROM|VALUES)\b", s.text) and not s.says.startswith(WITHOUT_CONTEXT)
    and "only a SELECT" not in s.says
]  # fmt: skip

BLANKS = [" ", "\n", "\t", "  ", "/**/", "/* ; */", "-- x\n", "/* /* nested */ */", "\u00a0", "\u2003", "\r\n", "\f"]

# Each hides a query {q} in another one, {h} being a query of an honest kind.
HIDING = [
    "SELECT * FROM ({q}) AS hidden",
    "SELECT 1 WHERE EXISTS ({q})",
    "SELECT 1 WHERE NOT EXISTS ({q})",
    "SELECT (SELECT count(*) FROM ({q}))",
    "WITH hidden AS ({q}) SELECT * FROM hidden",
    "WITH hidden AS MATERIALIZED ({q}) SELECT 1",
    "WITH unused AS ({q}) {h}",
    "{q} UNION ALL {h}",
    "({h}) UNION ALL BY NAME ({q})",
    "({h}) EXCEPT ({q})",
    "SELECT * FROM orders o, LATERAL ({q}) AS hidden",
    "SELECT * FROM orders LEFT JOIN ({q}) AS hidden ON true",
    "SELECT * FROM ({h}) POSITIONAL JOIN ({q})",
    "FROM orders SELECT id ORDER BY (SELECT 1 FROM ({q}))",
    "FROM orders SELECT id LIMIT (SELECT 1 FROM ({q}))",
    "VALUES ((SELECT 1 FROM ({q})))",
    "DESCRIBE ({q})",
    "SUMMARIZE {q}",
    "SELECT CASE WHEN EXISTS ({q}) THEN 1 ELSE 2 END",
    "SELECT list_transform([1], lambda x: (SELECT 1 FROM ({q})))",
    "SELECT count(*) FILTER (WHERE EXISTS ({q})) OVER (PARTITION BY (SELECT 1 FROM ({q}))) FROM orders",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE EXISTS ({q}) AND n < 2) FROM r",
    "WITH RECURSIVE r AS ({q} UNION ALL SELECT * FROM r WHERE false) FROM r",
    "PIVOT ({q}) ON 1 + 1 IN (2) USING count(*)",
    "FROM ({q}) PIVOT (count(*) FOR x IN (1))",
    "UNPIVOT ({q}) ON COLUMNS(*)",
    "SELECT unnest(ARRAY(SELECT 1 FROM ({q})))",
    "SELECT 1 WHERE 1 = ANY (SELECT 1 FROM ({q}))",
    "SELECT TRY((SELECT 1 FROM ({q})))",
    "SELECT * FROM range((SELECT 1 FROM ({q})))",
    "SELECT * REPLACE ((SELECT 1 FROM ({q})) AS id) FROM orders",
    "SELECT id FROM orders GROUP BY ROLLUP (id, (SELECT 1 FROM ({q})))",
    "SELECT id FROM orders GROUP BY id HAVING EXISTS ({q})",
    "SELECT id FROM orders QUALIFY row_number() OVER (ORDER BY EXISTS ({q})) = 1",
    "SELECT DISTINCT ON (EXISTS ({q})) id FROM orders",
    "{h}; {q}",
    "{q};",
]

TOKEN = re.compile(
    r"""\$[A-Za-z_]*\$.*?\$[A-Za-z_]*\$|[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\s+|\w+|.""",
    re.DOTALL,
)


@st.composite
def dressed(draw: st.DrawFn, text: str) -> str:
    """The same words in other clothes: blanks, comments, case, quotes around the names of functions."""
    kind = draw(st.sampled_from(["as is", "blanks", "case", "quoted", "qualified", "all"]))
    pieces: list[str] = []
    tokens = TOKEN.findall(text)
    for number, token in enumerate(tokens):
        is_call = bool(re.fullmatch(r"[a-z_]\w*", token)) and tokens[number + 1 : number + 2] == ["("]
        if token.isspace() and kind in ("blanks", "all"):
            token = draw(st.sampled_from(BLANKS))
        elif token.isidentifier() and kind in ("case", "all") and draw(st.booleans()):
            token = draw(st.sampled_from([token.upper(), token.capitalize(), token.swapcase()]))
        elif is_call and kind == "quoted" and "_" in token:
            token = f'"{draw(st.sampled_from([token, token.upper()]))}"'
        elif is_call and kind == "qualified" and "_" in token:
            token = draw(st.sampled_from(["main.", "system.main.", '"main".', "pg_catalog.", "a.b.c."])) + token
        pieces.append(token)
    return "".join(pieces)


@st.composite
def hidden(draw: st.DrawFn) -> tuple[Statement, str]:
    """A dangerous query, dressed and hidden up to three times over."""
    statement = draw(st.sampled_from(SPLICED))
    text = draw(dressed(statement.text)).strip().rstrip(";")
    for _ in range(draw(st.integers(1, 3))):
        around = draw(st.sampled_from(HIDING))
        honest = draw(st.sampled_from(HONEST)).text.rstrip().rstrip(";") if "{h}" in around else ""
        # A comment at the end would swallow what follows.
        text = around.replace("{q}", text + "\n").replace("{h}", honest + "\n")
    return statement, text


@st.composite
def spliced(draw: st.DrawFn) -> tuple[Statement, str]:
    """An honest statement in which one word or literal has become a dangerous query in parentheses."""
    statement = draw(st.sampled_from(SPLICED))
    tokens = TOKEN.findall(draw(st.sampled_from(HONEST)).text)
    places = [n for n, token in enumerate(tokens) if re.match(r"[\w']", token)]
    place = draw(st.sampled_from(places))
    inside = draw(st.sampled_from(["({q})", "(SELECT 1 FROM ({q}))", "EXISTS ({q})", "({q}) AS x"]))
    tokens[place] = inside.replace("{q}", draw(dressed(statement.text)).rstrip(";") + "\n")
    return statement, "".join(tokens)


class Shop:
    """The locked database among its canaries; every statement runs in a cursor of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.connection = locked(fill_folder(folder))
        self.before = contents(folder)

    def assert_untouched_by(self, text: str) -> None:
        answer: object = ""
        with self.connection.cursor() as cursor:
            cursor.execute("USE shop")
            try:
                result = cursor.execute(text)
                answer = result.fetchmany(100) if result else ""
            except duckdb.Error:
                pass
        assert CANARY not in str(answer), text
        assert contents(self.folder) == self.before, text


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    shop = Shop(tmp_path_factory.mktemp("fuzz"))
    home = Path.cwd()
    os.chdir(shop.folder)
    yield shop
    os.chdir(home)
    shop.connection.close()


def refused(text: str) -> bool | None:
    """Whether the guard refuses a text; None when DuckDB's parser does already."""
    try:
        tree = parse(text)
    except UserError:
        return None
    try:
        check(tree, shop_knows)
    except UserError:
        return True
    return False


@settings(FUZZ, max_examples=450)
@given(mutant=hidden())
def test_danger_is_refused_however_it_is_hidden(mutant: tuple[Statement, str], shop: Shop):
    statement, text = mutant
    verdict = refused(text)
    if verdict is False:
        shop.assert_untouched_by(text)
    assert verdict is not False, f"{statement.name}: {text}"


@settings(FUZZ, max_examples=450)
@given(mutant=spliced())
def test_danger_is_refused_wherever_it_is_spliced_in(mutant: tuple[Statement, str], shop: Shop):
    statement, text = mutant
    verdict = refused(text)
    if verdict is False:
        shop.assert_untouched_by(text)
    assert verdict is not False, f"{statement.name}: {text}"


@settings(FUZZ, max_examples=300)
@given(data=st.data())
def test_whatever_the_guard_lets_through_touches_nothing(data: st.DataObject, shop: Shop):
    """Words of dangerous and honest statements in any order: many mean nothing, some mean something new."""
    first = TOKEN.findall(data.draw(st.sampled_from(BYPASS)).text)
    second = TOKEN.findall(data.draw(st.sampled_from(HONEST)).text)
    cut, resume = data.draw(st.integers(0, len(first))), data.draw(st.integers(0, len(second)))
    for text in ("".join(first[:cut] + second[resume:]), "".join(second[:resume] + first[cut:])):
        if refused(text) is False:
            shop.assert_untouched_by(text)


@settings(FUZZ, max_examples=250)
@given(data=st.data())
def test_honest_statements_pass_in_any_clothes(data: st.DataObject):
    statement = data.draw(st.sampled_from(HONEST))
    text = statement.text
    # Case and quotes may change what a text or a name means; blanks and comments never do, if a blank goes before: a
    # minus and the two of a comment are a comment that begins with the minus.
    pieces = [" " + data.draw(st.sampled_from(BLANKS[:8])) if t.isspace() else t for t in TOKEN.findall(text)]
    text = "".join(pieces)
    tree = parse(text)
    if not is_no_select(tree):
        check(tree, shop_knows)


def test_most_mutants_parse():
    """Else the tests above would be empty."""
    counts = {True: 0, False: 0, None: 0}

    @settings(FUZZ, max_examples=150)
    @given(mutant=hidden())
    def count(mutant: tuple[Statement, str]) -> None:
        counts[refused(mutant[1])] += 1

    count()
    assert counts[True] > 3 * (counts[None] or 1) / 2
    assert len(SPLICED) > 90
    assert decode("{}") == {}
