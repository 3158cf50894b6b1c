"""Programs that build one value out of pieces of another: `Jan Kotas` gives `J. Kotas`.

A program is a row of parts, each a constant text or a piece of the source (its n-th word, what stands before a
delimiter, between brackets, ...), cut and cased. As every step it runs in Python and in DuckDB SQL alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from coset.relations.transformations.steps import BLANKS, lower, upper
from coset.sql_text import literal

Mode = Literal["whole", "word", "chunk", "letters", "digits", "split", "between", "after", "before last", "initials"]
Case = Literal["", "lower", "upper", "capital"]

# The same character classes for Python and for DuckDB's RE2.
RUNS: dict[str, tuple[str, str]] = {
    "word": (r"[^\W_]+", r"[\p{L}\p{N}]+"),
    "chunk": (f"[^{BLANKS}]+", r"[^\t\n\f\r \x{00A0}]+"),
    "letters": (r"[^\W\d_]+", r"[\p{L}\p{Nl}\p{No}]+"),
    "digits": (r"[0-9]+", r"[0-9]+"),
}
COMPILED = {mode: re.compile(patterns[0]) for mode, patterns in RUNS.items()}
SEPARATORS = re.compile(r"[\W_]+")
# Every word, or what stands between words: replaced by its first letter, the initials of all words remain.
WORD_OR_SEPARATORS = r"([\p{L}\p{N}])[\p{L}\p{N}]*|[^\p{L}\p{N}]+"


@dataclass(frozen=True)
class Piece:
    """A part of the source. `index` counts from 0, or from the end when negative."""

    mode: Mode
    index: int = 0
    delimiter: str = ""
    closing: str = ""
    squeeze: bool = False
    skip: int = 0
    first: int = 0
    last: int = 0
    case: Case = ""

    @property
    def words(self) -> str:
        place = {0: "first", 1: "second", 2: "third", -1: "last", -2: "last but one"}.get(
            self.index, f"{self.index + 1}th" if self.index >= 0 else f"{-self.index}th last"
        )
        base = {
            "whole": "the value",
            "word": f"the {place} word",
            "chunk": f"the {place} word",
            "letters": f"the {place} run of letters",
            "digits": f"the {place} run of digits",
            "split": f"the {place} part between '{self.delimiter}'",
            "between": f"what stands between '{self.delimiter}' and '{self.closing}'",
            "after": f"what follows the first '{self.delimiter}'",
            "before last": f"what precedes the last '{self.delimiter}'",
            "initials": "the initials of all words",
        }[self.mode]
        if self.squeeze:
            base += " without separators"
        if self.skip and self.first:
            base = f"characters {self.skip + 1} to {self.skip + self.first} of {base}"
        elif self.first:
            base = f"the first {self.first} characters of {base}" if self.first > 1 else f"the initial of {base}"
        elif self.skip:
            base += f" from character {self.skip + 1}"
        if self.last:
            base = f"the last {self.last} characters of {base}"
        return (
            base + {"": "", "lower": " in lower case", "upper": " in upper case", "capital": " capitalised"}[self.case]
        )

    def apply(self, text: str) -> str | None:
        base = self.base(text)
        if base is None:
            return None
        if self.squeeze:
            base = SEPARATORS.sub("", base)
        if self.skip:
            base = base[self.skip :]
        if self.first:
            base = base[: self.first]
        if self.last:
            base = base[-self.last :]
        if self.case == "lower":
            base = lower(base)
        elif self.case == "upper":
            base = upper(base)
        elif self.case == "capital":
            base = upper(base[:1]) + lower(base[1:])
        return base or None

    def base(self, text: str) -> str | None:
        if self.mode == "whole":
            return text
        if self.mode in COMPILED:
            return at(COMPILED[self.mode].findall(text), self.index)
        if self.mode == "initials":
            return "".join(word[0] for word in COMPILED["word"].findall(text))
        if self.mode == "split":
            return at(text.split(self.delimiter), self.index)
        if self.delimiter not in text:
            return None
        if self.mode == "before last":
            return text.rpartition(self.delimiter)[0]
        rest = text.partition(self.delimiter)[2]
        return rest.split(self.closing)[0] if self.mode == "between" else rest

    def sql(self, expression: str) -> str:
        place = self.index + 1 if self.index >= 0 else self.index
        mark = literal(self.delimiter)
        rest = f"substr({expression}, strpos({expression}, {mark}) + {len(self.delimiter)})"
        if self.mode in RUNS:
            base = f"regexp_extract_all({expression}, {literal(RUNS[self.mode][1])})[{place}]"
        elif self.mode == "split":
            base = f"string_split({expression}, {mark})[{place}]"
        elif self.mode == "before last":
            tail = f"length(string_split({expression}, {mark})[-1]) + {len(self.delimiter)}"
            base = (
                f"CASE WHEN contains({expression}, {mark}) THEN left({expression}, length({expression}) - ({tail})) END"
            )
        elif self.mode == "between":
            base = f"CASE WHEN contains({expression}, {mark}) THEN string_split({rest}, {literal(self.closing)})[1] END"
        elif self.mode == "after":
            base = f"CASE WHEN contains({expression}, {mark}) THEN {rest} END"
        elif self.mode == "initials":
            base = f"regexp_replace({expression}, {literal(WORD_OR_SEPARATORS)}, '\\1', 'g')"
        else:
            base = expression
        if self.squeeze:
            base = f"regexp_replace({base}, '[^\\p{{L}}\\p{{N}}]+', '', 'g')"
        if self.skip:
            base = f"substr({base}, {self.skip + 1})"
        if self.first:
            base = f"left({base}, {self.first})"
        if self.last:
            base = f"right({base}, {self.last})"
        if self.case in {"lower", "upper"}:
            base = f"{self.case}({base})"
        elif self.case == "capital":
            base = f"upper(left({base}, 1)) || lower(substr({base}, 2))"
        return f"nullif({base}, '')"


def at(parts: list[str], index: int) -> str | None:
    return parts[index] if -len(parts) <= index < len(parts) else None


@dataclass(frozen=True)
class Program:
    """Parts in a row, a text for a constant; `clip` cuts the outcome to so many characters (0: not at all)."""

    parts: tuple[Piece | str, ...]
    clip: int = 0

    @property
    def words(self) -> str:
        text = ", then ".join(f"'{part}'" if isinstance(part, str) else part.words for part in self.parts)
        return text + (f", cut to {self.clip} characters" if self.clip else "")

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return tuple(part for part in self.parts if isinstance(part, Piece))

    def apply(self, text: str) -> str | None:
        rendered = []
        for part in self.parts:
            piece = part if isinstance(part, str) else part.apply(text)
            if piece is None:
                return None
            rendered.append(piece)
        whole = "".join(rendered)
        return whole[: self.clip] if self.clip else whole

    def sql(self, expression: str) -> str:
        rendered = [literal(part) if isinstance(part, str) else part.sql(expression) for part in self.parts]
        whole = "(" + " || ".join(rendered) + ")"
        return f"left({whole}, {self.clip})" if self.clip else whole
