"""What the base install weighs, and what each extra adds to it, by the packages that are installed here.

    python benchmarks/extras_size.py [--packages] [--json]

For each extra: everything that it needs and the base does not, with all that these need in turn, as files on disk
without compiled Python. An extra that is not installed whole says what is missing. `--packages` lists the largest
packages of each.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

sys.path.insert(0, str(Path(__file__).parent))
from report import report

AIM = 350.0
NOT_MEASURED = {"test", "engines", "dev"}
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(name: str, extras: tuple[str, ...]) -> list[str]:
    """What a package asks for; of coset, what this checkout says."""
    if name != "coset":
        return metadata.distribution(name).requires or []
    optional = PROJECT["optional-dependencies"]
    return [*PROJECT["dependencies"], *(line for extra in extras for line in optional[extra])]


def needed(name: str, extras: tuple[str, ...], found: dict[str, set[str]], missing: set[str]) -> None:
    """All that a package needs, itself included, by plain name with the extras asked of it."""
    name = plain(name)
    if name in found and found[name] >= set(extras):
        return
    found.setdefault(name, set()).update(extras)
    try:
        requires = requirements(name, extras)
    except metadata.PackageNotFoundError:
        missing.add(name)
        return
    for line in requires:
        requirement = Requirement(line)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": each}) for each in (*extras, "")):
            needed(requirement.name, tuple(sorted(requirement.extras)), found, missing)


def megabytes(name: str) -> float:
    """Files of an installed package, as they lie on disk; of coset itself, its folder."""
    if name == "coset":
        import coset

        files = [path for path in Path(coset.__file__).parent.rglob("*") if path.is_file()]
    else:
        held = metadata.distribution(name)
        files = [Path(str(held.locate_file(file))) for file in held.files or ()]
    return sum(
        path.stat().st_size for path in files if path.is_file() and "__pycache__" not in path.parts
    ) / 1e6  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    base: dict[str, set[str]] = {}
    lacking: set[str] = set()
    needed("coset", (), base, lacking)
    sizes = {name: megabytes(name) for name in base if name not in lacking}
    figures: dict[str, float | str] = {"base, MB": round(sum(sizes.values()), 1)}
    for name, size in sorted(sizes.items(), key=lambda each: -each[1])[: 8 if options.packages else 0]:
        figures[f"  of it {name}"] = round(size, 1)
    for extra in sorted(set(PROJECT["optional-dependencies"]) - NOT_MEASURED):
        whole: dict[str, set[str]] = {}
        missing: set[str] = set()
        needed("coset", (extra,), whole, missing)
        added = {name: megabytes(name) for name in whole.keys() - base.keys() - missing}
        if missing:
            figures[extra] = f"not installed: {', '.join(sorted(missing))[:60]}"
            continue
        figures[extra] = round(sum(added.values()), 1)
        for name, size in sorted(added.items(), key=lambda each: -each[1])[: 4 if options.packages else 0]:
            figures[f"  of it {name} ({extra})"] = round(size, 1)
    base_size = figures["base, MB"]
    assert isinstance(base_size, float)
    report("extras_size", figures, f"base below {AIM:.0f} MB", base_size < AIM)


if __name__ == "__main__":
    main()
