"""The schemas that clients are sent: types, names and words, without the bounds.

In: a pydantic model. Out: its JSON schema. Lengths and limits are checked by the server all the same, and told when one
is passed: an agent pays for every token of them in every conversation, and hardly ever meets one.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from coset.answering.model_client import schema_of

_BOUNDS = {"maxLength", "minLength", "maximum", "minimum"}


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = schema_of(model)
    for described in schema.get("properties", {}).values():
        for bound in _BOUNDS & set(described):
            del described[bound]
    return schema


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Every field is always there, so that none has to be marked as required."""
    schema: dict[str, Any] = _without_required(schema_of(model))
    return schema


def _without_required(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_required(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_required(value)
        for key, value in node.items()
        if not (key == "required" and isinstance(value, list))
    }
