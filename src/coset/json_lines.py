"""Files of JSON lines, plain or zstd: training corpora and lists of attributes.

In: a path. Out: its objects, each with the number of its line. A broken line is named with its number. Knows no field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from coset.errors import UserError

CHUNK = 1 << 22


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with the numbers of their lines; blank lines are passed over."""
    if not path.exists():
        raise UserError(f"'{path.name}' is not in '{path.parent}'")
    try:
        with pa.input_stream(str(path), compression="zstd" if path.suffix == ".zst" else None) as stream:
            rest, number = b"", 0
            while chunk := stream.read(CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    number += 1
                    if line.strip():
                        yield number, _object(line, path, number)
            if rest.strip():
                yield number + 1, _object(rest, path, number + 1)
    except OSError as error:
        raise UserError(f"'{path.name}' cannot be read: {error}") from None


def _object(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UserError(f"'{path.name}' line {number} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"'{path.name}' line {number} is not an object")
    return value
