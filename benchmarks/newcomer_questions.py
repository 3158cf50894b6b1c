"""Fifteen questions as a newcomer would ask them: `python benchmarks/newcomer_questions.py FOLDER [PYTHONPATH]`.

In: an absent folder, and where another version's code lies, if that is to be asked. Out: the machine rental made in
the folder, comprehended, and for each question whether it was answered and whether the answer is true, without a model;
then the same after what a newcomer says in three corrections. Another version is asked without them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from coset.demo.rental import Known, write_rental

COMMAND = [sys.executable, "-c", "from coset.surfaces.command_line import main; main()"]
CORRECTIONS = (
    ("join", "erp.zhl.beleg", "erp.rgk.rgnr"),
    ("readings", "--import", "readings.yaml"),
)  # fmt: skip
READINGS = """\
readings:
  - {reference: erp.vtrk, name: contracts}
  - {reference: service.visits, name: visits}
"""


def coset(folder: Path, source: str | None, *arguments: str) -> dict[str, Any]:
    variables = {**os.environ, "PYTHONPATH": source} if source else dict(os.environ)
    done = subprocess.run(
        [*COMMAND, *arguments, "--json"], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout) if done.stdout.strip() else {}
    return found if isinstance(found, dict) else {}


def ask_all(folder: Path, known: tuple[Known, ...], source: str | None) -> int:
    right = 0
    for each in known:
        found = coset(folder, source, "ask", each.question)
        rows, stopped = found.get("rows") or [], found.get("stopped") or found.get("reason") or found.get("error")
        verdict = "declined" if stopped or not rows else "right" if each.agrees(rows) else "WRONG"
        right += verdict == "right"
        given = stopped if verdict == "declined" else rows[0]
        print(f"  {verdict:9} {each.question:58} {str(given)[:90]}", flush=True)
    print(f"  {right} of {len(known)} right")
    return right


def main() -> None:
    folder, source = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    known = write_rental(folder).known
    if source is not None:  # Versions before 0.2 take documents of one source alone.
        file = folder / "coset.yaml"
        text = file.read_text(encoding="utf-8").replace("documents: [handbook]\n", "")
        names = ", ".join(f"handbook/{each.name}" for each in sorted((folder / "handbook").iterdir()))
        file.write_text(text.replace("  erp:\n", f"  erp:\n    documents: [{names}]\n"), encoding="utf-8")
    coset(folder, source, "comprehend")
    print("as it was found")
    ask_all(folder, known, source)
    if source is not None:
        return
    (folder / "readings.yaml").write_text(READINGS, encoding="utf-8")
    for arguments in CORRECTIONS:
        coset(folder, None, *arguments)
    print("after corrections: " + "; ".join(" ".join(each) for each in CORRECTIONS))
    ask_all(folder, known, None)


if __name__ == "__main__":
    main()
