"""The process that runs one validator: loads `validate.py`, calls `validate(answer)`, prints one line of JSON.

In: the path of the validator and of the checkout as arguments, the answer on standard input. Out: the last line of
standard output, whatever the validator itself prints before.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

from coset.session.confinement import confine, end_with_parent

MEMORY = 4 * 2**30


def main() -> None:
    path, root = Path(sys.argv[1]), sys.argv[2]
    # What the validator prints must not be taken for its verdict.
    out = os.dup(1)
    os.dup2(2, 1)
    answer = sys.stdin.buffer.read().decode("utf-8", "replace")
    confine(MEMORY)
    end_with_parent()
    kind, reason = _verdict(path, root, answer)
    os.write(out, (json.dumps({"kind": kind, "reason": reason}) + "\n").encode())
    # Threads that a validator left behind must not keep the process.
    os._exit(0)


def _verdict(path: Path, root: str, answer: str) -> tuple[str, str]:
    sys.path[:0] = [str(path.parent), root]
    try:
        spec = importlib.util.spec_from_file_location("dab_validator", path)
        if spec is None or spec.loader is None:
            return "error", "the validator cannot be loaded"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        said = module.validate(answer)
    except BaseException as error:
        return "error", f"the validator raised {type(error).__name__}: {str(error)[:300]}"
    passed, reason = said if isinstance(said, tuple) and len(said) == 2 else (said, "")
    if not isinstance(passed, bool | int):
        try:
            passed = bool(passed)  # numpy's own kind of truth
        except Exception:
            return "error", "the validator gave neither true nor false"
    return ("passed" if passed else "wrong"), str(reason)[:500]
