"""Values that differ only in upper and lower case.

In: a text column as observed. Out: a diagnostic whose share is the rows not written in their value's commonest way.
"""

from __future__ import annotations

from collections import Counter

from coset.evidence.diagnostics.null_words import reads_as_null
from coset.evidence.diagnostics.observed import LONGEST, Observed
from coset.evidence.diagnostics.quoting import BLANKS
from coset.state.objects import Diagnostic

PROSE = 60
"""Texts longer than this on average are prose, which is not compared as a whole."""


def mixed_case(observed: Observed) -> Diagnostic | None:
    texts: Counter[str] = Counter()
    for text, count in observed.texts():
        stripped = text.strip(BLANKS)
        if stripped and len(stripped) <= LONGEST and reads_as_null(stripped) is None:
            texts[stripped] += count
    written = Counter(text.lower() for text in texts)
    mixed: dict[str, Counter[str]] = {}
    for text, count in texts.items():
        if written[text.lower()] > 1:
            mixed.setdefault(text.lower(), Counter())[text] += count
    # Case carries information in mixed codes (aB3x), and prose repeats by chance.
    mixed = {key: group for key, group in mixed.items() if not _is_code(key, group)}
    if not mixed or sum(map(len, written)) > PROSE * len(written):
        return None
    minor = sum(sum(group.values()) - max(group.values()) for group in mixed.values())
    commonest = sorted(mixed.values(), key=lambda group: -sum(group.values()))
    shown = "; ".join(" = ".join(f"'{text[:40]}'" for text, _ in group.most_common(3)) for group in commonest[:3])
    return Diagnostic(
        kind="mixed_case",
        share=observed.share(minor),
        detail=f"{len(mixed)} {'values differ' if len(mixed) > 1 else 'value differs'} only in letter case: {shown}.",
        expression=f"lower({observed.bare_text()})",
        type="VARCHAR",
        examples=tuple(text for group in commonest[:3] for text, _ in group.most_common(2)),
    )


def _is_code(key: str, group: Counter[str]) -> bool:
    digits = any(letter.isdigit() for letter in key)
    if not digits or " " in key:
        return False
    return any(not (text.isupper() or text.islower() or text.istitle()) for text in group)
