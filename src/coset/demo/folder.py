"""The folder of a demo company: made once, whole, and never over somebody's files.

In: where, and the company. Out: the databases and files of all departments, and the `coset.yaml` that names
them. It is written last: a folder that has one is complete. A folder that was begun and interrupted is made anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from coset.demo.company import Company
from coset.demo.departments import write_atlas, write_beacon
from coset.demo.shared_files import POLICY, write_dump, write_json_lines, write_office
from coset.environment.configuration import FILE_NAME
from coset.errors import UserError

MARK = ".coset-demo"
"""Says that the folder is a demo, and of which company."""
SOURCES = """\
# The demo company, {which}: two products run by two departments, a shared help desk, an office with code tables.
sources:
  atlas:
    location: atlas.duckdb
    description: "The product Atlas, a mapping service by subscription: customers, subscriptions, invoices, sessions."
    documents: [policy.md]
  beacon:
    location: beacon.sqlite
    description: "The product Beacon, sensors by order: buyers, orders with their lines, articles."
  support:
    location: support
    description: "The help desk of both products."
  office:
    location: office
    description: "Code tables that both departments use."
"""
_MADE = ("atlas.duckdb", "beacon.sqlite", "support", "office", "policy.md")


def which_company(seed: int, small: bool) -> str:
    return f"seed {seed}, small" if small else f"seed {seed}"


def can_read_dumps() -> bool:
    """Whether the [mongodb] extra is installed."""
    from importlib.util import find_spec

    return find_spec("bson") is not None


def prepare_folder(folder: Path, company: Company, *, as_dump: bool | None = None) -> bool:
    """Write the company into an absent or empty folder; False when it is there already, whole and the same company.

    `as_dump`: tickets as a MongoDB dump, else as JSON lines; by default, a dump where one can be read."""
    check_folder(folder, which_company(company.seed, company.small))
    if (folder / FILE_NAME).exists():
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARK).write_text(f"{which_company(company.seed, company.small)}\n", encoding="utf-8")
        _clear(folder)
        _write(company, folder, can_read_dumps() if as_dump is None else as_dump)
    except OSError as error:
        raise UserError(f"cannot write the demo to '{folder}': {error.strerror or error}") from error
    return True


def check_folder(folder: Path, which: str) -> None:
    """A `UserError` where the folder cannot take this company: it holds other files, or another company."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"'{folder}' is a file: name a new or empty folder for the demo")
    if not folder.exists() or not any(folder.iterdir()):
        return
    mark = folder / MARK
    if not mark.is_file():
        raise UserError(f"'{folder}' is not empty: name a new or empty folder for the demo")
    there = mark.read_text(encoding="utf-8").strip()
    if there != which:
        raise UserError(f"'{folder}' holds the demo company of {there}: name another folder for {which}")


def _clear(folder: Path) -> None:
    """Remove what an interrupted run left: only what the demo itself writes."""
    for name in _MADE:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for left in (*folder.glob("atlas.duckdb.*"), *folder.glob("beacon.sqlite-*")):
        left.unlink()


def _write(company: Company, folder: Path, as_dump: bool) -> None:
    write_atlas(company, folder / "atlas.duckdb")
    write_beacon(company, folder / "beacon.sqlite")
    (write_dump if as_dump else write_json_lines)(company, folder / "support")
    write_office(folder / "office")
    (folder / "policy.md").write_text(POLICY, encoding="utf-8")
    part = folder / f"{FILE_NAME}.part"
    part.write_text(SOURCES.format(which=which_company(company.seed, company.small)), encoding="utf-8")
    part.replace(folder / FILE_NAME)
