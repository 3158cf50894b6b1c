"""Values that are a list of short names with one separator between them.

In: a quoted column and a sample of its values. Out: a candidate whose expression gives the list. A list is told from
prose by its short elements, and by elements that come back in other values.
"""

from __future__ import annotations

from collections.abc import Sequence

from coset.evidence.facets.candidate import Candidate
from coset.sql_text import literal

_SEPARATORS = (";", "|", "\n", " / ", "<br>", ",")
_NAMES = {"\n": "a new line", " / ": '" / "'}


def list_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    for separator in _SEPARATORS:
        holding = [value for value in values if separator in value.strip(separator + " ")]
        if len(holding) < max(floor, 0.3 * len(values)):
            continue
        lists = [[element.strip() for element in value.split(separator) if element.strip()] for value in values]
        if not _look_like_names([elements for elements in lists if elements]):
            continue
        split = f"str_split({column}, {literal(separator)})"
        cleaned = f"list_filter(list_transform({split}, lambda x: trim(x)), lambda x: x <> '')"
        several = f"CASE WHEN contains({column}, {literal(separator)}) THEN {cleaned} ELSE [trim({column})] END"
        shown = _NAMES.get(separator, f'"{separator}"')
        note = f"the elements of the list, separated by {shown}; a value without it is a list of one"
        return [Candidate("elements", "list", several, "VARCHAR[]", note, 0.9, "CAST(NULL AS VARCHAR)")]
    return []


def _look_like_names(lists: Sequence[Sequence[str]]) -> bool:
    short = sum(all(len(element.split()) <= 5 for element in elements) for elements in lists)
    sentences = sum(elements[-1].endswith((".", "!", "?")) for elements in lists)
    elements = [element for one in lists for element in one]
    words = sum(len(element.split()) for element in elements)
    if short < 0.9 * len(lists) or sentences > 0.3 * len(lists) or words > 3.5 * len(elements):
        return False
    lettered = sum(any(letter.isalpha() for letter in element) for element in elements)
    come_back = len(elements) - len(set(elements))
    return lettered >= 0.8 * len(elements) and come_back >= 0.4 * len(elements)
