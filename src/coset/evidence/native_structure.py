"""The places inside a column of one of DuckDB's own nested types.

In: the quoted column and its type. Out: a place for every leaf of structs, lists, arrays and maps. Below a list every
expression gives one flat list of the row's values. Nothing here looks at data; JSON inside a struct is a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import duckdb
from duckdb.sqltypes import DuckDBPyType

from coset.evidence.nested_place import DEEPEST, MOST_PATHS, Place
from coset.sql_text import literal

_NESTED = {"struct", "tuple", "list", "array", "map"}


def native_places(column: str, type: str) -> list[Place]:
    if not any(word in type.upper() for word in ("STRUCT", "TUPLE", "MAP", "[")):
        return []
    try:
        root = duckdb.sqltype(type)
    except duckdb.Error:
        # A type of some database's own that cannot be named here: it is then read as a plain column.
        return []
    return list(islice(_places(column, root, (), False), MOST_PATHS)) if root.id in _NESTED else []


def _places(
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
            yield from _places(
                _each(f"struct_extract(x, {field})", expression, in_list),
                child,
                (*path, name or str(position)),
                in_list,
            )
    elif type.id == "map":
        value = type.children[1][1]
        values = _flat(_each("map_values(x)", expression, in_list), in_list)
        names = _flat(_each("map_keys(x)", expression, in_list), in_list)
        yield from _places(values, value, (*path, "*"), True, names)
    else:
        element = type.children[0][1]
        elements = _each(f"CAST(x AS {element}[])", expression, in_list) if type.id == "array" else expression
        yield from _places(_flat(elements, in_list), element, (*path, "[]"), True)


def _each(reading: str, expression: str, in_list: bool) -> str:
    """`reading` of the value, or of each element where there is a list of them."""
    if in_list:
        return f"list_transform({expression}, lambda x: {reading})"
    return reading.replace("(x", f"({expression}", 1)


def _flat(expression: str, in_list: bool) -> str:
    return f"flatten({expression})" if in_list else expression
