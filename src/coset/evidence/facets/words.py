"""How text is cut into words, and which words say nothing alone.

In: text. Out: tokens with their places. The list of small words covers four languages; text in another is only read
with a little less taste.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TOKEN = re.compile(r"\d[\d,.]*\d|\w+(?:['’\-]\w+)*|[^\w\s]|\n")

_SMALL = """
a about above after again all also am an and any are as at be because been before being below between both but by
can could did do does doing down during each few for from further had has have having he her here hers him his how
i if in into is it its itself just like me more most my no nor not now of off on once one only or other our out
over own s same she should so some t than that the their them then there these they this those through to too
under until up us very was we were what when where which while who whom why will with would you your
der die das den dem des ein eine einer eines und oder ist sind war mit von zu im am auf für
le la les un une des du de et ou est sont dans sur pour par avec
el los las una y o es son en con por para del al
"""
SMALL_WORDS = frozenset(_SMALL.split())
_MONTHS = "january february march april may june july august september october november december"
MONTH_WORDS = frozenset(_MONTHS.split()) | {month[:3] for month in _MONTHS.split()} | {"sept"}


class Token(NamedTuple):
    """A word, number or sign: as written, in lower case, and where it stands."""

    text: str
    lower: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha()

    @property
    def says_something(self) -> bool:
        return self.is_word and len(self.text) > 1 and self.lower not in SMALL_WORDS


def tokens(text: str) -> list[Token]:
    return [Token(word := match.group(), word.lower(), *match.span()) for match in TOKEN.finditer(text)]
