"""Candidates for what a text column holds, how its texts are read, and what its words are.

In: texts of a column and an expression. Out: `Candidate`s, what the expression gives for the texts, tokens, and the
places that texts name.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from duckdb import DuckDBPyConnection

from coset.sql_text import identifier, literal

Kind = Literal[
    "date", "number", "amount", "identifier", "place", "person", "url", "email", "phone", "key_value", "slot", "list",
    "other",
]  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """What might be read; `raw` gives the piece of text that was read, which is how two readings of it are told."""

    name: str
    kind: Kind
    expression: str
    type: str
    description: str
    weight: float
    """How much this kind of reading says beside another of the same text."""
    raw: str
    varied: bool = False
    """True where a reading that nearly always gives the same value is no reading."""


def escaped(text: str) -> str:
    """A piece of text as a pattern; blanks match any blanks."""
    return r"\s+".join(re.escape(word) for word in text.split())


def extract(column: str, pattern: str, group: int = 1) -> str:
    """The group of the first match, NULL where nothing matches."""
    return f"nullif(regexp_extract({column}, {literal(pattern)}, {group}), '')"


def trimmed(expression: str) -> str:
    return f"nullif(trim({expression}), '')"


def as_number(text: str, type: str = "DOUBLE", thousands: str = ",") -> str:
    """A number from text such as "1,234.50"."""
    return f"try_cast(replace({text}, {literal(thousands)}, '') AS {type})"


def first_of(expressions: Sequence[str]) -> str:
    """The first that is not NULL."""
    return expressions[0] if len(expressions) == 1 else f"coalesce({', '.join(expressions)})"


_LOOKED_AT = 1_000
_LOOKED_AT_LETTERS = 2_000
COPIED_LETTERS = 8_000_000
"""How much text is copied; a longer column is read from a sample."""
COPIED_ROWS = 50_000
LONGEST_TEXT = 20_000
"""Of a longer text the beginning is looked at."""
_SAMPLED_VALUES = 1_000
_SAMPLED_LETTERS = 300_000
_SAMPLED_LENGTH = 4_000

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Copy:
    table: str
    sample: str
    """A temporary table of `values`, in their order."""
    column: str
    """Quoted."""
    rows: int
    """How many rows were copied, those without a value included."""
    complete: bool
    cut: bool
    """True where a text was longer than what was looked at."""
    structured: bool
    """True where the texts are JSON or the like: their fields are another's work."""
    values: tuple[str, ...]


def read(connection: DuckDBPyConnection, relation: str, column: str, rows: int, seed: int) -> Copy | None:
    name = identifier(column)
    first = connection.execute(
        f"SELECT left({name}, {_LOOKED_AT_LETTERS}), length({name}) FROM {relation} "
        f"WHERE {name} IS NOT NULL AND {name} <> '' LIMIT {_LOOKED_AT}"
    ).fetchall()
    if not holds_text([value for value, _ in first]):
        return None
    mean = sum(min(length, LONGEST_TEXT) for _, length in first) / len(first)
    wanted = min(COPIED_ROWS, max(5_000, int(COPIED_LETTERS / max(mean, 1))))
    complete = rows <= wanted
    table, sample_table = (identifier(f"facets_{kind}_{uuid.uuid4().hex}") for kind in ("copy", "sample"))
    sample = "" if complete else f" USING SAMPLE reservoir({wanted} ROWS) REPEATABLE ({seed})"
    connection.execute(
        f"CREATE TEMP TABLE {table} AS SELECT left({name}, {LONGEST_TEXT}) AS {name} "
        f"FROM (SELECT {name} FROM {relation}){sample}"
    )
    try:
        counted = connection.execute(
            f"SELECT count(*), coalesce(bool_or(length({name}) >= {LONGEST_TEXT}), false) FROM {table}"
        ).fetchone()
        count = min(_SAMPLED_VALUES, max(150, int(_SAMPLED_LETTERS / max(min(mean, _SAMPLED_LENGTH), 1))))
        connection.execute(
            f"CREATE TEMP TABLE {sample_table} AS SELECT value AS {name} FROM (SELECT DISTINCT "
            f"left({name}, {_SAMPLED_LENGTH}) AS value FROM {table} WHERE trim({name}) <> '') "
            f"ORDER BY hash(value), value LIMIT {count}"
        )
        values = connection.execute(f"SELECT {name} FROM {sample_table} ORDER BY rowid").fetchall()
    except BaseException:
        _drop(connection, table, sample_table)
        raise
    copied, cut = counted or (0, False)
    texts = tuple(value for (value,) in values)
    return Copy(table, sample_table, name, copied, complete, cut, _is_structured(texts), texts)


def drop(connection: DuckDBPyConnection, copy: Copy) -> None:
    _drop(connection, copy.table, copy.sample)


def _drop(connection: DuckDBPyConnection, *tables: str) -> None:
    for table in tables:
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def holds_text(values: Sequence[str]) -> bool:
    """Whether values hold more than a name, a number or an identifier each."""
    distinct = set(values)
    if len(distinct) < 5:
        return False
    loose = sum(1 for value in distinct if re.search(r"\S[\s=;|]+\S", value) and re.search(r"[^\W\d_]{2}", value))
    words = sum(min(len(_WORD.findall(value)), 20) for value in distinct)
    return loose >= 0.2 * len(distinct) and words >= 2.5 * len(distinct)


def _is_structured(values: tuple[str, ...]) -> bool:
    some = values[:100]
    fields = 0
    for value in some:
        bare = value.strip()
        if bare[:1] in "{[" and bare[-1:] in "}]":
            fields += 1
        elif bare[:1] in ("{", "["):
            try:
                json.loads(bare)
                fields += 1
            except (ValueError, RecursionError):
                fields += bool(re.match(r"[{\[]\s*[\"'{\[]", bare))
    return fields >= 0.5 * len(some)


TOKEN = re.compile(r"\d[\d,.]*\d|\w+(?:['’\-]\w+)*|[^\w\s]|\n")

_SMALL = """
a about above after again all also am an and any are as at be because been before being below between both but by
can could did do does doing down during each few for from further had has have having he her here hers him his how
i if in into is it its itself just like me more most my no nor not now of off on once one only or other our out
over own s same she should so some t than that the their them then there these they this those through to too
under until up us very was we were what when where which while who whom why will with would you your
der die das den dem des ein eine einer eines und oder ist sind war mit von zu im am auf für
le la les un une des du de et ou est sont dans sur pour par avec
el los las una y o es son en con por para del al
"""
SMALL_WORDS = frozenset(_SMALL.split())
_MONTHS = "january february march april may june july august september october november december"
MONTH_WORDS = frozenset(_MONTHS.split()) | {month[:3] for month in _MONTHS.split()} | {"sept"}


class Token(NamedTuple):
    """A word, number or sign: as written, in lower case, and where it stands."""

    text: str
    lower: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha()

    @property
    def says_something(self) -> bool:
        return self.is_word and len(self.text) > 1 and self.lower not in SMALL_WORDS


def tokens(text: str) -> list[Token]:
    return [Token(word := match.group(), word.lower(), *match.span()) for match in TOKEN.finditer(text)]


def _names(text: str) -> list[str]:
    return text.split("|") if "|" in text else text.split()


STATE_CODES = _names(
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC PR ON QC BC AB MB SK NS NB NL PE"
)
_STATES = _names(
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|"
    "Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|"
    "Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|"
    "Oregon|Pennsylvania|Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|"
    "West Virginia|Wisconsin|Wyoming|Ontario|Quebec|British Columbia|Alberta|Manitoba|Bavaria|Scotland|Wales|England"
)
_COUNTRIES = _names(
    "Afghanistan|Albania|Algeria|Argentina|Armenia|Australia|Austria|Azerbaijan|Bahrain|Bangladesh|Belarus|Belgium|"
    "Bolivia|Bosnia|Botswana|Brazil|Bulgaria|Cambodia|Cameroon|Canada|Chile|China|Colombia|Costa Rica|Croatia|Cuba|"
    "Cyprus|Czech Republic|Czechia|Denmark|Dominican Republic|Ecuador|Egypt|Estonia|Ethiopia|Finland|France|Germany|"
    "Ghana|Greece|Guatemala|Honduras|Hong Kong|Hungary|Iceland|India|Indonesia|Iran|Iraq|Ireland|Israel|Italy|Jamaica|"
    "Japan|Jordan|Kazakhstan|Kenya|Kuwait|Latvia|Lebanon|Liechtenstein|Lithuania|Luxembourg|Malaysia|Malta|Mexico|"
    "Moldova|Monaco|Mongolia|Morocco|Mozambique|Myanmar|Namibia|Nepal|Netherlands|New Zealand|Nicaragua|Nigeria|"
    "North Korea|Norway|Oman|Pakistan|Panama|Paraguay|Peru|Philippines|Poland|Portugal|Qatar|Romania|Russia|Rwanda|"
    "Saudi Arabia|Senegal|Serbia|Singapore|Slovakia|Slovenia|South Africa|South Korea|Spain|Sri Lanka|Sudan|Sweden|"
    "Switzerland|Syria|Taiwan|Tanzania|Thailand|Tunisia|Turkey|Uganda|Ukraine|United Arab Emirates|United Kingdom|"
    "United States|Uruguay|USA|UK|Uzbekistan|Venezuela|Vietnam|Yemen|Zambia|Zimbabwe|Deutschland|Schweiz|Österreich"
)
_REGIONS = frozenset(_STATES) | frozenset(_COUNTRIES)

_NAME = r"(?:(?:St|Ste|Mt|Ft)\. )?\p{Lu}[\p{L}'’\-]+(?: (?:de|of|la|am|\p{Lu}[\p{L}'’\-]+)){0,3}"
_CODES = "|".join(STATE_CODES)
_TOWN_AND_CODE = rf"({_NAME}),\s+({_CODES})\b(?:,?\s+(\d{{5}})\b)?"
_TOWN_AND_REGION = rf"\b(?:in|near|from|at|of|to|,)\s+({_NAME}),\s+({_NAME})"
_SITUATED = (
    r"(?:located|based|headquartered|situated|born|lives|residing|resides)\s+(?:in|at|near)\s+(?:the\s+)?"
    rf"({_NAME}(?:,\s+{_NAME})?)"
)


def place_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    return [
        *_towns_with_codes(column, values, floor),
        *_towns_with_regions(column, values, floor),
        *_situated(column, values, floor),
    ]


def _matches(pattern: str, values: Sequence[str]) -> list[re.Match[str]]:
    # Python's expressions have no \p{..}; the sample only decides, the measured expression is RE2's.
    compiled = re.compile(pattern.replace(r"[\p{L}'’\-]", r"(?:[^\W\d_]|['’\-])").replace(r"\p{Lu}", "[A-ZÀ-ÖØ-ÞŠŽŁ]"))
    return [match for match in map(compiled.search, values) if match]


def _towns_with_codes(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    matches = _matches(_TOWN_AND_CODE, values)
    if len(matches) < floor:
        return []
    raw = extract(column, _TOWN_AND_CODE, 0)
    found = [
        _place(column, "city", _TOWN_AND_CODE, 1, 'the town in the first "Town, ST"', 0.93),
        _place(column, "state", _TOWN_AND_CODE, 2, 'the state in the first "Town, ST"', 0.96),
    ]
    if sum(match.group(3) is not None for match in matches) >= floor:
        words = 'the postal code in the first "Town, ST 12345"'
        expression = extract(column, _TOWN_AND_CODE, 3)
        found.append(Candidate("postal code", "place", expression, "VARCHAR", words, 0.92, expression))
    return [*found, Candidate("town and state", "place", raw, "VARCHAR", 'the first "Town, ST"', 0.5, raw)]


def _towns_with_regions(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    matches = _matches(_TOWN_AND_REGION, values)
    known = sum(_region(match.group(2)) for match in matches)
    if known < floor or known < 0.6 * len(matches):
        return []
    return [
        _place(column, "town", _TOWN_AND_REGION, 1, 'the town in the first "in Town, Region"', 0.93),
        _place(column, "region", _TOWN_AND_REGION, 2, 'the state or country in the first "in Town, Region"', 0.95),
    ]


def _region(name: str) -> bool:
    words = name.rstrip(".").split()
    return any(" ".join(words[:length]) in _REGIONS for length in range(1, len(words) + 1))


def _situated(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    if len(_matches(_SITUATED, values)) < floor:
        return []
    return [_place(column, "situated in", _SITUATED, 1, 'the name after "located in", "based in" or the like', 0.9)]


def _place(column: str, name: str, pattern: str, group: int, words: str, weight: float) -> Candidate:
    expression = f"rtrim({extract(column, pattern, group)}, '.')"
    return Candidate(name, "place", expression, "VARCHAR", words, weight, extract(column, pattern, group))
