"""The places inside JSON documents, learned from a sample of them.

In: JSON texts; the expression that gives the document. Out: a place for everything that is not an object or a list,
with its type as far as the sample shows it. Objects whose keys are data become one place with the key `*`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from coset.evidence.nested_place import DEEPEST, MOST_PATHS, Place
from coset.sql_text import literal

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
