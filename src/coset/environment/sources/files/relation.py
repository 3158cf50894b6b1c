"""How DuckDB is told to read files: the call of a reader function as SQL text, and what that call gives.

In: files and named options. Out: SQL such as `read_csv(['/data/a.csv'], header=true, ...)`, safe for any file name.
Nothing here opens a file or knows what the options mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from coset.environment.source import Column
from coset.sql_text import literal

Option = tuple[str, str | int | float | bool]


class SqlText(str):
    """An option's value that is SQL already (a struct of column types) and is written as it stands, not as a string."""


@dataclass(frozen=True)
class ReaderCall:
    """One of DuckDB's file functions with the files (patterns made by `literal_path`) and options it is called with."""

    reader: str
    files: tuple[Path, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Shape:
    """What looking at the files of one table found. `relation` is SQL that stands after FROM.

    `place` is the same relation as a plain call of a reader; None when the rows have to come through `read`,
    because the files are read from a copy in UTF-8 or because the columns are expressions. `sheet` is set for Excel,
    where there is no relation in SQL at all.
    """

    columns: tuple[Column, ...]
    rows: int
    relation: str = ""
    place: ReaderCall | None = None
    sheet: str | None = None
    is_only_sheet: bool = False


class Unreadable(Exception):
    """A file that is refused, with a reason that stands after its name: "line 3 has 2 values where ..."."""


class TooLarge(Unreadable):
    """A file that is refused because of a limit."""


def literal_path(path: Path) -> Path:
    """A pattern that matches this path alone. DuckDB expands `*`, `?` and `[` in every file name that it is given,
    and would read another file that happens to match."""
    return Path("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))


def types_struct(columns: tuple[Column, ...] | list[tuple[str, str]]) -> SqlText:
    """The `columns` (or `hive_types`) option: names and types, in order."""
    pairs = [(item.name, item.type) if isinstance(item, Column) else item for item in columns]
    return SqlText("{" + ", ".join(f"{literal(name)}: {literal(type)}" for name, type in pairs) + "}")


def reader_sql(place: ReaderCall) -> str:
    """The call as SQL that stands after FROM."""
    files = ", ".join(literal(str(file)) for file in place.files)
    options = "".join(f", {name} = {_option_sql(value)}" for name, value in place.options)
    return f"{place.reader}([{files}]{options})"


def _option_sql(value: str | int | float | bool) -> str:
    if isinstance(value, SqlText):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return literal(value) if isinstance(value, str) else repr(value)
