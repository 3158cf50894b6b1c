"""The structure of nested values: of types that DuckDB nests, of JSON in text, and of Python literals in text.

In: a type, or some of the documents. Out: the places inside, each with the expression that reads it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import duckdb
from duckdb.sqltypes import DuckDBPyType

from coset.sql_text import literal

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
