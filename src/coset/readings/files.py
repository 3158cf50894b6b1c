"""Readings as a file that can be kept, edited and carried to another environment: YAML, one entry an object.

In: readings. Out: text, and back. A file that cannot be understood is refused with the entry that is wrong; an entry
about something that is not here is told and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coset.errors import UserError
from coset.readings.reading import Reader, Reading


class ReadingEntry(BaseModel):
    """One reading as a file has it."""

    model_config = ConfigDict(extra="forbid")

    reference: str = Field(min_length=1)
    name: str = Field(min_length=1, max_length=200)
    meaning: str = Field(default="", max_length=2000)
    synonyms: list[str] = []
    reader: Reader = "person"
    confidence: float = Field(default=1.0, ge=0, le=1)
    source: str = ""


class ReadingFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    readings: list[ReadingEntry]


def readings_as_text(readings: Iterable[Reading]) -> str:
    entries = [
        ReadingEntry(
            reference=each.reference, name=each.name, meaning=each.meaning, synonyms=list(each.synonyms),
            reader=each.reader, confidence=each.confidence, source=each.source,
        ).model_dump(exclude_defaults=True)
        for each in readings
    ]  # fmt: skip
    return yaml.safe_dump({"version": 1, "readings": entries}, sort_keys=False, allow_unicode=True, width=120)


def readings_from_text(
    text: str, tables: Mapping[str, str], place: str, find: Callable[[str], Sequence[str]] = lambda name: ()
) -> tuple[list[Reading], list[str]]:
    """The readings of a file, and the names in it that are not here, or are several things. `tables`: the table of each
    reference. `find`: the references that a name may mean."""
    try:
        content = ReadingFile.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise UserError(f"'{place}' is not valid YAML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise UserError(f"'{place}' is no file of readings: {where}: {first['msg']}") from None
    found, unknown = [], []
    for entry in content.readings:
        meant = [entry.reference] if entry.reference in tables else find(entry.reference)
        if len(meant) == 1 and meant[0] in tables:
            found.append(
                Reading(
                    meant[0], tables[meant[0]], entry.name, entry.meaning, tuple(entry.synonyms),
                    entry.reader, entry.confidence, entry.source or place,
                )
            )  # fmt: skip
        else:
            unknown.append(entry.reference)
    return found, unknown
