"""Signs that several rows of a table are one real entity.

In: a relation with its columns. Out: `DuplicateSigns`, or None when nothing speaks for it. Two signs are looked for:
rows whose names are equal once case, punctuation, accents, the order of words and legal suffixes are set aside, and
rows whose names are nearly equal. Neither is believed alone. Repetition is natural in tables of events: there one name
comes back in the same spelling with other dates and amounts. Copies of an entity come back in other spellings, or agree
in the other columns far more often than rows picked at random do. Nothing here knows what the entity is.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb
from rapidfuzz import fuzz

from coset.evidence.quality.observed import as_text, is_date, is_number, is_text
from coset.evidence.sampled_rows import SampledRows, sampled_rows
from coset.sql_text import identifier, literal
from coset.state.objects import DuplicateSigns, Share

LEAST_ROWS = 10
LOOK_ROWS = 2_000
STUDIED_ROWS = 5_000
"""Larger tables are studied on whole blocks of rows that begin alike, so that copies stay together."""
COUNTED_ROWS = 300_000
"""Up to here the clusters are counted over every row."""
LONGEST = 200
PAIRS = 500
CHANCE_PAIRS = 200
MOST_COLUMNS = 40
NEAR = 90.0
_SUFFIX = (
    "inc|incorporated|ltd|limited|llc|llp|plc|gmbh|ag|kg|sa|sas|sarl|srl|spa|corp|corporation|co|company|bv|nv|oy|ab"
    "|as|aps|pty|pvt|holdings?"
)


@dataclass(frozen=True)
class _Column:
    name: str
    type: str
    filled: float
    different: float
    """Different values for each filled row looked at."""
    length: float
    name_like: bool


@dataclass(frozen=True)
class _Agreement:
    column: str
    inside: float
    by_chance: float
    pairs: int
    moment: bool

    @property
    def lift(self) -> float:
        return (self.inside - self.by_chance) / (1 - self.by_chance) if self.by_chance < 1 else 0.0


@dataclass(frozen=True)
class _Studied:
    columns: tuple[_Column, ...]
    rows: list[tuple[str | None, ...]]
    complete: bool
    seed: int

    @cached_property
    def by_chance(self) -> tuple[float, ...]:
        """For each column, how often two rows picked at random agree."""
        chance = random.Random(self.seed)  # noqa: S311 - a seeded sample
        shares = []
        for column in range(len(self.columns)):
            filled = [cell for row in self.rows if (cell := row[column + 1])]
            if len(filled) < 2:
                shares.append(1.0)
                continue
            numbers = chance.choices(range(len(filled)), k=2 * CHANCE_PAIRS)
            pairs = [
                (filled[one], filled[two]) for one, two in zip(numbers[::2], numbers[1::2], strict=True) if one != two
            ]
            shares.append(sum(one == two or _alike(one, two) for one, two in pairs) / max(1, len(pairs)))
        return tuple(shares)


def normalised(columns: Sequence[tuple[str, str]], *, suffixes: bool = False) -> str:
    """A text without case, accents, punctuation, word order and, when asked for, legal suffixes; NULL when empty."""
    keys = []
    for name, kind in columns:
        plain = (
            f"replace(regexp_replace(strip_accents(lower({as_text(name, kind)})), '[''’`.]', '', 'g'), '&', ' and ')"
        )
        words = rf"trim(regexp_replace({plain}, '[^\pL\pN]+', ' ', 'g'))"
        if suffixes:
            words = f"regexp_replace({words}, {literal(f'( ({_SUFFIX}))+$')}, '')"
        keys.append(f"nullif(array_to_string(list_sort(string_split({words}, ' ')), ' '), '')")
    # Words change places within a column, not between columns: home and away are not one pair.
    return " || ' | ' || ".join(keys)


def find_duplicates(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    *,
    rows: int,
    seed: int = 0,
    sample: SampledRows | None = None,
) -> DuplicateSigns | None:
    """`sample`: sampled rows of the relation, where there are some already."""
    if rows < LEAST_ROWS:
        return None
    usable = [(name, kind) for name, kind in columns if is_text(kind) or is_number(kind) or is_date(kind)][
        :MOST_COLUMNS
    ]
    if not any(is_text(kind) for _, kind in usable):
        return None
    looked = _look(sample or sampled_rows(connection, relation, usable, rows=rows, seed=seed), usable, seed)
    candidates = _candidates(looked)
    # A large table is read once for each try.
    for names in candidates if rows <= STUDIED_ROWS else candidates[:2]:
        studied = _study(connection, relation, looked, names, rows, seed)
        signs = _judge(connection, relation, studied, names, rows, seed)
        if signs is not None:
            return signs
    return None


# --------------------------------------------------------------------------------------------------------------------
# Which columns name the entity
# --------------------------------------------------------------------------------------------------------------------


def _cell(name: str, kind: str) -> str:
    text = as_text(name, kind) if is_text(kind) else f"CAST({identifier(name)} AS VARCHAR)"
    return f"left({text}, {LONGEST})" if is_text(kind) else text


def _look(sample: SampledRows, columns: Sequence[tuple[str, str]], seed: int) -> list[_Column]:
    looked = []
    for name, kind in columns:
        values = [text[:LONGEST] for text in sample.some_texts(name, LOOK_ROWS, seed) if text]
        if not values:
            continue
        looked.append(
            _Column(
                name,
                kind,
                filled=len(values) / max(1, min(sample.rows, LOOK_ROWS)),
                different=len(set(values)) / len(values),
                length=sum(map(len, values)) / len(values),
                name_like=is_text(kind) and _reads_as_names(values),
            )
        )
    return looked


def _reads_as_names(values: Sequence[str]) -> bool:
    """Whether most values are words that could name something: letters outweigh digits, no addresses of machines."""
    good = 0
    values = values[:300]
    for value in values:
        letters = sum(map(str.isalpha, value))
        digits = sum(map(str.isdigit, value))
        code = " " not in value and digits > 0
        if (
            letters >= 3
            and letters > 2 * digits
            and not code
            and "@" not in value
            and "://" not in value
            and value[0] not in "{["
        ):
            good += 1
    return good >= 0.6 * len(values)


def _candidates(looked: Sequence[_Column]) -> list[tuple[_Column, ...]]:
    """Sets of columns that may name the entity, likeliest first. Prose names nothing; a category names too many."""
    names = [column for column in looked if column.name_like and column.filled >= 0.5 and 3 <= column.length <= 80]
    single = sorted(
        (column for column in names if column.different >= 0.3), key=lambda column: (-column.different, column.length)
    )
    # A first and a last name are a name together only: both short, neither telling rows apart by itself.
    parts = [column for column in names if 0.02 <= column.different < 0.95 and column.length <= 25]
    pairs = [(one, two) for number, one in enumerate(parts) for two in parts[number + 1 :]]
    pairs.sort(key=lambda pair: -min(pair[0].different, pair[1].different))
    strong = [(column,) for column in single if column.different >= 0.8]
    weak = [(column,) for column in single if column.different < 0.8]
    return [*strong[:2], *pairs[:1], *weak[:1]][:4]


# --------------------------------------------------------------------------------------------------------------------
# Do rows with one name agree in the rest?
# --------------------------------------------------------------------------------------------------------------------


def _study(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    looked: Sequence[_Column],
    names: tuple[_Column, ...],
    rows: int,
    seed: int,
) -> _Studied:
    """The rows to compare: their normalised key, then the cells of all columns."""
    key = normalised([(column.name, column.type) for column in names], suffixes=True)
    cells = ", ".join(f"{_cell(column.name, column.type)} AS c{number}" for number, column in enumerate(looked))
    where = ""
    complete = rows <= STUDIED_ROWS
    if not complete:
        # Rows that begin alike are kept together: a plain sample would tear most pairs of copies apart.
        start = f"lower(left(ltrim({as_text(names[0].name, names[0].type)}, ' #-0123456789.('), 4))"
        where = f"WHERE hash({start}) % {max(2, round(rows / STUDIED_ROWS))} = 0"
    # The key is computed over the kept rows only, and over the beginning of a name: a cell may be a whole book.
    cut = ", ".join(
        f"left({as_text(column.name, column.type)}, {LONGEST}) AS {identifier(column.name)}" for column in names
    )
    kept = f"SELECT * REPLACE ({cut}) FROM {relation} {where} LIMIT {2 * STUDIED_ROWS}"
    statement = f"SELECT {key} AS entity_key, {cells} FROM ({kept})"
    return _Studied(tuple(looked), connection.execute(statement).fetchall(), complete, seed)


def _judge(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    studied: _Studied,
    names: tuple[_Column, ...],
    rows: int,
    seed: int,
) -> DuplicateSigns | None:
    chosen = {column.name for column in names}
    others = [
        number
        for number, column in enumerate(studied.columns)
        # What is different in every row identifies the row, not the entity; what hardly varies says nothing.
        if column.name not in chosen and column.filled >= 0.1 and not _is_key(column, studied, number)
    ]
    label = [number for number, column in enumerate(studied.columns) if column.name in chosen]
    clusters = _clusters(studied.rows, [])
    extra: tuple[int, ...] = ()
    agreements = _agreements(studied, clusters, others, seed) if clusters else []
    if clusters and not _are_copies(studied, clusters, agreements, label):
        # One name may be several entities (one title, several authors): then the name together with the text that
        # agrees best is tried.
        clusters, extra, agreements = _narrowed(studied, others, agreements, label, seed)
    near = _near(studied, others)
    if not clusters and not near:
        return None
    return _signs(connection, relation, studied, names, extra, clusters, near, agreements, label, rows)


def _is_key(column: _Column, studied: _Studied, number: int) -> bool:
    values = [cell for row in studied.rows if (cell := row[number + 1])]
    return (
        len(values) >= 10
        and len(set(values)) >= 0.995 * len(values)
        and not is_date(column.type)
        and "." not in values[0]
    )


def _fold(value: str) -> str:
    return " ".join(sorted(re.findall(r"\w+", value.lower())))


def _clusters(rows: Sequence[tuple[str | None, ...]], extra: Iterable[int]) -> list[list[int]]:
    extra = list(extra)
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        if row[0] is None or len(row[0]) < 3:
            continue
        cells = [row[column + 1] for column in extra]
        if all(cells):
            groups[(row[0], *(_fold(cell) for cell in cells if cell))].append(number)
    return [group for group in groups.values() if len(group) > 1]


def _agreements(
    studied: _Studied, clusters: Sequence[Sequence[int]], others: Sequence[int], seed: int
) -> list[_Agreement]:
    chance = random.Random(seed)  # noqa: S311 - a seeded sample
    inside = [(group[0], other) for group in clusters for other in group[1:6]]
    chance.shuffle(inside)
    found = []
    for column in others:
        same, compared = _same(studied.rows, inside[:PAIRS], column)
        by_chance = studied.by_chance[column]
        # A column that agrees everywhere can neither speak for copies nor against them.
        if compared >= max(1, 0.1 * len(inside[:PAIRS])) and by_chance < 0.7:
            about = studied.columns[column]
            moment = (
                is_date(about.type)
                or (is_number(about.type) and about.different > 0.3)
                or _written_moment(studied, column)
            )
            found.append(_Agreement(about.name, same / compared, by_chance, compared, moment))
    return found


_MOMENT = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{1,2}:\d{2}.*")


def _written_moment(studied: _Studied, column: int) -> bool:
    values = [row[column + 1] for row in studied.rows[:50] if row[column + 1]]
    return bool(values) and sum(_MOMENT.fullmatch(value or "") is not None for value in values) > 0.8 * len(values)


def _same(rows: Sequence[tuple[str | None, ...]], pairs: Iterable[tuple[int, int]], column: int) -> tuple[int, int]:
    same = compared = 0
    for one, two in pairs:
        left, right = rows[one][column + 1], rows[two][column + 1]
        if left and right:
            compared += 1
            same += left == right or _alike(left, right)
    return same, compared


def _alike(left: str, right: str) -> bool:
    if left.lower() == right.lower():
        return True
    if len(left) < 4 or len(right) < 4 or any(map(str.isdigit, left + right)):
        return False
    return fuzz.token_set_ratio(left.lower(), right.lower(), score_cutoff=88) >= 88


def _are_copies(
    studied: _Studied, clusters: Sequence[Sequence[int]], agreements: Sequence[_Agreement], label: Sequence[int]
) -> bool:
    rows_inside = sum(map(len, clusters))
    spelt = [
        len({tuple(studied.rows[number][column + 1] for column in label) for number in group}) for group in clusters
    ]
    varied = sum(count > 1 for count in spelt) / len(clusters)
    rows_a_spelling = rows_inside / sum(spelt)
    against = [each for each in agreements if each.lift < 0.35]
    in_favour = [each for each in agreements if each.lift >= 0.6]
    events = [each for each in against if each.moment]
    if rows_a_spelling > 2.5 and varied < 0.9:
        return False  # one spelling comes back again and again: the name of something else that the rows are about
    if varied >= 0.5:
        # Several spellings speak for themselves, unless the rows are events of one thing. A column in which random rows
        # hardly ever agree weighs more than others that differ, which the copies may write in other ways too.
        if not agreements:
            return rows_a_spelling <= 1.3 and len(clusters) >= 2
        decisive = any(each.by_chance < 0.05 and each.lift >= 0.8 and each.pairs >= 3 for each in in_favour)
        return len(in_favour) > 0 and (len(in_favour) >= len(against) or (decisive and not events))
    if events and rows_a_spelling > 1.3:
        return False
    exact_copies = len(in_favour) >= 2 and len(in_favour) > 2 * len(against) and not events
    # Where much repeats exactly and nothing is spelt otherwise, repetition is how the table is.
    return exact_copies and rows_inside <= 0.5 * len(studied.rows) and _hardly_by_chance(agreements)


def _hardly_by_chance(agreements: Sequence[_Agreement]) -> bool:
    """Whether the columns that agree are telling: at least two in which random rows seldom agree."""
    return sum(each.by_chance < 0.2 and each.lift >= 0.6 for each in agreements) >= 2


def _narrowed(
    studied: _Studied, others: Sequence[int], agreements: Sequence[_Agreement], label: Sequence[int], seed: int
) -> tuple[list[list[int]], tuple[int, ...], list[_Agreement]]:
    numbers = {studied.columns[number].name: number for number in others}
    telling = [
        each
        for each in sorted(agreements, key=lambda each: -each.lift)
        if each.by_chance < 0.1 and each.lift >= 0.2 and studied.columns[numbers[each.column]].name_like
    ]
    for each in telling[:2]:
        extra = (numbers[each.column],)
        clusters = _clusters(studied.rows, extra)
        rest = _agreements(studied, clusters, [number for number in others if number not in extra], seed)
        if clusters and _are_copies(studied, clusters, rest, label):
            return clusters, extra, rest
    return [], (), list(agreements)


# --------------------------------------------------------------------------------------------------------------------
# Nearly equal names
# --------------------------------------------------------------------------------------------------------------------


def _near(studied: _Studied, others: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of rows whose names are nearly the same and whose telling columns agree."""
    first_row: dict[str, int] = {}
    for number, row in enumerate(studied.rows):
        if row[0] and len(row[0]) >= 6:
            first_row.setdefault(row[0], number)
    keys = list(first_row)
    alike = _alike_keys(keys) if len(keys) >= LEAST_ROWS else []
    if len(alike) < _least_near(studied):
        return []
    telling = [column for column in others if studied.by_chance[column] < 0.2 and studied.columns[column].filled >= 0.3]
    if not telling:
        return []
    found = []
    for one, two in alike:
        left, right = first_row[one], first_row[two]
        cells = [(studied.rows[left][column + 1], studied.rows[right][column + 1]) for column in telling]
        compared_cells = [(a, b) for a, b in cells if a and b]
        agreeing = sum(a == b or _alike(a, b) for a, b in compared_cells)
        if compared_cells and agreeing >= max(1, 0.6 * len(compared_cells)):
            found.append((left, right))
    return found if len(found) >= _least_near(studied) else []


def _least_near(studied: _Studied) -> float:
    """Fewer pairs than this can be coincidence."""
    return max(3, 0.002 * len(studied.rows))


def _alike_keys(keys: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of keys that nearly agree, found among those that share a seldom word or a beginning."""
    words = [key.split() for key in keys]
    frequency = Counter(word for each in words for word in set(each))
    blocks: defaultdict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(words):
        seldom = sorted({word for word in each if len(word) > 2}, key=lambda word: (frequency[word], word))[:3]
        for word in seldom:
            blocks[word].append(number)
            blocks["^" + word[:4]].append(number)
    seen: set[tuple[int, int]] = set()
    found = []
    for block in blocks.values():
        if len(block) > 40:
            continue
        for place, one in enumerate(block):
            for two in block[place + 1 :]:
                pair = (one, two) if one < two else (two, one)
                if one == two or pair in seen:
                    continue
                seen.add(pair)
                if fuzz.ratio(keys[one], keys[two], score_cutoff=NEAR) >= NEAR and _only_misspelt(
                    words[one], words[two]
                ):
                    found.append((keys[pair[0]], keys[pair[1]]))
        if len(seen) > 200_000:
            break
    return found


_ORDINALS = frozenset(
    (*"i ii iii iv v vi vii viii ix x one two three four five six".split(),  # noqa: SIM905
     *"first second third north south east west new old left right".split())  # noqa: SIM905
)  # fmt: skip


def _only_misspelt(one: Sequence[str], two: Sequence[str]) -> bool:
    """Whether the words that differ could be one word misspelt; numbers, letters and ordinals tell things apart."""
    left, right = Counter(one) - Counter(two), Counter(two) - Counter(one)
    for word in (*left, *right):
        if len(word) <= 2 or word in _ORDINALS or any(letter.isdigit() for letter in word):
            return False
    if not left or not right:
        return True
    joined_left, joined_right = "".join(sorted(left)), "".join(sorted(right))
    return fuzz.ratio(joined_left, joined_right) >= 75


# --------------------------------------------------------------------------------------------------------------------
# What is handed on
# --------------------------------------------------------------------------------------------------------------------


def _signs(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    studied: _Studied,
    names: tuple[_Column, ...],
    extra: tuple[int, ...],
    clusters: list[list[int]],
    near: list[tuple[int, int]],
    agreements: Sequence[_Agreement],
    label: Sequence[int],
    rows: int,
) -> DuplicateSigns:
    named = [(column.name, column.type) for column in names]
    added = [studied.columns[number] for number in extra]

    def key_of(suffixes: bool) -> str:
        parts = [normalised(named, suffixes=suffixes)] + [normalised([(column.name, column.type)]) for column in added]
        return " || ' | ' || ".join(parts)

    # The shorter expression is handed on when the suffixes make no difference.
    raw = [" ".join(filter(None, (row[column + 1] for column in label))) for row in studied.rows]
    ending = re.compile(rf"[ ,]({_SUFFIX})\.?$", re.IGNORECASE)
    key = key_of(any(ending.search(text) for group in clusters for text in (raw[number] for number in group)))
    counted_all = rows <= COUNTED_ROWS
    if counted_all:
        spelling = "concat_ws(' ', " + ", ".join(as_text(name, kind) for name, kind in named) + ")"
        ((cluster_count, row_count, varied_count),) = connection.execute(
            "SELECT count(*), coalesce(sum(size), 0), count_if(spellings > 1) "
            f"FROM (SELECT count(*) AS size, count(DISTINCT {spelling}) AS spellings "
            f"FROM {relation} WHERE ({key}) IS NOT NULL GROUP BY {key} HAVING count(*) > 1)"
        ).fetchall()
        total = rows
    else:
        cluster_count, row_count, total = len(clusters), sum(map(len, clusters)), len(studied.rows)
        varied_count = sum(len({raw[number] for number in group}) > 1 for group in clusters)
    if not clusters:
        cluster_count = row_count = varied_count = 0
    near_rows = len({number for pair in near for number in pair})
    part = row_count / total if total else 0.0
    columns = tuple(name for name, _ in named) + tuple(column.name for column in added)
    in_favour = tuple(
        (each.column, round(each.inside, 3))
        for each in sorted(agreements, key=lambda each: -each.lift)
        if each.lift >= 0.5
    )
    shown = sorted(clusters, key=lambda group: -len({raw[number] for number in group}))[:5]
    return DuplicateSigns(
        columns=columns,
        key=key,
        clusters=int(cluster_count),
        rows=int(row_count),
        share=Share(part, 0.0 if counted_all else _error(part, len(clusters), total)),
        variants=Share(
            varied_count / cluster_count if cluster_count else 0.0,
            0.0 if counted_all else _error(0.5, 1, max(1, cluster_count)),
        ),
        near_pairs=tuple((raw[one], raw[two]) for one, two in near[:20]),
        near=Share(
            near_rows / len(studied.rows),
            0.0 if studied.complete else _error(near_rows / len(studied.rows), near_rows, len(studied.rows)),
        ),
        corroborating=in_favour,
        examples=tuple(tuple(raw[number] for number in group[:5]) for group in shown),
        detail=_detail(columns, int(cluster_count), int(row_count), total, near_rows, in_favour),
    )


def _error(part: float, clusters: int, rows: int) -> float:
    """The half-width of the 95 % interval; rows come in blocks, so it is taken twice as wide as for single rows."""
    return float(2 * 1.96 * (max(part * (1 - part), 1 / rows) / rows) ** 0.5)


def _detail(
    columns: Sequence[str], clusters: int, rows: int, total: int, near_rows: int, in_favour: Sequence[tuple[str, float]]
) -> str:
    said = []
    if clusters:
        said.append(
            f"{rows:,} of {total:,} rows share their normalised {' and '.join(columns)} with another row"
            f" ({clusters:,} groups)"
        )
    if near_rows:
        said.append(f"{near_rows:,} rows have a partner of nearly the same {columns[0]}")
    detail = "; ".join(said)
    if in_favour:
        detail += "; they agree in " + ", ".join(f"{name} ({share:.0%})" for name, share in in_favour[:4])
    return detail[:1].upper() + detail[1:] + ", so several rows may be one entity."
