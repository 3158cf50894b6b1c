"""How every benchmark here prints: a small table for people, one JSON object with `--json`."""

from __future__ import annotations

import json
import sys


def report(title: str, figures: dict[str, float | str], aim: str = "", met: bool | None = None) -> None:
    """The figures with their bar, or without one where nothing is aimed at: then `met` is null."""
    if "--json" in sys.argv:
        print(json.dumps({"benchmark": title, "figures": figures, "aim": aim, "met": met}))
        return
    print(title)
    for name, value in figures.items():
        print(f"  {name:<52} {value:>14,.3f}" if isinstance(value, float) else f"  {name:<52} {value:>14}")
    if met is not None:
        print(f"  aim: {aim}: {'met' if met else 'MISSED'}")
