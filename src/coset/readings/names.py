"""How the names of one source are made: shared prefixes and endings, marks of types, and the pieces that remain.

In: the tables of one source. Out: for each name, the pieces that carry meaning. Prefixes are found by counting, per
table and per source; no prefix of any system is listed. Marks that stand before a name for the type of a variable
(`strName`, `tblOrders`) are, since they are one fixed habit of programmers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from coset.readings.observed import ObservedTable
from coset.readings.vocabulary import vocabulary
from coset.readings.words import words_of

TYPE_MARKS = frozenset({
    "t", "tb", "tbl", "tab", "v", "vw", "q", "qry", "str", "s", "c", "ch", "chr", "txt", "n", "num", "nbr", "i",
    "int", "l", "lng", "lg", "f", "fl", "flt", "sng", "db", "dbl", "d", "dt", "dtm", "dat", "b", "bl", "bln",
    "bit", "bool", "cur", "ccy", "dec", "k", "pk", "fk", "ix", "idx", "fld", "col",
})  # fmt: skip
"""What programmers put before a name for its type, in small letters before a capital: `tPart`, `strName`."""
OWN_MARKS = frozenset({"x", "z", "zz"})
"""What stands before columns that a company added to a bought system: `X_REGION`, `ZZ_REGION`."""
_WAREHOUSE = {"d": "dimension", "f": "fact"}
LEAST_COLUMNS, LEAST_TABLES, MOST_OF_TABLE, MOST_OF_SOURCE = 3, 5, 0.75, 0.5
_GLUED = re.compile(r"[A-Za-z]+\d*[A-Za-z]*\d*$")


@dataclass(frozen=True)
class Habits:
    """What the names of a source share."""

    glued_prefix: dict[str, str]
    """By table reference: the letters with which its columns begin without a separator (`PL` of `PLBRCD`)."""
    first_word: dict[str, str]
    """By table reference: a short first word that all its columns share (`im` of `im_id`)."""
    endings: frozenset[str]
    """Last words of many names that say nothing: the `c` of `Amount__c`."""
    marks: bool
    """Whether columns begin with marks of their types."""
    table_marks: bool
    object_marks: frozenset[str] = frozenset()
    """Small letters before a capital that tables begin with as a system of their own: the `h` of `hRead`."""
    own_prefix: str = ""
    """A first word with which a company's own columns begin in a bought system: the `new` of `new_optin`."""
    warehouse: bool = False
    """Whether `D_` and `F_` before tables are dimensions and facts."""
    table_ending: str = ""
    """Letters with which nearly all tables end without a separator: the `FL` of `ORDHFL`."""


def habits_of(tables: Sequence[ObservedTable]) -> Habits:
    """The habits of one source's names."""
    glued = {table.reference: prefix for table in tables if (prefix := _glued_prefix(table.names))}
    glued = _of_usual_length(glued)
    able = [table for table in tables if len(table.columns) >= LEAST_COLUMNS]
    prefixed = len(glued) >= MOST_OF_SOURCE * len(able) and len(set(glued.values())) > 1
    names = [name for table in tables for name in table.names]
    last = Counter(
        words[-1] for name in (*names, *(table.name for table in tables)) if len(words := words_of(name)) > 1
    )
    total = len(names) + len(tables)
    endings = frozenset(
        word for word, count in last.items() if len(word) == 1 and word.isalpha() and count >= max(5, 0.15 * total)
    )
    marked = sum(_mark(name) is not None for name in names)
    marked_tables = sum(_mark(table.name) is not None for table in tables)
    return Habits(
        glued if prefixed else {},
        {table.reference: word for table in tables if (word := _first_word(table.names))},
        endings,
        marked >= max(3, 0.4 * len(names)),
        marked_tables >= max(2, 0.4 * len(tables)),
        _object_marks([table.name for table in tables]),
        _own_prefix(names),
        _is_warehouse([table.name for table in tables]),
        _table_ending([table.name for table in tables]),
    )


def _table_ending(names: Sequence[str]) -> str:
    """Two or three letters with which nearly all tables of a source end that are written in one piece, where what
    stands before them differs."""
    glued = [name.upper() for name in names if _GLUED.match(name) and (name.isupper() or name.islower())]
    if len(glued) < max(LEAST_TABLES, MOST_OF_TABLE * len(names)):
        return ""
    for length in (3, 2):
        ending, count = Counter(name[-length:] for name in glued).most_common(1)[0]
        before = {name[:-length][-1:] for name in glued if name.endswith(ending)}
        if count >= MOST_OF_TABLE * len(glued) and len(before) > 2 and ending.isalpha():
            return ending
    return ""


def _object_marks(names: Sequence[str]) -> frozenset[str]:
    """Marks of one to three small letters that nearly all tables of a source have, most of them several tables."""
    found = [mark[1] for name in names if (mark := re.match(r"([a-z]{1,3})(?=[A-Z])", name))]
    counts = Counter(found)
    shared = sum(count for count in counts.values() if count > 1)
    known = vocabulary()
    if len(found) < max(6, 0.8 * len(names)) or shared < 0.8 * len(found):
        return frozenset()
    return frozenset(mark for mark, count in counts.items() if count > 1 and (len(mark) < 3 or not known.is_word(mark)))


def _own_prefix(names: Sequence[str]) -> str:
    """A first word before an underscore that some columns share in a source where hardly any other name has one."""
    first = Counter(found[1] for name in names if (found := re.match(r"([a-z]{1,5}\d?)_[A-Za-z]", name)))
    if not first or len(first) > 3:
        return ""
    word, count = first.most_common(1)[0]
    plain = sum("_" not in name for name in names)
    return word if count >= LEAST_COLUMNS and plain >= 0.7 * len(names) and count >= 0.7 * first.total() else ""


def _is_warehouse(names: Sequence[str]) -> bool:
    letters = Counter(name[0].lower() for name in names if re.match(r"[A-Za-z]_[A-Za-z]", name))
    return letters["d"] >= 2 and letters["f"] >= 2


def column_pieces(name: str, table: str, habits: Habits) -> tuple[str, ...]:
    """The pieces of a column's name that carry meaning, in small letters."""
    prefix = habits.glued_prefix.get(table)
    if prefix and name.upper().startswith(prefix) and len(name) > len(prefix):
        name = name[len(prefix) :]
    elif habits.marks and (mark := _mark(name)):
        name = name[len(mark) :]
    pieces = words_of(name)
    if len(pieces) > 1 and (pieces[0] in (habits.first_word.get(table), habits.own_prefix) or pieces[0] in OWN_MARKS):
        pieces = pieces[1:]
    return _without_endings(pieces, habits) or words_of(name)


def table_pieces(name: str, habits: Habits) -> tuple[str, ...]:
    """The pieces of a table's name that carry meaning, in small letters."""
    if habits.table_marks and (mark := _mark(name)):
        name = name[len(mark) :]
    elif habits.object_marks and (found := re.match(r"[a-z]{1,3}(?=[A-Z])", name)) and found[0] in habits.object_marks:
        name = name[found.end() :]
    ending = habits.table_ending
    if ending and name.upper().endswith(ending) and len(name) > len(ending) + 1:
        name = name[: -len(ending)]
    pieces = words_of(name)
    if habits.warehouse and len(pieces) > 1 and pieces[0] in _WAREHOUSE:
        pieces = (_WAREHOUSE[pieces[0]], *pieces[1:])
    if len(pieces) > 1 and pieces[0] in ("t", "tb", "tbl", "tab", "tabelle", "tabla"):
        pieces = pieces[1:]
    return _without_endings(pieces, habits) or words_of(name)


def _without_endings(pieces: tuple[str, ...], habits: Habits) -> tuple[str, ...]:
    return pieces[:-1] if len(pieces) > 1 and pieces[-1] in habits.endings else pieces


def _glued_prefix(names: Sequence[str]) -> str | None:
    """One to three letters with which nearly all names begin that have no separator, where what follows differs."""
    glued = [name.upper() for name in names if _GLUED.match(name) and (name.isupper() or name.islower())]
    if len(glued) < max(LEAST_COLUMNS, MOST_OF_TABLE * len(names)):
        return None
    for length in (3, 2, 1):
        prefix, count = Counter(name[:length] for name in glued).most_common(1)[0]
        rests = {name[length:][:1] for name in glued if name.startswith(prefix)}
        if count >= MOST_OF_TABLE * len(glued) and count >= LEAST_COLUMNS and len(rests) > 1 and prefix.isalpha():
            return prefix
    return None


def _of_usual_length(prefixes: dict[str, str]) -> dict[str, str]:
    """Longer prefixes cut to what most tables of the source have: the columns of a table may all go on with an *S*."""
    lengths = Counter(map(len, prefixes.values()))
    usual, count = lengths.most_common(1)[0] if lengths else (0, 0)
    if count < LEAST_TABLES or count < MOST_OF_TABLE * len(prefixes):
        return prefixes
    return {table: prefix[:usual] for table, prefix in prefixes.items()}


def _first_word(names: Sequence[str]) -> str | None:
    """A first word of up to three letters, no word of the language, that nearly all names share."""
    if len(names) < LEAST_COLUMNS:
        return None
    word, count = (
        Counter(words[0] for name in names if len(words := words_of(name)) > 1).most_common(1)[0:1][0]
        if any(len(words_of(name)) > 1 for name in names)
        else ("", 0)
    )
    telling = vocabulary().is_word(word) or (len(word) > 2 and word in vocabulary().short_forms)
    return word if count >= MOST_OF_TABLE * len(names) and len(word) <= 4 and not telling else None


def _mark(name: str) -> str | None:
    """The mark of a type before a capital: `str` of `strName`."""
    found = re.match(r"([a-z]{1,4})(?=[A-Z])", name)
    return found[1] if found and found[1] in TYPE_MARKS else None
