"""Step: dirt in plain columns whose every row is known: null tokens, mixed dates and units, stale counters, and more.

Each kind looks for columns that have none of it by nature, so that the planned count is the count. Every diagnostic
states the condition that finds its rows and the expression that gives the clean values back.
"""

from __future__ import annotations

import datetime
import random
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

from .clean import Value
from .draft import Draft, DraftColumn, DraftTable, Planted
from .key_forms import write_day
from .options import Options
from .sql import literal
from .words import split_words

NULL_TOKENS = ("N/A", "None", "[Not Available]", "-", "null", "n/a", "unknown", "?", "TBD", "#N/A")
SENTINELS = (-1, 999, 9999, -999, 99999)
SENTINEL_DAYS = (datetime.date(1900, 1, 1), datetime.date(9999, 12, 31))
DAY_FORMATS = {
    "%Y-%m-%d": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "%d.%m.%Y": r"[0-9]{2}\.[0-9]{2}\.[0-9]{4}",
    "%m/%d/%Y": "[0-9]{2}/[0-9]{2}/[0-9]{4}",
    "%b %d, %Y": "[A-Z][a-z]{2} [0-9]{2}, [0-9]{4}",
    "%Y%m%d": "[0-9]{8}",
}
UNITS: dict[str, tuple[str, str, int | Decimal]] = {
    "weight": ("kg", "g", 1000), "kg": ("kg", "g", 1000), "mass": ("kg", "g", 1000), "tonnes": ("t", "kg", 1000),
    "minutes": ("min", "s", 60), "duration": ("min", "s", 60), "height": ("m", "cm", 100), "length": ("m", "cm", 100),
    "distance": ("km", "m", 1000), "price": ("EUR", "ct", 100), "amount": ("EUR", "ct", 100),
    "salary": ("EUR", "kEUR", Decimal("0.001")), "cost": ("EUR", "ct", 100), "limit": ("EUR", "kEUR", Decimal("0.001")),
    "total": ("EUR", "ct", 100),
}  # fmt: skip
Planter = Callable[[DraftColumn, random.Random, Options], Planted | None]


def plant_diagnostics(draft: Draft, options: Options) -> None:
    planters: tuple[tuple[str, int, Planter], ...] = (
        ("mixed_date_formats", options.mixed_dates, _mix_dates),
        ("mixed_units", options.mixed_units, _mix_units),
        ("sentinel", options.sentinels, _plant_sentinels),
        ("mixed_case", options.mixed_case, _mix_case),
        ("padding", options.padding, _pad),
        ("stray_characters", options.stray_characters, _add_stray_characters),
        ("null_tokens", options.null_tokens, _write_null_tokens),
    )
    for kind, wanted, planter in planters:
        rng = draft.chance("diagnostics", kind)
        for column in rng.sample(columns := _candidates(draft), len(columns)):
            if not wanted:
                break
            before, kept_type = list(column.values), column.type
            planted = planter(column, rng, options)
            if planted is None:
                column.values, column.type = before, kept_type
                continue
            column.is_busy = True
            draft.planted.append(planted)
            wanted -= 1
    _add_counters(draft, options)
    _add_dead_columns(draft, options)


def _candidates(draft: Draft) -> list[DraftColumn]:
    return [column for column in draft.columns if column.is_plain and column.table.rows >= 20 and any_known(column)]


def any_known(column: DraftColumn) -> bool:
    return any(value is not None for value in column.values)


def _rows(column: DraftColumn, rng: random.Random, share: float) -> list[int]:
    known = [row for row, value in enumerate(column.values) if value is not None]
    return sorted(rng.sample(known, min(len(known), max(1, round(len(known) * share)))))


def _as_text(value: Value) -> str:
    return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value)


def _texts(column: DraftColumn) -> list[str]:
    return [value for value in column.values if isinstance(value, str)]


def _write_null_tokens(column: DraftColumn, rng: random.Random, options: Options) -> Planted | None:
    lowered = {_as_text(value).strip().lower() for value in column.values if value is not None}
    if column.type not in {"text", "integer", "real"} or lowered & {token.lower() for token in NULL_TOKENS}:
        return None
    tokens = rng.sample(NULL_TOKENS, rng.randrange(1, 4))
    if len({token.lower() for token in tokens}) < len(tokens):
        tokens = tokens[:1]
    nulls = [row for row, value in enumerate(column.values) if value is None and rng.random() < 0.7]
    rows = {*nulls, *_rows(column, rng, options.diagnostic_rows / (4 if nulls else 1))}
    column.values = [None if value is None else _as_text(value) for value in column.values]
    column.type = "text"
    counts: Counter[str] = Counter()
    for row in sorted(rows):
        token = rng.choice(tokens)
        column.values[row] = token
        counts[token] += 1
    items = tuple((token, count, f"{{}} = {literal(token)}") for token, count in sorted(counts.items()))
    listed = ", ".join(literal(token) for token in sorted(counts))
    clean = [None if value in counts else value for value in column.values]
    return Planted("null_tokens", column, items, _cleaned(f"CASE WHEN {{}} NOT IN ({listed}) THEN {{}} END", clean))


def _cleaned(expression: str, clean: list[Value]) -> dict[str, object]:
    return {"expression": expression, "clean": clean}


def _mix_dates(column: DraftColumn, rng: random.Random, options: Options) -> Planted | None:
    if column.type not in {"date", "timestamp"}:
        return None
    days = [value for value in column.values if isinstance(value, datetime.date)]
    if any(day.year < 1000 or (isinstance(day, datetime.datetime) and (day.second or day.microsecond)) for day in days):
        return None
    clock, clock_pattern = (" %H:%M", " [0-9]{2}:[0-9]{2}") if column.type == "timestamp" else ("", "")
    forms = rng.sample(sorted(DAY_FORMATS), rng.randrange(2, 4))
    weights = [rng.uniform(0.15, 1) for _ in forms]
    counts: Counter[str] = Counter()
    values: list[Value] = []
    clean: list[Value] = []
    for value in column.values:
        if not isinstance(value, datetime.date):
            values.append(None)
            clean.append(None)
            continue
        form = rng.choices(forms, weights)[0]
        values.append(write_day(value, form + clock))
        clean.append(value.strftime("%Y-%m-%d %H:%M:%S"))
        counts[form] += 1
    if len(counts) < 2:
        return None
    column.values, column.type = values, "text"
    items = tuple(
        (form + clock, count, f"regexp_full_match({{}}, {literal(DAY_FORMATS[form] + clock_pattern)})")
        for form, count in sorted(counts.items())
    )
    parsed = ", ".join(f"try_strptime({{}}, {literal(form + clock)})" for form in sorted(counts))
    return Planted(
        "mixed_date_formats", column, items, _cleaned(f"strftime(coalesce({parsed}), '%Y-%m-%d %H:%M:%S')", clean)
    )


def _mix_units(column: DraftColumn, rng: random.Random, options: Options) -> Planted | None:
    named = [UNITS[word] for word in split_words(column.canonical_name) if word in UNITS]
    if column.type not in {"real", "integer"} or not (named or column.type == "real"):
        return None
    unit, other, factor = named[0] if named else ("m", "cm", 100)
    rows = set(_rows(column, rng, options.diagnostic_rows))
    values: list[Value] = []
    counts: Counter[str] = Counter()
    for row, value in enumerate(column.values):
        if value is None:
            values.append(None)
            continue
        number = Decimal(repr(value))
        written = number * Decimal(factor) if row in rows else number
        values.append(f"{_plain_number(written)} {other if row in rows else unit}")
        counts[other if row in rows else unit] += 1
    if len(counts) < 2:
        return None
    clean: list[Value] = [None if value is None else float(value) for value in column.values]  # type: ignore[arg-type]
    column.values, column.type = values, "text"
    items = tuple(
        (name, count, f"regexp_full_match({{}}, {literal(f'-?[0-9.]+ {name}')})")
        for name, count in sorted(counts.items())
    )
    number_sql = "try_cast(split_part({}, ' ', 1) AS DOUBLE)"
    expression = (
        f"CASE WHEN split_part({{}}, ' ', 2) = {literal(other)} THEN {number_sql} / {factor} ELSE {number_sql} END"
    )
    parameters = {**_cleaned(expression, clean), "units": {unit: 1.0, other: float(factor)}}
    return Planted("mixed_units", column, items, parameters)


def _plain_number(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plant_sentinels(column: DraftColumn, rng: random.Random, options: Options) -> Planted | None:
    values = set(column.values)
    choices: list[Value] = []
    if column.type == "integer":
        choices = [value for value in SENTINELS if value not in values]
    elif column.type == "date":
        choices = [value for value in SENTINEL_DAYS if value not in values]
    if not choices:
        return None
    sentinel = rng.choice(choices)
    nulls = [row for row, value in enumerate(column.values) if value is None]
    rows = nulls or _rows(column, rng, options.diagnostic_rows / 2)
    for row in rows:
        column.values[row] = sentinel
    clean: list[Value] = [None if value == sentinel else str(value) for value in column.values]
    # A document store has no days, only moments.
    text = "{}" if column.type == "integer" else "left({}, 10)"
    item = (str(sentinel), len(rows), f"{text} = {literal(str(sentinel))}")
    return Planted("sentinel", column, (item,), _cleaned(f"nullif({text}, {literal(str(sentinel))})", clean))


def _mix_case(column: DraftColumn, rng: random.Random, options: Options) -> Planted | None:
    texts = _texts(column)
    kinds = set(texts)
    fits = column.type == "text" and len(kinds) <= 50 and all(text.isascii() and text != text.upper() for text in kinds)
    if not fits or len({text.lower() for text in kinds}) < len(kinds):
        return None
    rows = _rows(column, rng, options.diagnostic_rows)
    clean: list[Value] = [None if value is None else str(value).lower() for value in column.values]
    for row in rows:
        column.values[row] = str(column.values[row]).upper()
    item = ("upper case", len(rows), "({} = upper({}) AND {} <> lower({}))")
    return Planted("mixed_case", column, (item,), _cleaned("lower({})", clean))


def _pad(column: DraftColumn, rng: random.Random, options: Options) -> Planted | None:
    texts = _texts(column)
    # Readers of text files take blanks around numbers and dates away, hence the letters.
    if column.type != "text" or not all(text == text.strip() and re.search("[A-Za-z]", text) for text in texts):
        return None
    if any(text.lower() in {"true", "false"} for text in texts):
        return None
    clean = list(column.values)
    rows = _rows(column, rng, options.diagnostic_rows)
    for row in rows:
        text, blanks = str(column.values[row]), " " * rng.randrange(1, 4)
        column.values[row] = text + blanks if rng.random() < 0.75 else blanks + text
    return Planted("padding", column, (("blanks", len(rows), "{} <> trim({})"),), _cleaned("trim({})", clean))


def _add_stray_characters(column: DraftColumn, rng: random.Random, options: Options) -> Planted | None:
    if column.type != "text" or any(not text[0].isalnum() for text in _texts(column)):
        return None
    sign = rng.choice("#*~")
    clean = list(column.values)
    rows = _rows(column, rng, options.diagnostic_rows)
    for row in rows:
        column.values[row] = sign + str(column.values[row])
    item = (sign, len(rows), f"starts_with({{}}, {literal(sign)})")
    return Planted("stray_characters", column, (item,), _cleaned(f"ltrim({{}}, {literal(sign)})", clean))


def _add_counters(draft: Draft, options: Options) -> None:
    """A column that claims how many child rows each row has, and is wrong for some."""
    rng = draft.chance("counters")
    fitting = [
        reference
        for reference in draft.references
        if reference.status == "declared"
        and len(reference.child) == 1
        and reference.parent == reference.parent[0].table.primary_key
        and reference.parent[0].table.rows >= 5
    ]
    for reference in rng.sample(fitting, min(options.stale_counters, len(fitting))):
        parent, child = reference.parent[0], reference.child[0]
        counted = Counter(value for value in child.canonical if value is not None)
        right = [counted[str(value)] for value in parent.canonical]
        wrong = set(rng.sample(range(len(right)), max(1, round(len(right) * options.diagnostic_rows))))
        values: list[Value] = [
            number
            if row not in wrong
            else max(0, number - rng.randrange(1, 3))
            if number > 2
            else number + rng.randrange(1, 4)
            for row, number in enumerate(right)
        ]
        name = f"{child.table.canonical_name}_count"
        column = DraftColumn(parent.table, name, "integer", values, planted="counter", is_busy=True)
        parent.table.columns.append(column)
        item = ("rows that disagree", len(wrong), "")
        draft.planted.append(
            Planted("counter_disagrees", column, (item,), {"counts": child.table.canonical_name}, reference)
        )


def _add_dead_columns(draft: Draft, options: Options) -> None:
    rng = draft.chance("dead columns")
    tables: list[DraftTable] = [table for table in draft.tables if table.rows >= 2]
    for table in rng.sample(tables, min(options.constants, len(tables))):
        name, value = rng.choice(
            [("source_system", "MAIN"), ("is_current", "Y"), ("version", "v1"), ("tenant", "default")]
        )
        column = DraftColumn(table, name, "text", [value] * table.rows, planted="constant", is_busy=True)
        table.columns.append(column)
        draft.planted.append(Planted("constant", column, ((value, table.rows, f"{{}} = {literal(value)}"),)))
    for table in rng.sample(tables, min(options.empties, len(tables))):
        name = rng.choice(["fax", "middle_name", "legacy_ref", "deleted_at"])
        column = DraftColumn(table, name, "text", [None] * table.rows, planted="empty", is_busy=True)
        table.columns.append(column)
        draft.planted.append(Planted("empty", column, (("null", table.rows, "{} IS NULL"),)))
