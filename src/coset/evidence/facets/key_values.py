"""Texts that list their facts as `key: value` or `key=value`.

In: a quoted column and a sample of its values. Out: one candidate for each key that often stands at the beginning of
the text, of a line or after a separator. The type of a value is decided from the sample.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from coset.evidence.facets.candidate import Candidate, as_number, escaped, extract, trimmed

_SEPARATORS = r"\n;|,&\t"
_PAIR = re.compile(
    rf"(?:^|[{_SEPARATORS}(\[]|<[^<>]{{1,80}}>|\\n|[.!?]\s)\s*"
    r"([^\W\d_][\w \-/.']{0,30}?)\s*(=|:(?!//))\s*(?=([^\s]?))"
)
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def key_value_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    documents: Counter[str] = Counter()
    signs: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    pairs = 0
    for value in values:
        seen = set()
        for match in _PAIR.finditer(value):
            key = match.group(1).lower()
            clock = key[-1].isdigit() and match.group(3).isdigit()
            if key not in seen and len(key.split()) <= 4 and not clock:
                seen.add(key)
                signs[match.group(2)] += 1
                spellings.setdefault(key, Counter())[match.group(1)] += 1
        pairs += len(seen)
        documents.update(sorted(seen))
    often = [key for key, count in documents.most_common(40) if count >= floor]
    keys = [spellings[key].most_common(1)[0][0] for key in often]
    # Speakers of a talk, or words before a colon in prose, are many and rare; the keys of a list are few and come back.
    if not keys or sum(documents[key] for key in often) < 0.3 * pairs:
        return []
    sign = signs.most_common(1)[0][0]
    return [_candidate(column, key, keys, sign, values) for key in keys[:15]]


def _candidate(column: str, key: str, keys: Sequence[str], sign: str, values: Sequence[str]) -> Candidate:
    others = "|".join(escaped(other) for other in keys)
    start = rf"(?:^|[{_SEPARATORS}(\[>.!?]|\\n)\s*{escaped(key)}\s*{sign}\s*"
    after = rf"\s*(?:[{_SEPARATORS})\]]|\\n|<[^<>]*>|[.!?])?\s*(?:{others})\s*{sign}"
    # One key alone stands in prose: what it says ends with the sentence.
    sentence = r"|[.!?]\s" if len(keys) == 1 else ""
    pattern = rf"(?i){start}(.*?)(?:{after}{sentence}|\n|\\n|[;|]|<|$)"
    text = trimmed(extract(column, pattern))
    compiled = re.compile(pattern)
    read = [match.group(1).strip() for match in map(compiled.search, values) if match and match.group(1).strip()]
    expression, kind = text, "VARCHAR"
    if read and sum(_NUMBER.fullmatch(value) is not None for value in read) >= 0.95 * len(read):
        padded = any(len(value) > 1 and value[0] == "0" and "." not in value for value in read)
        if not padded:
            expression, kind = as_number(text), "DOUBLE"
    elif read and sum(_ISO_DATE.fullmatch(value) is not None for value in read) >= 0.95 * len(read):
        expression, kind = f"try_cast({text} AS DATE)", "DATE"
    return Candidate(key, "key_value", expression, kind, f'what stands after "{key}{sign}"', 0.98, text)
