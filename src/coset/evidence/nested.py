"""Values inside values: the paths of structs, lists, maps, JSON, and of text that holds JSON or Python literals.

In: an open connection, a relation, a column and its type. Out: one `NestedPath` for each place where values stand,
with the expression that reads it and the share of rows in which it reads something. The structure of native types is
read from the type; that of JSON and of Python literals in text is learned from a bounded sample; shares are counted
over all rows, or over a stated sample of very many. Objects whose keys are data (ids, dates) are one path with the key
`*`. What a path means is not known here.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import duckdb
from duckdb import DuckDBPyConnection
from duckdb.sqltypes import DuckDBPyType

from coset.sql_text import identifier, literal
from coset.state.objects import NestedPath, Share

DEEPEST = 6
"""Steps below the column; what lies deeper is handed on whole."""
MOST_PATHS = 200


@dataclass(frozen=True)
class Place:
    path: tuple[str, ...]
    type: str
    expression: str
    note: str = ""
    keys_expression: str | None = None


_NESTED = {"struct", "tuple", "list", "array", "map"}


def native_places(column: str, type: str) -> list[Place]:
    if not any(word in type.upper() for word in ("STRUCT", "TUPLE", "MAP", "[")):
        return []
    try:
        root = duckdb.sqltype(type)
    except duckdb.Error:
        # A type of some database's own that cannot be named here: it is then read as a plain column.
        return []
    return list(islice(_native_places(column, root, (), False), MOST_PATHS)) if root.id in _NESTED else []


def _native_places(
    expression: str, type: object, path: tuple[str, ...], in_list: bool, keys: str | None = None
) -> Iterator[Place]:
    if not isinstance(type, DuckDBPyType):
        return
    if type.id not in _NESTED or len(path) >= DEEPEST:
        yield Place(path, f"{type}[]" if in_list else str(type), expression, keys_expression=keys)
    elif type.id in {"struct", "tuple"}:
        for position, (name, child) in enumerate(type.children, start=1):
            # The fields of a row without names are known by their position.
            field = literal(name) if name else str(position)
            yield from _native_places(
                _each(f"struct_extract(x, {field})", expression, in_list),
                child,
                (*path, name or str(position)),
                in_list,
            )
    elif type.id == "map":
        value = type.children[1][1]
        values = _flat(_each("map_values(x)", expression, in_list), in_list)
        names = _flat(_each("map_keys(x)", expression, in_list), in_list)
        yield from _native_places(values, value, (*path, "*"), True, names)
    else:
        element = type.children[0][1]
        elements = _each(f"CAST(x AS {element}[])", expression, in_list) if type.id == "array" else expression
        yield from _native_places(_flat(elements, in_list), element, (*path, "[]"), True)


def _each(reading: str, expression: str, in_list: bool) -> str:
    """`reading` of the value, or of each element where there is a list of them."""
    if in_list:
        return f"list_transform({expression}, lambda x: {reading})"
    return reading.replace("(x", f"({expression}", 1)


def _flat(expression: str, in_list: bool) -> str:
    return f"flatten({expression})" if in_list else expression


_PIECES = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^'"]+"""
# Stands for an escaped backslash while other escapes are rewritten; JSON and Python's repr both escape this character.
_MARK = "chr(1)"
_SPECIAL = r"[\"\\\x00-\x1f]"
_WORDS = (
    ("None", "null"), ("True", "true"), ("False", "false"),
    ("nan", "null"), ("NaN", "null"), ("-inf", "null"), ("inf", "null"), ("-Infinity", "null"), ("Infinity", "null"),
)  # fmt: skip
_SIGNS = (
    (r"([{,]\s*)(-?\d+(?:\.\d+)?)\s*:", r'\1"\2":'),
    (r"\b[ubrUBR]$", ""),
    (r"(?:[A-Za-z_][\w.]*)?\(", "["),
    (r"\)", "]"),
    (r",\s*([\]}])", r"\1"),
)


def as_json_text(column: str) -> str:
    pieces = f"regexp_extract_all({column}, {literal('(?s)' + _PIECES)})"
    # Most pieces need nothing but other quotes, or nothing at all; only the rest pay for being rewritten.
    rewritten = " ".join(
        (
            "WHEN x IN (', ', ': ') THEN x",
            f"WHEN left(x, 1) NOT IN ('''', '\"') THEN {_between()}",
            f"WHEN regexp_matches(x[2:-2], {literal(_SPECIAL)}) THEN {_string()}",
            "ELSE '\"' || x[2:-2] || '\"'",
        )
    )
    return f"array_to_string(list_transform({pieces}, lambda x: CASE {rewritten} END), '')"


def _string() -> str:
    """A Python string of either quote as a JSON string."""
    text = "x[2:-2]"
    text = f"replace({text}, '\\\\', {_MARK})"
    text = f"replace(replace({text}, '\\''', ''''), '\\\"', '\"')"
    text = f"replace({text}, '\"', '\\\"')"
    text = f"regexp_replace({text}, '\\\\x([0-9a-fA-F]{{2}})', '\\\\u00\\1', 'g')"
    text = f"regexp_replace({text}, '\\\\U[0-9a-fA-F]{{8}}', '\\\\ufffd', 'g')"
    text = f"replace(replace(replace({text}, chr(10), '\\n'), chr(9), '\\t'), chr(13), '\\r')"
    text = f"replace({text}, {_MARK}, '\\\\')"
    return f"'\"' || {text} || '\"'"


def _between() -> str:
    """What lies between strings: Python's words for JSON's, square brackets for round ones, keys in quotes."""
    text = "x"
    for word, replacement in _WORDS:
        text = f"replace({text}, '{word}', '{replacement}')"
    for pattern, replacement in _SIGNS:
        text = f"regexp_replace({text}, {literal(pattern)}, {literal(replacement)}, 'g')"
    return text


_MOST_VISITS = 300_000
_MOST_KEYS = 5_000
_LARGEST_BIGINT = 2**63
_DATA_KEY = re.compile(r"[\d\W_]*\d[\d\W_]*|[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|[A-Za-z]{1,5}[\-_]?\d{2,}", re.IGNORECASE)


@dataclass
class _Node:
    """What was seen at one place."""

    visits: int = 0
    scalars: Counter[str] = field(default_factory=Counter)
    objects: int = 0
    lists: int = 0
    keys: dict[str, _Node] = field(default_factory=dict)
    element: _Node | None = None


def read_texts(texts: Iterable[str | None]) -> list[object]:
    """The documents; one that Python cannot read (nested far too deep, a number far too long) is left out."""
    documents = []
    for text in texts:
        if text is None:
            continue
        try:
            documents.append(json.loads(text))
        except (ValueError, RecursionError):
            continue
    return documents


def places_of(documents: Iterable[object], document: str) -> list[Place]:
    """The places, in the order of the documents' fields; the most frequent where there are too many."""
    root, budget = _Node(), [_MOST_VISITS]
    for value in documents:
        _visit(root, value, 0, budget)
    found = list(_places(root, (), "$", document, False))
    kept = sorted(range(len(found)), key=lambda number: (-found[number][0], number))[:MOST_PATHS]
    return [found[number][1] for number in sorted(kept)]


def _visit(node: _Node, value: object, depth: int, budget: list[int]) -> None:
    budget[0] -= 1
    if budget[0] < 0:
        return
    node.visits += 1
    if isinstance(value, dict):
        node.objects += 1
        if depth < DEEPEST:
            for key, child in value.items():
                if key in node.keys or len(node.keys) < _MOST_KEYS:
                    _visit(node.keys.setdefault(key, _Node()), child, depth + 1, budget)
    elif isinstance(value, list):
        node.lists += 1
        if depth < DEEPEST:
            node.element = node.element or _Node()
            for child in value[:1000]:
                _visit(node.element, child, depth + 1, budget)
    else:
        node.scalars[_scalar(value)] += 1


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "BIGINT" if abs(value) < _LARGEST_BIGINT else "VARCHAR"
    return "DOUBLE" if isinstance(value, float) else "VARCHAR"


def _places(
    node: _Node, path: tuple[str, ...], at: str, document: str, in_list: bool, keys: str | None = None
) -> Iterator[tuple[int, Place]]:
    containers = node.objects + node.lists
    if path and (len(path) >= DEEPEST and containers):
        expression = f"json_extract({document}, {literal(at)})"
        note = "handed on whole: what lies deeper was not looked into"
        yield node.visits, Place(path, "JSON[]" if in_list else "JSON", expression, note, keys)
        return
    seen = {kind for kind in node.scalars if kind != "null"}
    if path and seen:
        yield node.visits, _scalar_place(path, at, document, in_list, seen, containers > 0, keys)
    if node.objects and _keys_are_data(node):
        inside = None if in_list else f"json_keys({document}, {literal(at)})"
        yield from _places(_merged(node.keys.values()), (*path, "*"), f"{at}.*", document, True, inside)
    else:
        for key, child in node.keys.items():
            spelled = key.replace("\\", "\\\\").replace('"', '\\"')
            yield from _places(child, (*path, key), f'{at}."{spelled}"', document, in_list)
    if node.element is not None:
        yield from _places(node.element, (*path, "[]"), f"{at}[*]", document, True)


def _scalar_place(
    path: tuple[str, ...], at: str, document: str, in_list: bool, seen: set[str], mixed: bool, keys: str | None
) -> Place:
    type = next(iter(seen)) if len(seen) == 1 else "DOUBLE" if seen == {"BIGINT", "DOUBLE"} else "VARCHAR"
    expression = f"json_extract_string({document}, {literal(at)})"
    notes = []
    if len(seen) > 1 and type == "VARCHAR":
        notes.append("mixed types, read as text")
    if mixed and not in_list:
        where = f"json_type({document}, {literal(at)}) NOT IN ('ARRAY', 'OBJECT')"
        expression = f"CASE WHEN {where} THEN {expression} END"
        notes.append("in some rows a list or an object stands here instead")
    elif mixed:
        notes.append("some elements are lists or objects, read as JSON text")
    if type != "VARCHAR":
        expression = f"try_cast({expression} AS {type}{'[]' if in_list else ''})"
    return Place(path, f"{type}[]" if in_list else type, expression, "; ".join(notes), keys)


def _keys_are_data(node: _Node) -> bool:
    """Whether the keys are values themselves: many, each rare, or ids and dates, all holding the same kind of thing."""
    count = len(node.keys)
    shapes = Counter(_shape(child) for child in node.keys.values())
    if count < 3 or shapes.most_common(1)[0][1] < 0.9 * count:
        return False
    if sum(_DATA_KEY.fullmatch(key) is not None for key in node.keys) >= 0.8 * count:
        return True
    presence = sum(child.visits for child in node.keys.values()) / count / node.objects
    return count > 50 and presence < 0.1


def _shape(node: _Node) -> str:
    if node.objects:
        return "object"
    return "list" if node.lists else "scalar"


def _merged(nodes: Iterable[_Node]) -> _Node:
    whole = _Node()
    elements = []
    children: dict[str, list[_Node]] = {}
    for node in nodes:
        whole.visits += node.visits
        whole.objects += node.objects
        whole.lists += node.lists
        whole.scalars.update(node.scalars)
        if node.element is not None:
            elements.append(node.element)
        for key, child in node.keys.items():
            children.setdefault(key, []).append(child)
    whole.element = _merged(elements) if elements else None
    whole.keys = {key: _merged(same) for key, same in children.items()}
    return whole


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
