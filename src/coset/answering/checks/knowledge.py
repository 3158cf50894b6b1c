"""Does the statement respect what is known of the company: originals instead of copies, rules in force, valid code
lists?

In: an examined proposal, and the copies, rules and code lists of the state. Out: one result for each of the three
checks, at most a doubt: each says what is known and what the statement does instead, and whoever wrote it decides. A
state in which a stage found nothing makes its check not applicable.
"""

from __future__ import annotations

import re

from sqlglot import exp

from coset.answering.checks.examined import CheckResult, Examined
from coset.answering.checks.statement import Statement, columns_read
from coset.readings.words import singular
from coset.routing.anchors.spelling import normalised, stem
from coset.state import documents
from coset.state.objects import CodeList
from coset.state.read_model import ReadModel
from coset.state.readings import best_names
from coset.state.tables import ColumnRow

COPIES = "copies"
REPLACED = frozenset({"backup", "staging", "test", "superseded", "extract", "snapshot", "leftover", "year copy"})
"""Kinds of copies that a question seldom means. An archive has rows of its own, and a view is no copy of rows."""
WITHOUT_ORIGINAL = frozenset({"test", "leftover"})
SURE = 0.6
RULES = "rules"
LEAVES_OUT = re.compile(
    r"\b(exclud\w+|left out|leave out|leaving out|omit\w*|ignor\w+|never count\w*|not count\w*|do(?:es)? not count"
    r"|not be counted|not included|disregard\w*)\b",
    re.IGNORECASE,
)
"""Words of rules that choose rows: only of those can be told by the columns used whether a statement applies them."""
MAY_LEAVE_OUT = re.compile(r"\b(only|must not|not part of|filter\w*|remov\w+)\b", re.IGNORECASE)
FIGURES = re.compile(
    r"\b(count(s|ed|ing)?|figures?|totals?|sums?|add(ed)? up|report(s|ed|ing)?|statistics|numbers of)\b", re.IGNORECASE
)
"""Words that say anything of a column ("is only filled for"), and those that make a rule for figures of them."""
MARKED = {
    "deleted": re.compile(r"\b(deleted|deletion|delete|del (flag|flg|ind\w*)|soft delete\w*|delflg)\b", re.IGNORECASE),
    "test": re.compile(r"\b(is test|test record|test flag|test account|is training)\b", re.IGNORECASE),
}
"""Names and readings of columns that mark rows which a rule for all figures may leave out: the word that the rule says,
and how such columns are called."""
MEASURE = re.compile(
    r"(?:the\s+)([a-z][\w-]+(?:\s[\w-]+)?)\s+of\s+(?:an?|the|each|every)\s+[\w ]{2,30}?\s(?:is|are)\b", re.IGNORECASE
)
"""How a sentence begins that says how something is computed of a thing: `The utilisation of a machine is`."""
MOST_TOLD = 3
CODE_LISTS = "code lists"


def check_copies(examined: Examined) -> CheckResult:
    """Is a copy read whose original is there?"""
    statement = examined.statement
    if statement is None:
        return CheckResult(COPIES, "not applicable", "there is no statement that can be read")
    read = statement.tables
    rows = [each for each in examined.state.copies() if each.table in read and each.confidence >= SURE]
    found = [
        row for row in rows if row.original not in read and row.kind in (REPLACED if row.original else WITHOUT_ORIGINAL)
    ]
    if not found:
        return CheckResult(COPIES, "passed", "no table that is read is known to be a copy")
    said = [
        f"{row.table} is a {row.kind}"
        + (f" of {row.original}: read that" if row.original else " that nothing stands behind")
        for row in found
    ]
    return CheckResult(COPIES, "doubt", "; ".join(said), tuple(row.table for row in found))


def check_rules(examined: Examined) -> CheckResult:
    """Is there a rule in force that leaves out rows of a table that is read, by a column that the statement never
    uses?"""
    statement = examined.statement
    if statement is None:
        return CheckResult(RULES, "not applicable", "there is no statement that can be read")
    rows = [row for row in documents.rules(examined.state) if (row.status or "current") == "current" and row.about]
    rows.sort(key=lambda row: (row.scope, row.reference))
    marks = _marks_left_out(examined, statement)
    if not rows and not marks:
        return CheckResult(RULES, "not applicable", "no rule in force names a column")
    attached = _only_attached(statement)
    tables = {reference for reference, table in statement.tables.items() if table.name.lower() not in attached}
    used = columns_read(statement)
    said = [f'"{text[:200]}" is about {column}, not used here' for column, text in marks]
    references: list[str] = [column for column, _ in marks]
    for row in rows:
        columns = {each for each in row.about if _table_of(each, tables) and _chooses_by(each, row.text)}
        if row.scope != "general" and _is_of_another_measure(row.text, examined.proposal.question):
            continue
        if columns and not columns & used:
            said.append(
                f'"{" ".join(row.text.split())[:200]}" is about {", ".join(sorted(columns)[:3])}, not used here'
            )
            references += [row.reference, *sorted(columns)]
    if not said:
        return CheckResult(RULES, "passed", "every rule that names a column of these tables is looked at")
    more = f"; and {len(said) - MOST_TOLD} more" if len(said) > MOST_TOLD else ""
    return CheckResult(RULES, "doubt", "; ".join(said[:MOST_TOLD]) + more, tuple(dict.fromkeys(references)))


def _marks_left_out(examined: Examined, statement: Statement) -> list[tuple[str, str]]:
    """(column, rule): columns of the tables read that mark rows which a rule for all figures leaves out. A column that
    marks none does not matter, nor does a second mark of a table where the statement uses the first; what belongs to a
    test is one too, so that the mark of any table says it."""
    general = [
        sentence
        for row in documents.rules(examined.state)
        if row.scope == "general" and (row.status or "current") == "current"
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(row.text.split()))
        if _leaves_out(sentence)
    ]
    wanted = {word: text for word in MARKED for text in general if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)}
    if not wanted:
        return []
    model = ReadModel(examined.state)
    names = {each.reference: each.name for each in best_names(examined.state, SURE)}
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    optional = _only_attached(statement)
    for table, known in statement.tables.items():
        for column in model.columns_of.get(table, ()) if known.name.lower() not in optional else ():
            called = f"{_spelled(column.name)} {names.get(column.reference, '')}"
            for word, text in wanted.items():
                if MARKED[word].search(called) and (column.distinct_values or 0) > 1:
                    place = (word, table if word == "deleted" else "")
                    found.setdefault(place, []).append((column.reference, text))
    used = columns_read(statement)
    return [each for marks in found.values() if not any(column in used for column, _ in marks) for each in marks]


def _is_of_another_measure(text: str, question: str) -> bool:
    """Whether a rule says how a measure is computed (the utilisation of a machine) that the question does not name."""
    defined = MEASURE.match(" ".join(text.split()))
    if defined is None or not question:
        return False
    asked = {stem(singular(word)) for word in normalised(question).split()}
    return not asked & {stem(singular(word)) for word in normalised(defined[1]).split()}


def _leaves_out(sentence: str) -> bool:
    """Whether a sentence leaves rows out of figures."""
    return bool(LEAVES_OUT.search(sentence) or (MAY_LEAVE_OUT.search(sentence) and FIGURES.search(sentence)))


def _only_attached(statement: Statement) -> set[str]:
    """Names of tables that stand on the optional side of outer joins only: they add no rows."""
    attached: set[str] = set()
    others: set[str] = set()
    for table in statement.tree.find_all(exp.Table):
        is_left = isinstance(table.parent, exp.Join) and table.parent.side == "LEFT"
        (attached if is_left else others).add(table.name.lower())
    return attached - others


def _spelled(name: str) -> str:
    """`IsDeleted`, `del_flg` as words."""
    return re.sub(r"[_\W]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip()


def check_code_lists(examined: Examined) -> CheckResult:
    """Is a code decoded with an outdated list, or with a list whose rows are not narrowed to those of the column?"""
    statement = examined.statement
    if statement is None:
        return CheckResult(CODE_LISTS, "not applicable", "there is no statement that can be read")
    joined = _joined(statement)
    columns = {column for column, _ in joined}
    rows = [each for each in examined.state.code_lists() if each.column in columns and each.confidence >= SURE]
    rows.sort(key=lambda each: (each.column, each.status, each.list))
    if not rows:
        return CheckResult(CODE_LISTS, "not applicable", "no code is decoded that a known list decodes")
    read = set(statement.tables)
    said, references = [], []
    for column, table in sorted(joined):
        lists = [row for row in rows if row.column == column]
        valid = [row for row in lists if row.status != "outdated"]
        own = [row for row in lists if row.list == table]
        if own and all(row.status == "outdated" for row in own):
            better = f"; {valid[0].list} is valid" if valid else ""
            said.append(f"{table} is an outdated list of {column}{better}")
            references += [table, column]
        elif own and all(row.condition for row in own) and table in read:
            wanted = own[0].condition or ""
            if not _names_of(wanted) & _names_in_conditions(statement) and not _tells_rows_apart(examined, own[0]):
                said.append(f"of {table} only rows with {wanted} decode {column}")
                references += [table, column]
    if not said:
        return CheckResult(CODE_LISTS, "passed", "codes are decoded with valid lists")
    return CheckResult(CODE_LISTS, "doubt", "; ".join(said[:MOST_TOLD]), tuple(dict.fromkeys(references)))


def _tells_rows_apart(examined: Examined, code_list: CodeList) -> bool:
    """Whether each code has one row of the list: then no other row can be taken for it."""
    columns = ReadModel(examined.state).of_tables(ColumnRow, [code_list.list])
    return any(column.name == code_list.code_column and bool(column.is_unique) for column in columns)


def _chooses_by(column: str, text: str) -> bool:
    """Whether a sentence that leaves rows out names the column as the database does."""
    name = re.escape(column.rpartition(".")[2])
    named = re.compile(rf"(?<![\w]){name}(?![\w])", re.IGNORECASE)
    return any(named.search(each) and _leaves_out(each) for each in re.split(r"(?<=[.;!?])\s+", text))


def _table_of(reference: str, tables: set[str]) -> str | None:
    """The table among these whose column a reference is; a reference of a table itself is none."""
    return next((table for table in tables if reference.startswith(f"{table}.")), None)


def _joined(statement: Statement) -> set[tuple[str, str]]:
    """(column, table) for each column that is compared with a column of another table."""
    sides: dict[int, set[str]] = {}
    for use in statement.uses:
        if use.place == "join":
            sides.setdefault(id(use.within[-1]), set()).add(use.reference)
    tables = set(statement.tables)
    found: set[tuple[str, str]] = set()
    for columns in sides.values():
        owners = {column: _table_of(column, tables) for column in columns}
        found |= {
            (column, table)
            for column in columns
            for table in owners.values()
            if table is not None and table != owners[column]
        }
    return found


def _names_of(condition: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", re.sub(r"'[^']*'", " ", condition).lower())) - {
        "and", "or", "not", "in", "is", "null", "like", "between", "cast", "as", "date", "current_date",
    }  # fmt: skip


def _names_in_conditions(statement: Statement) -> set[str]:
    """Names of columns that stand in a condition that compares them with something else than another table."""
    found = set()
    for node in statement.tree.find_all(exp.Where, exp.Join, exp.Having, exp.Case):
        found |= {column.name.lower() for column in node.find_all(exp.Column)}
    return found
