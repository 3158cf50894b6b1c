"""Values inside values: the paths of structs, lists, maps, JSON, and of text that holds JSON or Python literals.

In: an open connection, a relation, a column and its type. Out: one `NestedPath` for each place where values stand,
with the expression that reads it and the share of rows in which it reads something. Structure of JSON is learned from
a bounded sample; shares are counted over all rows, or over a stated sample of very many. Objects whose keys are data
(ids, dates) are one path with the key `*`. What a path means is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

import duckdb
from duckdb import DuckDBPyConnection

from coset.evidence.nested_structure import Place, as_json_text, native_places, places_of, read_texts
from coset.sql_text import identifier
from coset.state.objects import NestedPath, Share

_ALL_ROWS = 1_000_000
_SAMPLED_ROWS = 200_000
_WORK = 2_000_000_000
"""Letters read times paths: above it the shares are counted on fewer rows."""
_FEWEST_ROWS = 5_000
_LOOKED_AT = 1_000
_SAMPLED_LETTERS = 3_000_000
_SAMPLED_VALUES = 500
_LONGEST_SAMPLED = 200_000
_LEAST_PARSED = 0.5


def find_paths(
    connection: DuckDBPyConnection, relation: str, column: str, type: str, *, glance: Sequence[str] | None = None
) -> list[NestedPath]:
    """The paths inside `column`, or none where its values are plain. `glance`: the beginnings of some of its texts,
    where they are known already."""
    name = identifier(column)
    upper = type.upper()
    if upper in {"JSON", "VARIANT"}:
        document = name if upper == "JSON" else f"try_cast({name} AS JSON)"
        return _json_paths(connection, relation, name, document, "")
    if upper in {"VARCHAR", "TEXT", "STRING"}:
        if glance is not None and not _begin_as_documents(glance):
            return []
        found = _document(connection, relation, name)
        return _json_paths(connection, relation, name, *found) if found else []
    places = native_places(name, type)
    return _measured(connection, relation, name, places, "") if places else []


# --------------------------------------------------------------------------------------------------------------------
# Which text is JSON
# --------------------------------------------------------------------------------------------------------------------


def _begin_as_documents(texts: Sequence[str]) -> bool:
    filled = [text for text in texts if text]
    return sum(text.lstrip()[:1] in ("{", "[", "(") for text in filled) >= _LEAST_PARSED * max(1, len(filled))


def _document(connection: DuckDBPyConnection, relation: str, name: str) -> tuple[str, str] | None:
    """The expression that gives the column's text as JSON, and what to say of it; None where it is plain text."""
    begins = f"regexp_matches({name}, '^\\s*[{{\\[(]')"
    seen = connection.execute(
        f"SELECT count(*), count(*) FILTER (b) FROM (SELECT {begins} AS b FROM {relation} "
        f"WHERE {name} IS NOT NULL AND {name} <> '' LIMIT {_LOOKED_AT})"
    ).fetchone()
    values, beginning = seen or (0, 0)
    if not values or beginning < _LEAST_PARSED * values:
        return None
    source, sampled = _rows(connection, relation, name, 4)
    counted = connection.execute(
        f"SELECT count(*), count(*) FILTER (json_valid({name})) FROM {source} WHERE {name} <> ''"
    ).fetchone()
    texts, plain = counted or (0, 0)
    python = 0
    as_python = f"try_cast({as_json_text(name)} AS JSON)"
    if plain < texts:
        # A cell that is far too long to convert is not tried.
        counted = connection.execute(
            f"SELECT count({as_python}) FROM (SELECT {name} FROM {source} WHERE {name} <> '' "
            f"AND NOT json_valid({name}) AND {begins} AND length({name}) <= {_LONGEST_SAMPLED})"
        ).fetchone()
        python = counted[0] if counted else 0
    if plain + python < _LEAST_PARSED * texts or not texts:
        return None
    on_sample = "" if sampled is None else " of a sample"
    failing = texts - plain - python
    fails = f"; {failing / texts:.1%} are neither and read as NULL" if failing else ""
    if not python:
        note = f"text, {plain / texts:.1%}{on_sample} is JSON" + (
            f"; {failing / texts:.1%} is not and reads as NULL" if failing else ""
        )
        return f"try_cast({name} AS JSON)", note
    if not plain:
        fails = f"; {failing / texts:.1%} cannot be converted and read as NULL" if failing else ""
        return as_python, f"Python literals in text, {python / texts:.1%}{on_sample} converted to JSON{fails}"
    note = f"text, {plain / texts:.1%}{on_sample} is JSON and {python / texts:.1%} Python literals{fails}"
    return f"coalesce(try_cast({name} AS JSON), {as_python})", note


def _rows(connection: DuckDBPyConnection, relation: str, name: str, paths: int) -> tuple[str, int | None]:
    """The relation, or a sample of it where it is too much to read `paths` times; and the sample's number of rows."""
    counted = connection.execute(f"SELECT count(*) FROM {relation}").fetchone()
    lengths = connection.execute(
        f"SELECT coalesce(avg(strlen(CAST({name} AS VARCHAR))), 0) FROM (SELECT {name} "
        f"FROM {relation} LIMIT {_LOOKED_AT})"
    ).fetchone()
    rows, length = counted[0] if counted else 0, lengths[0] if lengths else 0
    fitting = int(_WORK / max(length * paths, 1))
    if rows <= max(_FEWEST_ROWS, min(fitting, _ALL_ROWS)):
        return relation, None
    wanted = max(_FEWEST_ROWS, min(fitting, _SAMPLED_ROWS))
    return f"(SELECT {name} FROM {relation} USING SAMPLE reservoir({wanted} ROWS) REPEATABLE (0))", wanted


# --------------------------------------------------------------------------------------------------------------------
# What is in it
# --------------------------------------------------------------------------------------------------------------------


def _json_paths(connection: DuckDBPyConnection, relation: str, name: str, document: str, note: str) -> list[NestedPath]:
    places = places_of(_sample(connection, relation, name, document), document)
    return _measured(connection, relation, name, places, note, document)


def _sample(connection: DuckDBPyConnection, relation: str, name: str, document: str) -> list[object]:
    """Some documents, read; those of moderate length, and only where there is none the shortest of the long ones."""
    mean = connection.execute(
        f"SELECT coalesce(avg(length), 0) FROM (SELECT strlen(CAST({name} AS VARCHAR)) AS length FROM {relation} "
        f"WHERE {name} IS NOT NULL LIMIT {_LOOKED_AT}) WHERE length <= {_LONGEST_SAMPLED}"
    ).fetchone()
    count = max(20, min(_SAMPLED_VALUES, int(_SAMPLED_LETTERS / max(mean[0] if mean else 1, 1))))
    moderate = f"strlen(CAST({name} AS VARCHAR)) <= {_LONGEST_SAMPLED}"
    rows = connection.execute(
        f"SELECT CAST({document} AS VARCHAR) FROM (SELECT {name} FROM (SELECT {name} FROM {relation} "
        f"WHERE {name} IS NOT NULL AND {moderate}) USING SAMPLE reservoir({count} ROWS) REPEATABLE (0))"
    ).fetchall()
    if not rows:
        rows = connection.execute(
            f"SELECT CAST({document} AS VARCHAR) FROM (SELECT {name} FROM {relation} "
            f"WHERE {name} IS NOT NULL ORDER BY strlen(CAST({name} AS VARCHAR)) LIMIT 1)"
        ).fetchall()
    return read_texts(row[0] for row in rows)


# --------------------------------------------------------------------------------------------------------------------
# How much of it
# --------------------------------------------------------------------------------------------------------------------


def _measured(
    connection: DuckDBPyConnection,
    relation: str,
    name: str,
    places: Sequence[Place],
    note: str,
    document: str | None = None,
) -> list[NestedPath]:
    places = [place for place in places if _runs(connection, place, relation)]
    if not places:
        return []
    document = document or name
    # Making the document out of a Python literal costs as much as reading some paths of it.
    effort = len(places) + len(document) // 40
    source, sampled = _rows(connection, relation, name, effort)
    # The document is made once a row and not once a path; each expression was tried above as it stands.
    # (A plain column stands as it is: its name could also be a key.)
    alias = name if document == name else "document"
    made = f"(SELECT {document} AS {alias} FROM {source})"
    values = [place.expression if alias == name else place.expression.replace(document, "document") for place in places]
    counts = ", ".join(
        f"count(*) FILTER ({_found(value, place.type)})" for value, place in zip(values, places, strict=True)
    )
    counted = connection.execute(f"SELECT count(*), {counts} FROM {made}").fetchone() or ()
    shown_rows = max(3, min(200, 10_000 // len(places)))
    some = f"SELECT {name} FROM {relation} WHERE {name} IS NOT NULL LIMIT {shown_rows}"
    few = f"(SELECT {document} AS {alias} FROM ({some}))"
    examples = _examples(connection, few, values, places)
    rows = counted[0]
    found = []
    for place, count, shown in zip(places, counted[1:], examples, strict=True):
        if not count:
            continue
        share = count / rows
        error = 0.0 if sampled is None else 1.96 * math.sqrt(share * (1 - share) / rows)
        notes = [place.note, note, "" if sampled is None else f"counted on {rows:,} sampled rows"]
        found.append(
            NestedPath(
                path=place.path,
                type=place.type,
                expression=place.expression,
                coverage=Share(share, error),
                description="; ".join(one for one in notes if one),
                examples=shown,
                keys_expression=place.keys_expression,
            )
        )
    return found


def _found(value: str, type: str) -> str:
    if type.endswith("[]"):
        return f"len(list_filter({value}, lambda v: v IS NOT NULL)) > 0"
    return f"{value} IS NOT NULL"


def _runs(connection: DuckDBPyConnection, place: Place, relation: str) -> bool:
    """Whether the engine takes the expression: a key that its JSON paths cannot spell (an empty one) is left out."""
    keys = f", {place.keys_expression}" if place.keys_expression else ""
    try:
        connection.execute(f"SELECT {place.expression}{keys} FROM {relation} LIMIT 1").fetchall()
    except duckdb.Error:
        return False
    return True


def _examples(
    connection: DuckDBPyConnection, documents: str, values: Sequence[str], places: Sequence[Place]
) -> list[tuple[str, ...]]:
    """Up to three different values of each place, in the order of the rows."""
    shown = []
    for value, place in zip(values, places, strict=True):
        first = f"({value})[1]" if place.type.endswith("[]") else value
        shown.append(f"left(CAST({first} AS VARCHAR), 80)")
    rows = connection.execute(f"SELECT {', '.join(shown)} FROM {documents}").fetchall()
    return [
        tuple(islice(dict.fromkeys(row[number] for row in rows if row[number] is not None), 3))
        for number in range(len(places))
    ]
