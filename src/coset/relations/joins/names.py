"""How well two names agree: `orders.customer_id` with `customers.id`, `OrdLns.ProdCd` with `product.code`.

In: names of tables and columns. Out: numbers from 0 to 1. Words are cut at case, digits and signs; plurals, common
abbreviations (first letters kept in order) and glued words (`orderitemid`) are seen through. No name is known by heart
except the words that say "this is a key".
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from difflib import SequenceMatcher

KEY_WORDS = frozenset((
    "id", "ids", "key", "code", "cd", "no", "nr", "num", "number", "ref", "reference", "identifier", "uuid", "guid",
    "fk", "pk", "sk", "rowid", "iden", "ident", "nbr", "idx", "index",
))  # fmt: skip
_KEY_ENDS = ("identifier", "reference", "number", "code", "guid", "uuid", "key", "ref", "num", "ids", "id", "no", "cd")
_EMPTY_WORDS = frozenset((
    "the", "of", "a", "an", "by", "to", "for", "in", "on", "at", "is", "tbl", "table", "dim", "fact", "raw", "stg",
    "vw", "view", "c", "str", "int", "col", "fld", "new", "old", "main", "lng", "dbl", "dtm", "bln", "chr",
))  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


@functools.cache
def words(name: str) -> tuple[str, ...]:
    found = [singular(word.lower()) for word in _WORDS.findall(name)]
    plain = tuple(word for word in found if word not in _EMPTY_WORDS)
    return plain or tuple(found)


@functools.cache
def singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@functools.cache
def stem(name: str) -> tuple[str, ...]:
    """The words of a column without those that say that it is a key: `person` of `person_id` and of `personid`."""
    found = [word for word in words(name) if word not in KEY_WORDS]
    if found and len(found) == len(words(name)):
        last = found[-1]
        for end in _KEY_ENDS:
            if last.endswith(end) and len(last) >= len(end) + 3:
                found[-1] = singular(last[: -len(end)])
                break
    return tuple(found)


@functools.cache
def is_key_name(name: str) -> bool:
    """Whether the name says that the column is a key or refers to one."""
    return stem(name) != words(name)


@functools.cache
def word_agreement(one: str, other: str) -> float:
    """1 for the same word, less for an abbreviation or a near spelling, 0 for different words."""
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if len(short) < 2 or short[0] != long[0] or short.isdigit() or long.isdigit():
        return 0.0
    if long.startswith(short):
        return 0.85 if len(short) >= 3 else 0.6
    letters = iter(long)
    if all(letter in letters for letter in short) and len(short) >= 3:
        return 0.75
    ratio = SequenceMatcher(None, one, other).ratio()
    return ratio if ratio >= 0.8 else 0.0


@functools.cache
def agreement(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """How much of the words of both is in the other, in any order; 1 when glued together they are the same."""
    if not one or not other:
        return 0.0
    glued_one, glued_other = "".join(one), "".join(other)
    if glued_one == glued_other:
        return 1.0
    total = sum(max(word_agreement(word, each) for each in other) * len(word) for word in one) / len(glued_one)
    back = sum(max(word_agreement(word, each) for each in one) * len(word) for word in other) / len(glued_other)
    best = 2 * total * back / (total + back) if total + back else 0.0
    short, long = sorted((glued_one, glued_other), key=len)
    if len(short) >= 4 and (long.startswith(short) or long.endswith(short)):
        best = max(best, 0.5 + 0.5 * len(short) / len(long))
    initials = "".join(word[0] for word in (other if len(other) > 1 else one))
    if short == initials and len(initials) >= 2:
        best = max(best, 0.6)
    return best


@functools.cache
def name_marks(name: str) -> frozenset[str]:
    """What two names have in common if they agree at all: the first letter of a word, a number, or the last letters of
    a word or of the first words put together."""
    marks: set[str] = set()
    for found in (stem(name), tuple(word for word in words(name) if word not in KEY_WORDS)):
        marks.update(word if word.isdigit() else word[0] for word in found)
        ends = [*found, *("".join(found[:count]) for count in range(1, len(found) + 1))]
        marks.update(end[-4:] for end in ends if len(end) >= 4)
    return frozenset(marks)


@functools.cache
def columns_agree(left_column: str, right_column: str) -> float:
    """Whether two columns are called the same. Two that are only called `id` say nothing."""
    left, right = stem(left_column), stem(right_column)
    if not left or not right:
        return 0.0
    return agreement(left, right)


LEAST_PREFIXED, LONGEST_PREFIX = 0.6, 4


@functools.cache
def table_prefix(columns: tuple[str, ...]) -> str:
    """What the names of most columns of a table begin with: `PT` of PTPOLN, PTSEQN, PTAMT. Programs that had one space
    of names for all fields gave each table its own letters; what stands behind them is the name."""
    if len(columns) < 2:
        return ""
    best = ""
    for length in range(1, LONGEST_PREFIX + 1):
        starts = Counter(name[:length].lower() for name in columns if len(name) >= length + 2)
        if not starts:
            break
        start, count = starts.most_common(1)[0]
        if count < max(min(3, len(columns)), LEAST_PREFIXED * len(columns)) or not start.isalpha():
            break
        best = start
    # A single letter that most names share by chance is none, and a word of its own is cut off with its sign.
    return best if len(best) > 1 else ""


@functools.cache
def bare_name(name: str, prefix: str) -> str:
    """A column's name without the prefix that its table gives to all of them."""
    rest = name[len(prefix) :]
    return rest.lstrip("_") if prefix and name.lower().startswith(prefix) and len(rest.strip("_")) >= 2 else name


@functools.cache
def column_names_table(left_column: str, right_table: str, right_column: str) -> float:
    """Whether the left column is called after the right table (and its key): `buyer_person_id` after `persons.id`."""
    left, table = stem(left_column), tuple(word for word in words(right_table) if word not in KEY_WORDS)
    if not left or not table:
        return 0.0
    best = agreement(left, table)
    if len(left) > 1:
        # `billing_customer_id`: what stands before the table's name says which customer.
        best = max(best, 0.9 * agreement(left[-len(table) :], table), 0.7 * agreement(left[: len(table)], table))
    if len(table) > 1:
        best = max(best, 0.8 * agreement(left, table[-1:]), 0.7 * agreement(left, table[:1]))
    if "".join(words(left_column)) == "".join(words(right_table) + words(right_column)):
        best = 1.0
    return best
