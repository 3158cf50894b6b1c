"""A column as diagnostics see it, how it is written and tried in SQL, and the words that stand for no value.

In: a relation, its columns, sampled rows of it. Out: one `Observed` a column. Counts come from a pass over the whole
relation (which is the profile's own where `Counts` of it are given); values come from the sampled rows, and from all
rows where a column has few different ones. Nothing here judges a value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import duckdb

from coset.evidence.sampled_rows import CUT_CHARACTERS, SampledRows, value_sql
from coset.sql_text import identifier, literal
from coset.state.objects import Counts, Share

_SURE = (
    "", "n/a", "n.a.", "n.a", "n\\a", "#n/a", "#na", "null", "nan", "nil", "none", "na",
    "-", "--", "---", "?", "??", "???",
    "unknown", "undefined", "missing", "tbd", "tba", "tbc", "not available", "not applicable", "not provided",
    "not specified", "not known", "no data", "no value", "not given", "not set", "unspecified", "#value!", "#ref!",
    "#div/0!", "#name?", "#null!", "<null>", "<na>", "\\n", "(null)", "(blank)", "(none)", "[null]", "[none]",
)  # fmt: skip
EVERYWHERE = tuple(word for word in _SURE if len(word) < 16)
"""The words that are counted over every row, not only over those that are sampled."""

_WORDS = frozenset(_SURE)
_ABSENCE = (
    r"(?:not|non|no|none|null|nil|nan|n/?a|missing|unknown|undefined|unspecified"
    r"|blank|empty|unavailable|absent|tb[acd])"
)
_BRACKETED = re.compile(rf"(?:\[|\(|<|\{{){{1,2}}\s*{_ABSENCE}\b[\w\s/'-]*(?:\]|\)|>|\}}){{1,2}}", re.IGNORECASE)
_PHRASE = re.compile(
    r"(?:data |information |value )?(?:is )?not (?:yet )?"
    r"(?:available|applicable|provided|specified|given|known|recorded|reported|stated|set|entered|found|disclosed)"
    r"|no (?:data|value|information|info|entry|record)(?: available| found)?"
    r"|to be (?:announced|determined|confirmed|defined)|information (?:unavailable|missing)",
    re.IGNORECASE,
)
_ONLY_SIGNS = re.compile(r"[-–—_.*?~=/\\]{1,10}")

# Words that are values as often as they are gaps: `None` is an answer to "which allergies?", `NA` is Namibia.
_DOUBTFUL = frozenset(("none", "na", "unknown", "missing", "undefined", "nil", "unspecified", "not applicable", "tba"))

Reading = Literal["sure", "doubtful"]


@lru_cache(maxsize=20_000)
def reads_as_null(text: str) -> Reading | None:
    """`text` is stripped of blanks already."""
    if len(text) > 40:
        return None
    folded = text.lower()
    if folded in _DOUBTFUL:
        return "doubtful"
    if folded in _WORDS:
        return "sure"
    first = text[0]
    if first in "[(<{":
        return "sure" if _BRACKETED.fullmatch(text) else None
    if not first.isalnum():
        return "sure" if _ONLY_SIGNS.fullmatch(text) else None
    return "sure" if " " in text and _PHRASE.fullmatch(text) else None


BLANKS = " \t\r\n\u00a0\u202f\u2007\u3000\u200b\ufeff"
"""What is cut off at both ends of a text before it is read; the cutting itself is reported as padding."""

TEXT_TYPE = re.compile(r"(VARCHAR|CHAR|BPCHAR|TEXT|STRING|ENUM)\b", re.IGNORECASE)
INTEGER_TYPE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|INT\d*)$", re.IGNORECASE)
FLOAT_TYPE = re.compile(r"(DOUBLE|FLOAT|REAL)$", re.IGNORECASE)
DECIMAL_TYPE = re.compile(r"(DECIMAL|NUMERIC)\b", re.IGNORECASE)
DATE_TYPE = re.compile(r"(DATE|TIMESTAMP|DATETIME)", re.IGNORECASE)


def one_of(texts: Iterable[str]) -> str:
    return "(" + ", ".join(literal(text) for text in texts) + ")"


def is_list(type_name: str) -> bool:
    return type_name.endswith("]")


def is_text(type_name: str) -> bool:
    return TEXT_TYPE.match(type_name) is not None and not is_list(type_name)


def is_integer(type_name: str) -> bool:
    return INTEGER_TYPE.match(type_name) is not None


def is_number(type_name: str) -> bool:
    if is_list(type_name):
        return False
    return is_integer(type_name) or FLOAT_TYPE.match(type_name) is not None or DECIMAL_TYPE.match(type_name) is not None


def is_date(type_name: str) -> bool:
    return DATE_TYPE.match(type_name) is not None and not is_list(type_name)


def as_text(column: str, type_name: str) -> str:
    """The column as VARCHAR; an ENUM compares as text only after a cast."""
    name = identifier(column)
    return f"CAST({name} AS VARCHAR)" if type_name.upper().startswith("ENUM") else name


BLANKS_PATTERN = r"[\s\x{00a0}\x{202f}\x{2007}\x{3000}\x{200b}\x{feff}]+"


def trimmed(column: str, type_name: str = "VARCHAR", *, all_blanks: bool = True) -> str:
    """The column without blanks at both ends; plain spaces only, or every kind of blank there is."""
    text = as_text(column, type_name)
    if not all_blanks:
        return f"trim({text})"
    return f"regexp_replace({text}, '^{BLANKS_PATTERN}|{BLANKS_PATTERN}$', '', 'g')"


def tried(
    connection: duckdb.DuckDBPyConnection, column: str, values: Sequence[str] | Sequence[int], expression: str
) -> list[str | None]:
    """What `expression` gives for each of `values`, in their order, cast to text."""
    if not values:
        return []
    kind = "BIGINT[]" if isinstance(values[0], int) else "VARCHAR[]"
    rows = connection.execute(
        f"SELECT CAST({expression} AS VARCHAR) FROM (SELECT unnest(CAST($1 AS {kind})) AS {identifier(column)})",
        [list(values)],
    ).fetchall()
    return [row[0] for row in rows]


FEW_DIFFERENT = 500
LONGEST = CUT_CHARACTERS - 1
"""A longer text is prose: only its beginning is looked at."""
COLUMNS_A_QUERY = 1_000

Value = object


@dataclass(frozen=True)
class Observed:
    """A column's counts over all rows and its different values with their counts over the rows that were looked at."""

    name: str
    type: str
    rows: int
    present: int
    """Rows that are not NULL, of all rows."""
    constant: bool
    """Whether all rows that are not NULL hold one value; exact."""
    padded: int
    null_words: int
    not_a_number: int
    values: tuple[tuple[Value, int], ...]
    looked_at: int
    """Rows behind `values`, NULLs not counted."""
    complete: bool
    """Whether `values` stands for every row."""

    def share(self, rows_found: int) -> Share:
        """The share of all rows, from a count over the rows behind `values`."""
        if not self.rows or not self.looked_at:
            return Share(0.0)
        part = rows_found / self.looked_at
        scale = self.present / self.rows
        error = 0.0 if self.complete else 1.96 * (max(part * (1 - part), 1 / self.looked_at) / self.looked_at) ** 0.5
        return Share(part * scale, error * scale)

    def exact(self, rows_found: int) -> Share:
        return Share(rows_found / self.rows if self.rows else 0.0)

    def bare_text(self) -> str:
        """The column's text without the blanks around it, written no longer than the column's dirt asks for."""
        padded = [(text.strip(" "), bare) for text, bare, _ in self.bare_texts if text != bare]
        if any(spaced != bare for spaced, bare in padded):
            return trimmed(self.name, self.type)
        if self.padded or padded:
            return trimmed(self.name, self.type, all_blanks=False)
        return as_text(self.name, self.type)

    def texts(self) -> list[tuple[str, int]]:
        return self._texts

    @cached_property
    def bare_texts(self) -> list[tuple[str, str, int]]:
        """Each text as it stands, without the blanks around it, and its count."""
        return [(text, text.strip(BLANKS), count) for text, count in self.texts()]

    @cached_property
    def _texts(self) -> list[tuple[str, int]]:
        return [(value, count) for value, count in self.values if isinstance(value, str)]


def dirt_aggregates(column: str, type_name: str) -> dict[str, str]:
    """The aggregates over all rows that tell of rare dirt which a sample misses, by the names in `Counts`."""
    if is_text(type_name):
        text = as_text(column, type_name)
        return {
            "padded": f"count_if({text} LIKE ' %' OR {text} LIKE '% ')",
            "null_words": f"count_if(CASE strlen({text}) {_by_length(text)} ELSE false END)",
        }
    if type_name.upper() in ("DOUBLE", "FLOAT", "REAL"):
        return {"not_a_number": f"count_if(isnan({identifier(column)}))"}
    return {}


def _by_length(text: str) -> str:
    """Cases of `strlen`: a text is compared with the few words of its own length, and long ones are not folded."""
    lengths: dict[int, list[str]] = {}
    for word in EVERYWHERE:
        lengths.setdefault(len(word.encode()), []).append(word)
    return " ".join(
        f"WHEN {length} THEN {'true' if words == [''] else f'lower({text}) IN {one_of(words)}'}"
        for length, words in sorted(lengths.items())
    )


def observe(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    sample: SampledRows,
    *,
    rows: int,
    counted: Mapping[str, Counts] | None = None,
) -> Iterator[Observed]:
    """Each column as observed. `counted`: what a profile has counted already."""
    for some in _batches(columns):
        sampled = {name: _different(sample.values.get(name, ())) for name, _ in some}
        counts = _counts(connection, relation, some, sampled if sample.complete else {}, counted or {})
        for name, type_name in some:
            values, complete = sampled[name], sample.complete
            if not complete and len(values) <= FEW_DIFFERENT:
                values, complete = _all_values(connection, relation, name, type_name, values)
            found = counts[name]
            yield Observed(
                name=name,
                type=type_name,
                rows=rows,
                present=found.present,
                constant=bool(found.constant),
                padded=found.padded or 0,
                null_words=found.null_words or 0,
                not_a_number=found.not_a_number or 0,
                values=tuple(values.items()),
                looked_at=sum(values.values()),
                complete=complete,
            )


def _different(values: Sequence[Value]) -> Counter[Value]:
    counter = Counter(values)
    counter.pop(None, None)
    return counter


def _batches(columns: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    for start in range(0, len(columns), COLUMNS_A_QUERY):
        yield columns[start : start + COLUMNS_A_QUERY]


def _counts(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    complete: Mapping[str, Counter[Value]],
    counted: Mapping[str, Counts],
) -> dict[str, Counts]:
    """From all values of a column where they are there, from what was counted already, else from the relation."""
    counts: dict[str, Counts] = {}
    missing = []
    for name, type_name in columns:
        known = counted.get(name)
        # Not all values are there of types that Python cannot hold, and of moments without end.
        if name in complete and value_sql(name, type_name) is not None and not is_date(type_name):
            counts[name] = _count_values(complete[name])
        elif known is not None and _suffices(known, type_name):
            counts[name] = known
        else:
            missing.append((name, type_name))
    return counts | _count(connection, relation, missing)


def _suffices(counts: Counts, type_name: str) -> bool:
    asked = dirt_aggregates("", type_name)
    return counts.constant is not None and all(getattr(counts, key) is not None for key in asked)


def _count_values(values: Counter[Value]) -> Counts:
    texts = [(value, count) for value, count in values.items() if isinstance(value, str)]
    return Counts(
        present=sum(values.values()),
        constant=len(values) == 1,
        padded=sum(count for text, count in texts if text[:1] == " " or text[-1:] == " "),
        not_a_number=sum(count for value, count in values.items() if isinstance(value, float) and math.isnan(value)),
    )


def _count(
    connection: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[tuple[str, str]]
) -> dict[str, Counts]:
    if not columns:
        return {}
    asked = []
    for name, kind in columns:
        column = identifier(name)
        own = {"present": f"count({column})", "constant": f"min({column}) = max({column})"}
        asked += [(name, key, sql) for key, sql in (own | dirt_aggregates(name, kind)).items()]
    (row,) = connection.execute(f"SELECT {', '.join(sql for _, _, sql in asked)} FROM {relation}").fetchall()
    found: dict[str, dict[str, Any]] = {name: {} for name, _ in columns}
    for (name, key, _), value in zip(asked, row, strict=True):
        found[name][key] = value
    return {name: Counts(**figures) for name, figures in found.items()}


def _all_values(
    connection: duckdb.DuckDBPyConnection, relation: str, name: str, type_name: str, sampled: Counter[Value]
) -> tuple[Counter[Value], bool]:
    readable = value_sql(name, type_name)
    if readable is None:
        return sampled, False
    limit = 4 * FEW_DIFFERENT
    found = connection.execute(
        f"SELECT {readable} AS value, count(*) FROM {relation} WHERE {identifier(name)} IS NOT NULL "
        f"GROUP BY value ORDER BY count(*) DESC, value LIMIT {limit + 1}"
    ).fetchall()
    if len(found) > limit:
        return sampled, False
    return Counter({value: count for value, count in found if value is not None}), True
