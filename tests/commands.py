"""`coset` commands as tests call them: in this process, or as a process of their own where that is what is tested.

In: arguments, a folder, standard input, environment variables. Out: exit code, standard output and standard error. In
this process libraries and models are loaded once for all tests of a worker.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

COMMAND = [sys.executable, "-c", "from coset.surfaces.command_line import main; main()"]


def variables(given: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COSET")}
    return {**kept, "COLUMNS": "160", "NO_COLOR": "1", **given}


def coset(*arguments: str, folder: Path, stdin: str = "", **given: str) -> subprocess.CompletedProcess[str]:
    """A command in this process."""
    from coset.surfaces.command_line import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: object = 0
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (
            patch.dict(os.environ, variables(given), clear=True),
            patch.object(sys, "argv", ["coset", *arguments]),
            patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as ended:
                code = ended.code
    finally:
        os.chdir(before)
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(["coset", *arguments], code if isinstance(code, int) else 1, *said)


def coset_process(*arguments: str, folder: Path, stdin: str = "", **given: str) -> subprocess.CompletedProcess[str]:
    """A command as a process of its own."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, input=stdin, capture_output=True, text=True, check=False,
        env=variables(given),
    )  # fmt: skip
