"""Programs that build one value out of pieces of another, and learning them: `Jan Kotas` gives `J. Kotas`.

A program is a row of parts, each a constant text or a piece of the source (its n-th word, what stands before a
delimiter, between brackets, ...), cut and cased. As every step it runs in Python and in DuckDB SQL alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
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


LONGEST_SOURCE, LONGEST_TARGET = 160, 100
BEAM = 24
ALIKE_KEPT = 8
MOST_PARTS = 7
MOST_DELIMITERS = 8
# When so many targets were heard and no program has three votes, there is none to be found.
HEARD_FIRST = 15
LEAST_VOTES, LEAST_COMMON_VOTES = 0.08, 0.3
SAME_VOTERS_KEPT = 10
# Beyond this length a target is made of long pieces or not at all; trying every cut would take too long.
LONG_TARGET = 32
LONGEST_END = 6
CUT_COST, END_COST, CASE_COST, SQUEEZE_COST, LITERAL_COST = 0.5, 0.9, 0.3, 0.4, 0.4
# Indexes that a person would use; more would only add programs that hold by accident.
PLACES = (0, 1, 2, 3, -1, -2)
ALNUM = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Offer:
    """A piece and the text it gives for the source at hand."""

    text: str
    piece: Piece
    cost: float


def offers(source: str) -> list[Offer]:
    """Every piece of the source worth trying, as it is, in other cases, and its ends."""
    plain = plain_offers(source)
    return [*variants([*plain, *initials(source)]), *ends(plain)]


def initials(source: str) -> list[Offer]:
    piece = Piece("initials")
    text = piece.base(source) or ""
    return [Offer(text, piece, 1.6)] if len(text) > 1 else []


def ends(plain: Iterable[Offer]) -> Iterator[Offer]:
    """The last digits of a piece, or its last few characters (`96` of `1896`)."""
    for offer in plain:
        if offer.piece.mode in {"whole", "word"}:
            for length in range(2, min(LONGEST_END + 1, len(offer.text))):
                text = offer.text[-length:]
                if text.isdigit() or (length > 2 and text.isalnum()):
                    yield Offer(text, replace(offer.piece, last=length), offer.cost + END_COST)


def plain_offers(source: str) -> list[Offer]:
    """Every piece of the source as it is, the plainest first for each text."""
    found: dict[tuple[str, str], Offer] = {}

    def add(text: str | None, piece: Piece, cost: float) -> None:
        if text and (text, piece.mode) not in found:
            found[text, piece.mode] = Offer(text, piece, cost)

    add(source, Piece("whole"), 1.0)
    for mode, extra in (("word", 1.0), ("chunk", 1.02), ("digits", 1.1), ("letters", 1.15)):
        parts = COMPILED[mode].findall(source)
        for place in PLACES:
            if -len(parts) <= place < len(parts):
                # From the start and from the end are both kept: which one generalises, the votes decide.
                text = parts[place]
                key = (text, f"{mode}{place >= 0}")
                if key not in found:
                    cost = extra + 0.02 * abs(place)
                    found[key] = Offer(text, Piece(mode, place), cost)  # type: ignore[arg-type]
    runs = list(dict.fromkeys(SEPARATORS.findall(source)))[:MOST_DELIMITERS]
    marks = [mark for run in runs for mark in run.strip() if mark != run]
    delimiters = list(dict.fromkeys(runs + marks))[:MOST_DELIMITERS]
    for mark in delimiters:
        parts = source.split(mark)
        for place in (0, 1, 2, -1, -2):
            if -len(parts) <= place < len(parts):
                key = (parts[place], f"split{mark}{place >= 0}")
                if parts[place] and key not in found:
                    found[key] = Offer(parts[place], Piece("split", place, mark), 1.2 + 0.02 * abs(place))
        add(source.partition(mark)[2], Piece("after", 0, mark), 1.3)
        add(source.rpartition(mark)[0], Piece("before last", 0, mark), 1.3)
        for closing in delimiters:
            if closing != mark:
                piece = Piece("between", 0, mark, closing)
                text = piece.base(source)
                if text and (text, f"between{mark}{closing}") not in found:
                    found[text, f"between{mark}{closing}"] = Offer(text, piece, 1.5)
    return list(found.values())


def variants(plain: Iterable[Offer]) -> Iterator[Offer]:
    """The same pieces in other cases and without inner separators."""
    for offer in plain:
        yield offer
        texts = [(offer.text, offer.piece, offer.cost)]
        squeezed = SEPARATORS.sub("", offer.text)
        if squeezed and squeezed != offer.text and offer.piece.mode not in {"digits", "letters"}:
            texts.append((squeezed, replace(offer.piece, squeeze=True), offer.cost + SQUEEZE_COST))
            yield Offer(*texts[-1])
        for text, piece, cost in texts:
            cased: tuple[tuple[Case, str], ...] = (
                ("lower", lower(text)),
                ("upper", upper(text)),
                ("capital", upper(text[:1]) + lower(text[1:])),
            )
            for case, changed in cased:
                if changed != text:
                    yield Offer(changed, replace(piece, case=case), cost + CASE_COST)


class TargetColumn:
    """What the targets have in common: constant chunks that a program may hold as text, and their greatest length."""

    def __init__(self, targets: Sequence[str]) -> None:
        counts = Counter(word for target in targets for word in {*COMPILED["word"].findall(target)})
        floor = max(2, 0.3 * len(targets))
        self.chunks = [word for word, count in sorted(counts.items()) if count >= floor and not word.isdigit()]
        prefix, suffix = common_prefix(targets), common_prefix([target[::-1] for target in targets])[::-1]
        self.chunks += [text for text in (prefix, suffix) if ALNUM.search(text)]
        longest = max(map(len, targets), default=0)
        at_longest = sum(len(target) == longest for target in targets)
        shorter = any(len(target) < longest for target in targets)
        self.clip = longest if shorter and at_longest >= 2 and longest <= 24 else 0


def common_prefix(texts: Sequence[str]) -> str:
    if len(texts) < 2:
        return ""
    one, other = min(texts), max(texts)
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]


Parts = tuple[Piece | str, ...]
# What it costs so far, its parts, and where in the target each of them starts.
Partial = tuple[float, Parts, tuple[int, ...]]


def learn(
    source: str, target: str, column: TargetColumn, source_offers: Sequence[Offer]
) -> list[tuple[float, Program]]:
    """The cheapest programs that turn the source into the target, with their costs."""
    starting: dict[str, list[Offer]] = {}
    for offer in source_offers:
        starting.setdefault(offer.text[0], []).append(offer)
    following = [list(continuations(target, place, column, starting)) for place in range(len(target))]
    leads_on = [False] * len(target) + [True]
    for place in range(len(target) - 1, -1, -1):
        following[place] = [step for step in following[place] if leads_on[place + step[0]]]
        leads_on[place] = bool(following[place])
    beams: list[list[Partial]] = [[] for _ in range(len(target) + 1)]
    beams[0] = [(0.0, (), ())]
    width = BEAM if len(target) <= LONG_TARGET else BEAM // 3
    for place, steps in enumerate(following):
        for spent, parts, borders in narrowed(beams[place], width) if steps else ():
            for length, part, cost in steps:
                if isinstance(part, str) and parts and isinstance(parts[-1], str):
                    beams[place + length].append((spent + cost, (*parts[:-1], parts[-1] + part), borders))
                elif len(parts) < MOST_PARTS:
                    beams[place + length].append((spent + cost, (*parts, part), (*borders, place)))
    cheapest: dict[Parts, float] = {}
    for cost, parts, _ in narrowed(beams[len(target)], 2 * BEAM):
        if any(isinstance(part, Piece) for part in parts):
            cheapest.setdefault(parts, cost)
    return [(cost, Program(parts)) for parts, cost in cheapest.items()][:BEAM]


def narrowed(beam: list[Partial], width: int) -> list[Partial]:
    """The cheapest; only a few that cut the target at the same places, for they mostly say the same in other words.

    Sorting is stable and the order of arrival fixed, so equal costs always come out the same way.
    """
    kept: list[Partial] = []
    alike: Counter[tuple[int, ...]] = Counter()
    for partial in sorted(beam, key=lambda item: item[0]):
        alike[partial[2]] += 1
        if alike[partial[2]] <= ALIKE_KEPT:
            kept.append(partial)
            if len(kept) == width:
                break
    return kept


@lru_cache(maxsize=65536)
def cut(piece: Piece, length: int) -> Piece:
    return replace(piece, first=length)


def continuations(
    target: str, place: int, column: TargetColumn, starting: dict[str, list[Offer]]
) -> Iterator[tuple[int, Piece | str, float]]:
    """What may come next: a whole piece, a cut piece, a separator, or a chunk that the targets share."""
    rest = target[place:]
    long = len(target) > LONG_TARGET
    for offer in starting.get(rest[0], ()):
        if rest.startswith(offer.text):
            yield len(offer.text), offer.piece, offer.cost
            if len(offer.text) == 1:
                # A one-letter word is its own initial: `J Smith` must not hide the rule that `John Smith` shows.
                yield 1, cut(offer.piece, 1), offer.cost + CUT_COST
            continue
        if offer.piece.last or offer.piece.mode == "initials":
            continue
        length = 0
        while length < min(len(rest), len(offer.text)) and rest[length] == offer.text[length]:
            length += 1
        # A few digits of a number agree by accident far too often.
        if (not offer.text.isdigit() or length >= 3) and not long:
            yield length, cut(offer.piece, length), offer.cost + CUT_COST + 0.01 * length
        if (length > 1 or long) and not offer.text.isdigit():
            yield 1, cut(offer.piece, 1), offer.cost + CUT_COST
    separator = SEPARATORS.match(rest)
    if separator:
        yield separator.end(), separator[0], LITERAL_COST
        if separator.end() > 1:
            yield 1, rest[0], LITERAL_COST
    for chunk in column.chunks:
        if rest.startswith(chunk):
            yield len(chunk), chunk, LITERAL_COST + 0.6


def propose(pairs: Sequence[tuple[str, str]], targets: Sequence[str], most: int) -> list[Program]:
    """The programs that most targets vote for, cheapest first among equals. `pairs` are (source, target)."""
    column = TargetColumn(targets)
    votes: dict[Program, set[str]] = {}
    costs: dict[Program, float] = {}
    prepared: dict[str, list[Offer]] = {}
    heard: set[str] = set()
    for source, target in pairs:
        if len(source) > LONGEST_SOURCE or not 0 < len(target) <= LONGEST_TARGET or not source:
            continue
        if target not in heard and len(heard) >= HEARD_FIRST and max(map(len, votes.values()), default=0) < 3:
            return []
        heard.add(target)
        if source not in prepared:
            prepared[source] = offers(source)
        for cost, program in learn(source, target, column, prepared[source]):
            votes.setdefault(program, set()).add(target)
            costs[program] = min(cost, costs.get(program, 1e9))
    floor = least_votes(len(heard))
    elected = [program for program in votes if len(votes[program]) >= floor]
    elected.sort(key=lambda program: (-len(votes[program]), costs[program], repr(program)))
    # Programs with the same voters mostly say the same in other words; a few of them are enough.
    by_voters: Counter[frozenset[str]] = Counter()
    ranked: list[Program] = []
    for program in elected:
        voters = frozenset(votes[program])
        by_voters[voters] += 1
        if by_voters[voters] <= SAME_VOTERS_KEPT and len(ranked) < most:
            ranked.append(program)
    if column.clip:
        ranked += [replace(program, clip=column.clip) for program in ranked[: most // 2]]
    return ranked


def least_votes(targets: int) -> float:
    """One vote proves nothing, save where there are hardly any voters."""
    return max(min(2, targets), LEAST_VOTES * targets)


def propose_common(pairs: Sequence[tuple[str, str]], most: int) -> list[tuple[Piece, Piece]]:
    """Pieces of both sides that give the same text, by the number of right values that vote for them."""
    votes: dict[tuple[Piece, Piece], set[str]] = {}
    costs: dict[tuple[Piece, Piece], float] = {}
    prepared: dict[str, list[Offer]] = {}
    heard: set[str] = set()
    for one, other in pairs:
        heard.add(other)
        for value in (one, other):
            if value not in prepared:
                prepared[value] = [offer for offer in plain_offers(value[:LONGEST_SOURCE]) if len(offer.text) >= 4]
        by_text: dict[str, list[Offer]] = {}
        for offer in prepared[one]:
            by_text.setdefault(offer.text, []).append(offer)
        for right_offer in prepared[other]:
            for left_offer in by_text.get(right_offer.text, ()):
                pieces = (left_offer.piece, right_offer.piece)
                votes.setdefault(pieces, set()).add(other)
                costs[pieces] = left_offer.cost + right_offer.cost
    elected = [pieces for pieces in votes if len(votes[pieces]) >= max(2, LEAST_COMMON_VOTES * len(heard))]
    elected.sort(key=lambda pieces: (-len(votes[pieces]), costs[pieces], repr(pieces)))
    # Pieces with the same voters are mostly one and the same thing said in several ways.
    by_voters: dict[frozenset[str], tuple[Piece, Piece]] = {}
    for pieces in elected:
        by_voters.setdefault(frozenset(votes[pieces]), pieces)
    return list(by_voters.values())[:most]
