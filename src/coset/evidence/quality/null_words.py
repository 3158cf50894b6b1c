"""Words and signs that people write where there is no value.

In: a text. Out: whether it reads as "no value", and how surely. Knows nothing of the column it comes from.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

_SURE = (
    "", "n/a", "n.a.", "n.a", "n\\a", "#n/a", "#na", "null", "nan", "nil", "none", "na",
    "-", "--", "---", "?", "??", "???",
    "unknown", "undefined", "missing", "tbd", "tba", "tbc", "not available", "not applicable", "not provided",
    "not specified", "not known", "no data", "no value", "not given", "not set", "unspecified", "#value!", "#ref!",
    "#div/0!", "#name?", "#null!", "<null>", "<na>", "\\n", "(null)", "(blank)", "(none)", "[null]", "[none]",
)  # fmt: skip
EVERYWHERE = tuple(word for word in _SURE if len(word) < 16)
"""The words that are counted over every row, not only over those that are sampled."""

_WORDS = frozenset(_SURE)
_ABSENCE = (
    r"(?:not|non|no|none|null|nil|nan|n/?a|missing|unknown|undefined|unspecified"
    r"|blank|empty|unavailable|absent|tb[acd])"
)
_BRACKETED = re.compile(rf"(?:\[|\(|<|\{{){{1,2}}\s*{_ABSENCE}\b[\w\s/'-]*(?:\]|\)|>|\}}){{1,2}}", re.IGNORECASE)
_PHRASE = re.compile(
    r"(?:data |information |value )?(?:is )?not (?:yet )?"
    r"(?:available|applicable|provided|specified|given|known|recorded|reported|stated|set|entered|found|disclosed)"
    r"|no (?:data|value|information|info|entry|record)(?: available| found)?"
    r"|to be (?:announced|determined|confirmed|defined)|information (?:unavailable|missing)",
    re.IGNORECASE,
)
_ONLY_SIGNS = re.compile(r"[-–—_.*?~=/\\]{1,10}")

# Words that are values as often as they are gaps: `None` is an answer to "which allergies?", `NA` is Namibia.
_DOUBTFUL = frozenset(("none", "na", "unknown", "missing", "undefined", "nil", "unspecified", "not applicable", "tba"))

Reading = Literal["sure", "doubtful"]


@lru_cache(maxsize=20_000)
def reads_as_null(text: str) -> Reading | None:
    """`text` is stripped of blanks already."""
    if len(text) > 40:
        return None
    folded = text.lower()
    if folded in _DOUBTFUL:
        return "doubtful"
    if folded in _WORDS:
        return "sure"
    first = text[0]
    if first in "[(<{":
        return "sure" if _BRACKETED.fullmatch(text) else None
    if not first.isalnum():
        return "sure" if _ONLY_SIGNS.fullmatch(text) else None
    return "sure" if " " in text and _PHRASE.fullmatch(text) else None
