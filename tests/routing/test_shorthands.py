"""Short names for long expressions: stable, reversible, and only where they save something."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coset.routing.objects.shorthands import Shorthands
from coset.sql_text import identifier

STRIPPED = "regexp_replace({}, '^[^\\p{{L}}\\p{{N}}]+|[^\\p{{L}}\\p{{N}}]+$', '', 'g')"


def use(name: str, form: str = STRIPPED) -> tuple[str, str]:
    return form.format(identifier(name)), name


def test_a_long_expression_that_comes_often_gets_a_name_that_can_be_written_out():
    known = Shorthands([use("id"), use("owner id"), use("account")])
    owner = 'sales."Case"."owner id"'
    condition = f"{STRIPPED.format('core.Account.Id')} = {STRIPPED.format(owner)}"
    short, used = known.short(condition)
    assert short == 'f1(core.Account.Id) = f1(sales."Case"."owner id")' and used == ("f1",)
    assert known.written_out(short) == condition
    assert known.lines["f1"].endswith(STRIPPED.format("x"))


def test_what_is_rare_or_short_keeps_its_words():
    known = Shorthands([use("a"), use("b"), *(use(name, "trim({})") for name in "abcdef")])
    assert known.all == () and known.short('trim("a")') == ('trim("a")', ())


def test_a_column_that_stands_twice_in_its_expression_gets_no_name():
    twice = "CASE WHEN trim({0}) IN ('n.a.', 'unknown', 'none') THEN NULL ELSE {0} END"
    assert Shorthands([use(name, twice) for name in "abcd"]).all == ()


@given(st.lists(st.text('ab" .', min_size=1, max_size=6), min_size=3, max_size=6, unique=True))
def test_any_quoted_column_is_written_out_as_it_was(names):
    known = Shorthands([use(name) for name in names])
    for name in names:
        expression, _ = use(name)
        assert known.written_out(known.short(expression)[0]) == expression


@given(st.permutations(["id", "owner", "account", "contact"]))
def test_the_names_do_not_depend_on_the_order_of_uses(names):
    dated = "CAST(try_strptime({}, '%Y-%m-%d') AS DATE)"
    uses = [each for name in names for each in (use(name), use(name, dated))]
    assert Shorthands(uses).lines == Shorthands(sorted(uses)).lines
