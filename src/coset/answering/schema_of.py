"""The JSON schema of a pydantic model as a tool's parameters: inlined, and without what a model need not read.

In: a pydantic model. Out: a plain schema. Titles, defaults and docstrings are left out: every word of it is sent with
every request.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_LEFT_OUT = {"title", "default", "additionalProperties", "maxItems", "minItems"}


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    result: dict[str, Any] = _slim(schema, schema.get("$defs", {}), named=False)
    result.pop("description", None)
    return result


def _slim(node: Any, definitions: dict[str, Any], *, named: bool) -> Any:
    """`named` is True inside `properties`, where a key is a name of ours and not a word of the schema language."""
    if isinstance(node, list):
        return [_slim(item, definitions, named=False) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = dict(definitions[node["$ref"].rsplit("/", 1)[-1]])
        target.pop("description", None)
        return _slim(
            {**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions, named=False
        )
    return {
        key: _slim(value, definitions, named=key == "properties" and not named)
        for key, value in node.items()
        if named or (key not in _LEFT_OUT and key != "$defs")
    }
