"""Is a dirty column used as if it were clean, or are values of several units added up as if they were of one?

The state knows the dirt of columns and the expressions that clean it. Dirt matters by use: blanks and stray letters
where values are compared, joined or grouped; text dates and numbers where they are ordered, compared or added up; null
tokens where they are counted. A use counts as cleaned when it is wrapped in the known expression or in a function that
does such work. Each kind of dirt has one line below.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from coset.answering.checks.examined import CheckResult, Examined
from coset.answering.checks.joins import counted_joins
from coset.answering.checks.statement import DIALECT, RANGES, ColumnUse, Node, Statement, columns_of
from coset.state.read_model import ReadModel
from coset.state.tables import ColumnRow, DiagnosticRow, GroupValueRow

CLEANING = "cleaning"
LEAST_SHARE = 0.002
WHOLE = 0.99
ISO_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m")
"""Dates written like this, and in one form only, compare as text as they do as dates."""

COMPARED = frozenset({"equal", "join", "group", "distinct"})
ORDERED = frozenset({"range", "order", "aggregate"})
CUTS = ("trim", "ltrim", "rtrim", "regexpreplace", "regexpextract", "replace", "substring", "splitpart", "left",
        "right", "translate", "regexp_replace", "regexp_extract", "split_part")  # fmt: skip
READS = ("cast", "trycast", "strptime", "try_strptime", "strtotime", "strtodate", "tsordstodate", "regexpextract",
         "regexpreplace", "year", "month", "extract", "datetrunc")  # fmt: skip

DATE_READERS = ("strptime", "try_strptime", "strtotime", "strtodate")


@dataclass(frozen=True)
class Dirt:
    """When one kind of dirt matters, and which functions take it away."""

    places: frozenset[str]
    cleaned_by: tuple[str, ...]
    needs_expression: bool = False
    """Whether only the known expression cleans it: a plain cast reads one format of several."""


AT_THE_ENDS = frozenset({"padding", "stray_characters"})
"""Dirt that stands before or behind a value."""
KINDS = {
    "padding": Dirt(COMPARED, (*CUTS, "cast", "trycast")),
    "stray_characters": Dirt(COMPARED, CUTS),
    "mixed_case": Dirt(frozenset({"equal", "group", "distinct"}), ("lower", "upper", "ilike", "regexplike")),
    "null_tokens": Dirt(
        frozenset({"group", "distinct", "aggregate", "order", "null test", "range"}),
        ("nullif", "case", "trycast", "regexpextract", "try_strptime", "strtotime"),
    ),
    "number_as_text": Dirt(ORDERED, READS),
    "date_as_text": Dirt(ORDERED, READS),
    "mixed_date_formats": Dirt(
        frozenset({*ORDERED, "group", "equal"}), ("coalesce", "case", "if", *DATE_READERS), needs_expression=True
    ),
    "sentinel": Dirt(ORDERED, ("nullif", "case")),
    "counter_disagrees": Dirt(frozenset({*ORDERED, "equal", "projection"}), ()),
    "encoding": Dirt(COMPARED, ("replace", "regexpreplace", "case")),
}


def check_cleaning(examined: Examined) -> CheckResult:
    statement = examined.statement
    if statement is None:
        return CheckResult(CLEANING, "not applicable", "there is no statement that can be read")
    used = {use.reference for use in statement.uses}
    known = ReadModel(examined.state).of_references(DiagnosticRow, sorted(used))
    rows = [row for row in known if row.kind in KINDS]
    if not rows:
        return CheckResult(CLEANING, "passed", "no column that is used is known to be dirty")
    whole = _joined_whole(examined)
    columns = ReadModel(examined.state).columns
    found = [
        (row, uses) for row in rows if (uses := _uncleaned(statement, row, whole, columns.get(row.column_reference)))
    ]
    if not found:
        return CheckResult(CLEANING, "passed", "every dirty column is cleaned where it matters")
    said = [
        f"{row.column_reference} ({row.kind.replace('_', ' ')}, {row.share:.1%}) is used as it is in "
        f"{', '.join(dict.fromkeys(_said(use) for use in uses))}{_hint(row)}"
        for row, uses in found
    ]
    return CheckResult(
        CLEANING, "doubt", "; ".join(said), tuple(dict.fromkeys(row.column_reference for row, _ in found))
    )


def is_cleaned(use: ColumnUse, dirt: Dirt, expression: str | None) -> bool:
    """Whether what stands around a use takes the dirt away."""
    known = _bare_text(expression) if expression else None
    if known is not None and any(_bare(node) == known for node in use.within):
        return True
    if dirt.needs_expression:
        # Several formats tried one after the other are as good as the known expression; a condition of a CASE that
        # reads each form in its own way is part of that.
        around = [*use.within, *_cases_around(use)]
        return any(_function(node) in dirt.cleaned_by and _readings(node) > 1 for node in around)
    return any(_function(node) in dirt.cleaned_by for node in use.within)


def _cases_around(use: ColumnUse) -> list[Node]:
    found, node = [], use.within[-1].parent if use.within else None
    while node is not None and not isinstance(node, exp.Select):
        found += [node] if isinstance(node, exp.Case | exp.If | exp.Coalesce) else []
        node = node.parent
    return found


def _joined_whole(examined: Examined) -> frozenset[str]:
    """Columns by which rows find their partners as they are: both sides are written alike."""
    joins = [join for each in counted_joins(examined) or () for join in each.joins]
    return frozenset(
        reference
        for join in joins
        if max(join.left.share, join.right.share) >= WHOLE and join.pairs
        for reference in (*join.left.references, *join.right.references)
    )


def _uncleaned(
    statement: Statement, row: DiagnosticRow, joined_whole: frozenset[str], column: ColumnRow | None
) -> list[ColumnUse]:
    dirt, kind = KINDS[row.kind], row.kind
    if row.share < LEAST_SHARE or (kind == "date_as_text" and _compares_as_text(row.expression)):
        return []
    uses = [use for use in statement.uses if use.reference == row.column_reference]
    if kind in {"null_tokens", "sentinel"} and any(_keeps_out(use) for use in uses):
        return []
    return [
        use
        for use in uses
        if (use.place in dirt.places or (use.aggregate == "count distinct" and "distinct" in dirt.places))
        and not (use.place == "aggregate" and use.aggregate == "count" and kind != "null_tokens")
        and not is_cleaned(use, dirt, row.expression)
        and not (use.place == "join" and use.reference in joined_whole)
        and not (kind in AT_THE_ENDS and _finds_within(use))
        and not (kind == "padding" and row.share >= WHOLE and _tells_apart(use))
        and not (kind in {"null_tokens", "sentinel"} and _is_no_extreme(use, row, column))
    ]


def _tells_apart(use: ColumnUse) -> bool:
    """Whether values are only told apart: where all of them are padded, each has one form."""
    return use.place in {"group", "distinct"} or use.aggregate == "count distinct"


def _is_no_extreme(use: ColumnUse, row: DiagnosticRow, column: ColumnRow | None) -> bool:
    """Whether what stands for no value is never the largest (smallest) that is asked for: -999 is no maximum."""
    extreme = {"max": column.maximum, "min": column.minimum}.get(use.aggregate or "") if column is not None else None
    expression = _parsed(row.expression) if row.expression and extreme is not None else None
    if extreme is None or expression is None:
        return False
    return not any(_same(str(each.this), extreme) for each in expression.find_all(exp.Literal))


def _same(one: str, other: str) -> bool:
    try:
        return abs(float(one)) == abs(float(other))  # The sign of a literal stands outside of it.
    except ValueError:
        return one == other


def _finds_within(use: ColumnUse) -> bool:
    """Whether a value is looked into, so that what stands before and behind does not matter."""
    for node in use.within:
        if isinstance(node, exp.RegexpLike | exp.RegexpILike):
            return not _is_anchored(node.expression)
        if isinstance(node, exp.Like | exp.ILike):
            pattern = node.expression
            return isinstance(pattern, exp.Literal) and pattern.this.startswith("%") and pattern.this.endswith("%")
    return False


def _is_anchored(pattern: Node | None) -> bool:
    text = str(pattern.this) if isinstance(pattern, exp.Literal) else "^"
    return text.startswith("^") or text.endswith("$")


def _keeps_out(use: ColumnUse) -> bool:
    """Whether a condition speaks of the column's values: one that keeps tokens or sentinels out, or asks for others."""
    return use.place in {"equal", "range"} and any(
        isinstance(node, (*RANGES, exp.EQ, exp.NEQ, exp.In)) for node in use.within
    )


def _compares_as_text(expression: str | None) -> bool:
    formats = _formats(_parsed(expression)) if expression else []
    return len(formats) == 1 and formats[0] in ISO_FORMATS


def _formats(node: Node | None) -> list[str]:
    """The date formats that an expression tries."""
    if node is None:
        return []
    return [each.this for each in node.find_all(exp.Literal) if each.is_string and "%" in each.this]


def _readings(node: Node) -> int:
    """In how many ways an expression reads a date: by formats, or by casts."""
    casts = [
        each for each in node.find_all(exp.Cast, exp.TryCast) if "DATE" in each.to.sql() or "TIME" in each.to.sql()
    ]
    return len(set(_formats(node))) + len(casts) + len(list(node.find_all(exp.DateFromParts)))


def _function(node: Node) -> str:
    return str(node.name).lower() if isinstance(node, exp.Anonymous) else str(node.key)


def _parsed(expression: str) -> Node | None:
    try:
        return parse_one(expression, dialect=DIALECT)
    except SqlglotError:
        return None


def _bare_text(expression: str) -> str | None:
    node = _parsed(expression)
    return _bare(node) if node is not None else None


def _bare(node: Node) -> str:
    """An expression as text, without the tables before its columns and without regard to case or quotes."""
    node = node.copy()
    for column in columns_of(node):
        column.set("table", None)
        column.set("db", None)
        column.set("catalog", None)
        column.this.set("quoted", True)
        column.this.set("this", column.name.lower())
    return str(node.sql(dialect=DIALECT))


def _said(use: ColumnUse) -> str:
    names = {"equal": "a comparison", "range": "a comparison", "group": "GROUP BY", "distinct": "DISTINCT",
             "order": "ORDER BY", "join": "a join", "null test": "IS NULL", "projection": "the answer"}  # fmt: skip
    return use.aggregate or names.get(use.place, use.place)


def _hint(row: DiagnosticRow) -> str:
    expression = row.expression
    return f"; clean it with {expression}" if expression and len(expression) <= 400 else f": {row.detail}"


UNITS = "units"
MATTERS = frozenset({"aggregate", "range", "order", "equal", "group", "distinct"})
ADDED = frozenset({"sum", "avg", "min", "max"})
_LETTERS = "EUR USD GBP CHF PLN JPY CNY SEK NOK DKK CZK HUF RON BGN CAD AUD NZD TRY BRL MXN INR KRW SGD HKD ZAR ILS AED"
_NUMBERS = "978 840 826 756 985 392 156 752 578 208 203 348 946 975 124 036 554 949 986 484 356 410 702 344 710 376 784"
CURRENCIES = frozenset(f"{_LETTERS} {_NUMBERS}".split())
"""Letters and numbers of ISO 4217."""
MOST_CURRENCIES = 15


def check_units(examined: Examined) -> CheckResult:
    statement = examined.statement
    if statement is None:
        return CheckResult(UNITS, "not applicable", "there is no statement that can be read")
    used = sorted({use.reference for use in statement.uses})
    model = ReadModel(examined.state)
    rows = [row for row in model.of_references(DiagnosticRow, used) if row.kind == "mixed_units"]
    dirt = Dirt(MATTERS, ("case",))
    mixed = [
        row
        for row in rows
        if any(
            use.reference == row.column_reference
            and use.place in MATTERS
            and use.aggregate != "count"
            and not is_cleaned(use, dirt, row.expression)
            for use in statement.uses
        )
    ]
    said = [f"{row.column_reference}: {row.detail}" for row in mixed]
    references = [row.column_reference for row in mixed]
    for amount, currency, values in _several_currencies(statement, model):
        said.append(f"{amount} is in several currencies ({', '.join(values)} in {currency}), which is not looked at")
        references += [amount, currency]
    if said:
        return CheckResult(UNITS, "doubt", f"mixed units are not converted: {'; '.join(said)}", tuple(references))
    if rows:
        return CheckResult(UNITS, "passed", "mixed units are converted where it matters")
    return CheckResult(UNITS, "passed", "no column that is used is known to mix units")


def _several_currencies(statement: Statement, model: ReadModel) -> list[tuple[str, str, list[str]]]:
    """(amount, currency column, its values) for fractions and decimals that are added up or compared while the currency
    of their table, which is not always the same, is used nowhere."""
    tables = sorted(statement.tables)
    held: dict[str, set[str]] = {}
    for value in model.of_tables(GroupValueRow, tables):
        held.setdefault(value.column_reference, set()).add(str(value.value or "").strip().upper())
    currencies = {
        column: sorted(values)
        for column, values in held.items()
        if 2 <= len(values) <= MOST_CURRENCIES and values <= CURRENCIES
    }
    used = {use.reference for use in statement.uses}
    found = {}
    for use in statement.uses:
        table = next((each for each in tables if use.reference.startswith(f"{each}.")), "")
        column = model.columns.get(use.reference)
        of_table = [each for each in currencies if each.startswith(f"{table}.")]
        if column is None or use.aggregate not in ADDED or not of_table or used & set(of_table):
            continue
        if column.type.startswith(("DECIMAL", "DOUBLE", "FLOAT")):
            found[use.reference] = (use.reference, of_table[0], currencies[of_table[0]])
    return list(found.values())
