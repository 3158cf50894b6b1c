"""The JSON schemas of what `coset COMMAND --json` prints: docs/json-schemas.json.

In: the demo company, comprehended, in a folder of its own, and calls of every command. Out: a schema for each command,
as its outputs show it: fields that were always there are required, others may be missing, none beyond them may come.
`python docs/json_schemas.py FOLDER [FURTHER ...] > docs/json-schemas.json` makes it anew, of further environments with
the calls that name nothing of the demo's; a test validates every command by it. Those that ask a model are kept as they
are in the file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OPEN = {"show", "run", "recover"}
"""Commands whose sections depend on what they are about: further fields may come."""
MAPPINGS = {"memberships", "counts", "left_out", "models", "options", "questions", "by_dataset", "verdicts", "statuses",
            "not_runnable", "tool_errors", "pass_at_k", "pass_hat_k", "intervals"}  # fmt: skip
"""Fields whose keys are data."""


def schema_of(values: list[Any], *, is_open: bool, name: str = "") -> dict[str, Any]:
    """What all the values have in common."""
    kinds = sorted({_kind(value) for value in values})
    if kinds == ["null"]:
        return {}  # Whatever may stand there: none of these environments had one.
    schema: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if objects := [value for value in values if isinstance(value, dict)]:
        if name in MAPPINGS:
            return schema
        keys = dict.fromkeys(key for each in objects for key in each)
        schema["properties"] = {
            key: schema_of([each[key] for each in objects if key in each], is_open=is_open, name=key) for key in keys
        }
        required = [key for key in keys if all(key in each for each in objects)]
        schema |= {"required": required, "additionalProperties": is_open}
    if items := [item for value in values if isinstance(value, list) for item in value]:
        # Cells hold whatever the data holds; numbers may be whole or not.
        schema["items"] = {} if name in {"rows", "value", "preview"} else schema_of(items, is_open=is_open, name=name)
    if name in {"answer", "value"}:
        return {}
    return schema


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


def main() -> None:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "surfaces")]
    from json_commands import ASKING, CALLS, ON_A_SERVER

    from commands import coset

    written = json.loads((ROOT / "docs" / "json-schemas.json").read_text())["$defs"]
    schemas = {command: written[command] for command in ASKING}
    for command, calls in CALLS.items():
        outputs = []
        further = [call for call in ON_A_SERVER if call[0] == command]
        pairs = [(call, folder) for call in calls for folder in sys.argv[1:]]
        for call, folder in [*pairs, *((call, folder) for folder in sys.argv[2:] for call in further)]:
            answer = coset(*call, "--json", folder=Path(folder))
            if folder != sys.argv[1] and answer.returncode:
                continue
            try:
                outputs.append(json.loads(answer.stdout))
            except ValueError:
                raise SystemExit(f"{call}: {answer.stdout[:400]} {answer.stderr[:400]}") from None
            if "error" in outputs[-1]:
                raise SystemExit(f"{call}: {outputs[-1]}")
        schemas[command] = schema_of(outputs, is_open=command in OPEN)
    error = {"type": "object", "required": ["kind", "message"], "additionalProperties": False,
             "properties": {"kind": {"type": "string"}, "message": {"type": "string"}}}  # fmt: skip
    schemas["error"] = {"type": "object", "required": ["error"], "properties": {"error": error}}
    print(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": schemas}, indent=1))


if __name__ == "__main__":
    main()
