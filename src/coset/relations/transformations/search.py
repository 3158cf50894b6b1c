"""Find the rules that join two columns.

`find_rules` measures the standard rewritings, learns programs where those leave values unmatched, and keeps the best
rule and those that join further values. Columns that have nothing to do with each other give an empty list, soon.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from coset.relations.transformations.programs import COMPILED, Piece, Program, common_prefix, propose, propose_common
from coset.relations.transformations.steps import (
    DATE_SHAPES,
    WITHOUT_SEPARATORS,
    WITHOUT_STRAY,
    WITHOUT_ZEROS,
    Affix,
    Date,
    JoinRule,
    Kind,
    Lower,
    Number,
    Outcome,
    Recipe,
    Step,
    Trim,
    Unaccented,
    as_rule,
    compare,
    keys,
    lower,
    measure,
)

LOOKED_AT = 200
NO_DIGITS = re.compile(r"^[^0-9]+")
NO_DIGITS_AT_END = re.compile(r"[^0-9]+\Z")

BOTH_SIDES: tuple[tuple[Kind, tuple[Step, ...]], ...] = (
    ("identity", ()),
    ("trim", (Trim(),)),
    ("case", (Trim(), Lower())),
    ("accents", (Trim(), Lower(), Unaccented())),
    ("stray_characters", (WITHOUT_STRAY,)),
    ("stray_characters", (WITHOUT_STRAY, Trim(), Lower(), Unaccented())),
    ("zero_padding", (WITHOUT_ZEROS,)),
    ("zero_padding", (WITHOUT_STRAY, WITHOUT_ZEROS, Lower())),
    ("numeric", (Number(),)),
    ("separators", (WITHOUT_SEPARATORS,)),
    ("separators", (WITHOUT_SEPARATORS, Lower(), Unaccented())),
    ("separators", (WITHOUT_ZEROS, WITHOUT_SEPARATORS, Lower(), Unaccented())),
)


def candidates(
    left: Sequence[str], right: Sequence[str], *, strangers: bool = False
) -> Iterator[tuple[Kind, Recipe, Recipe]]:
    """`strangers` are columns that even the last of `BOTH_SIDES` does not match; only numbers are worth a try then."""
    for kind, steps in BOTH_SIDES:
        if not strangers or kind == "numeric":
            yield kind, Recipe(steps), Recipe(steps)
    right_dates = date_formats(right)
    for one in date_formats(left) if right_dates else ():
        for other in right_dates:
            if one != other and Date(one).fields == Date(other).fields:
                outcome = date_outcome(one, other)
                yield "date", Recipe((Date(one, outcome),)), Recipe((Date(other, outcome),))
    left_affixes, right_affixes = affixes(left), affixes(right)
    for after in ((), (WITHOUT_ZEROS,), (Lower(),)):
        for affix in left_affixes:
            yield affix_kind(affix), Recipe((affix, *after)), Recipe(after)
        for affix in right_affixes:
            yield affix_kind(affix), Recipe(after), Recipe((affix, *after))
        for one_affix in left_affixes:
            for other_affix in right_affixes:
                if one_affix != other_affix:
                    yield "prefix_swap", Recipe((one_affix, *after)), Recipe((other_affix, *after))


def affix_kind(affix: Affix) -> Kind:
    return "prefix" if affix.prefix else "suffix"


def affixes(values: Sequence[str]) -> list[Affix]:
    """Constant starts and ends: shared by all values, or the text before or after the digits of half of them."""
    looked = [value for value in values[:LOOKED_AT] if value]
    if len(looked) < 2:
        return []
    prefixes = [common_prefix(looked).rstrip("0123456789")]
    suffixes = [common_prefix([value[::-1] for value in looked])[::-1].lstrip("0123456789")]
    for pattern, found in ((NO_DIGITS, prefixes), (NO_DIGITS_AT_END, suffixes)):
        counts = Counter(match[0] for value in looked if (match := pattern.search(value)) and match[0] != value)
        for text, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:1]:
            if count >= len(looked) / 2:
                found.append(text)
    prefixes = [text for text in dict.fromkeys(prefixes) if text and text.isprintable()]
    suffixes = [text for text in dict.fromkeys(suffixes) if text and text.isprintable()]
    found_affixes = [Affix(prefix) for prefix in prefixes] + [Affix("", suffix) for suffix in suffixes]
    return found_affixes + [Affix(prefix, suffix) for prefix in prefixes for suffix in suffixes]


def date_outcome(one: str, other: str) -> str:
    """What both formats can say: without the century where one of them leaves it out."""
    fields = Date(one).fields
    if "t" in fields:
        return "%H:%M:%S" if "%S" in one and "%S" in other else "%H:%M"
    year = [] if "y" not in fields else ["%y"] if "%y" in one or "%y" in other else ["%Y"]
    return "-".join([*year, "%m"] + (["%d"] if "d" in fields else []))


def date_formats(values: Sequence[str]) -> list[str]:
    """Formats that read at least nine in ten of the values looked at; day first and month first may both."""
    looked = [value for value in values[:LOOKED_AT] if value]
    if not looked or not any(value[:1].isdigit() or value[:3].isalpha() for value in looked[:20]):
        return []
    return [
        format
        for format in DATE_SHAPES
        if Date(format).apply(looked[0]) or Date(format).apply(looked[-1])
        if sum(Date(format).apply(value) is not None for value in looked) >= 0.9 * len(looked)
    ]


TARGETS_TRIED, SOURCES_PER_TARGET = 40, 4
# Up to here every source may be tried with every target, which finds rules that share no n-gram (initials).
FEW = 120
TARGETS_TRIED_FULLY = 8
LONGEST = 160


def sample(values: Sequence[str], most: int) -> list[str]:
    """The same values for the same column, whatever its order: those with the lowest checksum."""
    if len(values) <= most:
        return list(values)
    ranked = sorted(values, key=lambda value: (zlib.crc32(value.encode("utf-8", "surrogatepass")), value))
    return ranked[:most]


def shingles(value: str) -> set[str]:
    """Words, and character 4-grams (3-grams of short words) within them."""
    found: set[str] = set()
    for word in COMPILED["word"].findall(lower(value[:LONGEST])):
        found.add(f"={word}")
        size = 4 if len(word) > 4 else 3
        found.update(word[start : start + size] for start in range(len(word) - size + 1))
    return found


def likely_pairs(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[str, str]]:
    tried = sample(targets, TARGETS_TRIED)
    wanted = {target: shingles(target) for target in tried}
    vocabulary = set().union(*wanted.values()) if wanted else set()
    places: dict[str, list[int]] = {}
    for position, source in enumerate(sources):
        for shingle in shingles(source) & vocabulary:
            places.setdefault(shingle, []).append(position)
    pairs: list[tuple[str, str]] = []
    common = max(3, len(sources) // 20)
    for target in tried:
        scores: Counter[int] = Counter()
        for shingle in sorted(wanted[target]):
            found = places.get(shingle, ())
            if len(found) <= common:
                for position in found:
                    scores[position] += 1000 // len(found)
        best = sorted(scores, key=lambda position: (-scores[position], position))[:SOURCES_PER_TARGET]
        pairs += [(sources[position], target) for position in best]
    if len(sources) <= FEW and len(targets) <= FEW and len({target for _, target in pairs}) < len(tried) / 2:
        few = tried[:TARGETS_TRIED_FULLY]
        pairs += [(source, target) for target in few for source in sources if could_be_made_of(target, source)]
    return list(dict.fromkeys(pairs))


def could_be_made_of(target: str, source: str) -> bool:
    """Whether most letters and digits of the target occur in the source at all."""
    letters = [letter for letter in lower(target) if letter.isalnum()]
    there = set(lower(source))
    return bool(letters) and sum(letter in there for letter in letters) >= 0.6 * len(letters)


# A rule must match at least this share of the smaller side; learned ones more, since they are chosen among thousands.
LEAST_SHARE, LEAST_LEARNED_SHARE = 0.05, 0.25
# When this share of the smaller side is matched there is nothing left to learn from.
ENOUGH = 0.95
PROGRAMS_TRIED = 60
# Programs are tried on so many sources and targets first; the best are then measured on all.
TRIED_ON = 500
PROGRAMS_MEASURED = 10
DOUBLES_KEPT = 2
MOST_VALUES = 100_000


# Longer values are prose, not keys: they are left out.
LONGEST_VALUE = 2000


def distinct(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if isinstance(value, str) and 0 < len(value) <= LONGEST_VALUE))


def find_rules(left: Sequence[str | None], right: Sequence[str | None], *, limit: int = 3) -> list[JoinRule]:
    """The rules that join two columns, best first; each further rule joins values that those before it do not."""
    left_values, right_values = sample(distinct(left), MOST_VALUES), sample(distinct(right), MOST_VALUES)
    if not left_values or not right_values or limit < 1:
        return []
    smaller = min(len(left_values), len(right_values))
    found = best_standard(left_values, right_values)
    options: list[tuple[Kind, Outcome]] = [found] if found else []
    if not found or found[1].strength < ENOUGH * smaller:
        options += learned(left_values, right_values)
    return choose(options, left_values, right_values, limit)


def best_standard(left: Sequence[str], right: Sequence[str]) -> tuple[Kind, Outcome] | None:
    best: tuple[Kind, Outcome] | None = None
    smaller = min(len(left), len(right))
    # What the boldest rewriting of both sides cannot match, none of the plainer ones can: most columns end here.
    boldest = Recipe(BOTH_SIDES[-1][1])
    strangers = not measure(left, right, boldest, boldest).shared
    for kind, left_recipe, right_recipe in candidates(left, right, strangers=strangers):
        outcome = measure(left, right, left_recipe, right_recipe)
        # A bolder rewriting must match clearly more than a plainer one.
        if best is None or outcome.strength > best[1].strength * 1.01 + 0.5:
            best = (kind, outcome)
        if best[1].strength >= smaller:
            break
    return best if best and holds(best[1], left, right, LEAST_SHARE) else None


def holds(outcome: Outcome, left: Sequence[str], right: Sequence[str], least: float) -> bool:
    smaller = min(len(left), len(right))
    return len(outcome.shared) >= min(2, smaller) and outcome.strength >= least * smaller


def learned(left: Sequence[str], right: Sequence[str]) -> list[tuple[Kind, Outcome]]:
    """Programs in both directions, on the values as they are and, where that is not enough, on folded ones."""
    found: list[tuple[Kind, Outcome]] = []
    smaller = min(len(left), len(right))
    for before in foldings(left, right):
        read_left = distinct(before.apply(value) for value in left)
        read_right = distinct(before.apply(value) for value in right)
        pairs = likely_pairs(read_left, read_right)
        found += learned_one_way(left, right, read_left, read_right, pairs, before, True)
        # A rule may join every value of the smaller side and yet only one in many of the larger.
        if not any(
            outcome.strength >= 0.8 * smaller
            and len(outcome.left_matched) >= 0.8 * len(left)
            and len(outcome.right_matched) >= 0.8 * len(right)
            for _, outcome in found
        ):
            backwards = likely_pairs(read_right, read_left)
            found += learned_one_way(right, left, read_right, read_left, backwards, before, False)
        if not any(outcome.strength >= 0.8 * smaller for _, outcome in found):
            found += common_pieces(left, right, pairs, before)
        if any(outcome.strength >= 0.8 * smaller for _, outcome in found):
            break
    return found


def foldings(left: Sequence[str], right: Sequence[str]) -> list[Recipe]:
    """What is done to both sides before programs are learned; numbers lose their zeros only where some have any."""
    plain, unpadded, folded = Recipe(), Recipe((WITHOUT_ZEROS,)), Recipe((Trim(), Lower()))
    padded = any(unpadded.apply(value) != value for values in (left, right) for value in values[:TRIED_ON])
    return [plain, unpadded, folded] if padded else [plain, folded]


def learned_one_way(
    sources: Sequence[str],
    targets: Sequence[str],
    read_sources: Sequence[str],
    read_targets: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    before: Recipe,
    to_right: bool,
) -> list[tuple[Kind, Outcome]]:
    """Programs that make the targets of the sources; `read_` values are those that `before` has folded."""
    # The sources of the pairs come first, so that the trial sees the values that the targets were matched with.
    trial_sources = distinct([source for source, _ in pairs] + sample(read_sources, TRIED_ON))[:TRIED_ON]
    target_keys = {target: [position] for position, target in enumerate(read_targets)}
    trial: list[tuple[float, int, Program]] = []
    doubles: Counter[tuple[str, ...]] = Counter()
    for rank, program in enumerate(propose(pairs, sample(read_targets, TRIED_ON), PROGRAMS_TRIED)):
        recipe = Recipe((program,))
        outcome = compare(keys(trial_sources, recipe), target_keys, recipe, Recipe())
        if outcome.strength >= 2 or outcome.strength >= min(len(read_sources), len(read_targets)):
            # Many programs say the same in other words; they must not crowd out the one that joins other rows.
            doubles[outcome.shared] += 1
            if doubles[outcome.shared] <= DOUBLES_KEPT:
                trial.append((outcome.strength, rank, program))
    trial.sort(key=lambda item: (-item[0], item[1]))
    found: list[tuple[Kind, Outcome]] = []
    for _, _, program in trial[:PROGRAMS_MEASURED]:
        recipe, other = Recipe((*before.steps, program)), before
        outcome = (
            measure(sources, targets, recipe, other) if to_right else measure(targets, sources, other, recipe)
        )  # fmt: skip
        by_accident = accidental(program, read_sources, set(target_keys))
        if len(outcome.shared) > 2 * by_accident and enough_letters(program, outcome, sources, targets):
            found.append((program_kind(program), outcome))
    return found


def common_pieces(
    left: Sequence[str], right: Sequence[str], pairs: Sequence[tuple[str, str]], before: Recipe
) -> list[tuple[Kind, Outcome]]:
    """A piece of the left that equals a piece of the right, where neither is made of the other alone."""
    found: list[tuple[Kind, Outcome]] = []
    for one, other in propose_common(pairs, PROGRAMS_MEASURED):
        left_recipe, right_recipe = Recipe((*before.steps, one)), Recipe((*before.steps, other))
        outcome = measure(left, right, left_recipe, right_recipe)
        if says_enough(outcome, left, right):
            found.append(("piece", outcome))
    return found


def says_enough(outcome: Outcome, left: Sequence[str], right: Sequence[str]) -> bool:
    """A common piece must be several words, or all the words of one side: `John` in two names proves nothing."""
    shared = set(outcome.shared)
    enough = 0
    for values, recipe, positions in (
        (left, outcome.left, outcome.left_matched),
        (right, outcome.right, outcome.right_matched),
    ):
        telling: set[str] = set()
        for position in positions:
            key = recipe.apply(values[position])
            if key in shared:
                words = len(COMPILED["letters"].findall(key))
                if len(key) >= 5 and (words > 1 or words == len(COMPILED["letters"].findall(values[position]))):
                    telling.add(key)
        enough = max(enough, len(telling))
    return enough >= 0.7 * len(shared)


def accidental(program: Program, sources: Sequence[str], targets: set[str]) -> int:
    """How many targets the program hits when its pieces come from different sources: what chance alone would match."""
    if len(program.pieces) < 2:
        return accidental_end(program, sources, targets)
    hits = set()
    for position, source in enumerate(sources):
        other = sources[(position + 1) % len(sources)]
        rendered, turn = [], 0
        for part in program.parts:
            if isinstance(part, Piece):
                rendered.append(part.apply(source if turn % 2 == 0 else other) or "\0")
                turn += 1
            else:
                rendered.append(part)
        text = "".join(rendered)[: program.clip or None]
        if text in targets and text not in {program.apply(source), program.apply(other)}:
            hits.add(text)
    return len(hits)


def accidental_end(program: Program, sources: Sequence[str], targets: set[str]) -> int:
    """The same for the last digits of one piece: many numbers end in any three digits."""
    length = program.pieces[0].last
    if not length:
        return 0
    made = {key for source in sources if (key := program.apply(source))}
    alike = sum(len(target) == len(next(iter(made), "")) for target in targets)
    return int(len(made) * alike / 10.0**length)


def enough_letters(program: Program, outcome: Outcome, sources: Sequence[str], targets: Sequence[str]) -> bool:
    """A rule whose keys are one or two characters long proves little, unless it explains nearly everything."""
    constant = sum(len(part) for part in program.parts if isinstance(part, str))
    lengths = sorted(len(key) - constant for key in outcome.shared)
    if lengths and lengths[len(lengths) // 2] >= 3:
        return True
    matched = min(len(outcome.left_matched), len(outcome.right_matched))
    several = len(program.pieces) > 1 or program.pieces[0].mode == "initials"
    return matched >= 0.8 * min(len(sources), len(targets)) and len(outcome.shared) >= 3 and several


def program_kind(program: Program) -> Kind:
    if len(program.parts) == 1:
        return "piece"
    wholes = [part for part in program.parts if isinstance(part, Piece) and part == Piece("whole")]
    if len(wholes) == 1 and len(program.parts) == 2:
        return "suffix" if isinstance(program.parts[1], str) else "prefix"
    return "program"


def choose(
    options: list[tuple[Kind, Outcome]], left: Sequence[str], right: Sequence[str], limit: int
) -> list[JoinRule]:
    """The strongest first, then what adds most to it."""
    smaller = min(len(left), len(right))
    rules: list[JoinRule] = []
    left_done: set[int] = set()
    right_done: set[int] = set()
    remaining = list(options)
    while remaining and len(rules) < limit:
        gains = [min(len(o.left_matched - left_done), len(o.right_matched - right_done)) for _, o in remaining]
        if not rules:
            gains = [round(outcome.strength * 1000) for _, outcome in remaining]
        matched = [len(o.left_matched) + len(o.right_matched) for _, o in remaining]
        place = max(range(len(remaining)), key=lambda index: (gains[index], matched[index], -index))
        kind, outcome = remaining.pop(place)
        if rules and gains[place] < max(2, LEAST_SHARE * smaller):
            break
        least = (
            LEAST_SHARE
            if kind in {"identity", "trim", "case", "accents", "separators"} or rules
            else LEAST_LEARNED_SHARE
        )
        if not holds(outcome, left, right, least):
            if rules:
                break
            continue
        rules.append(as_rule(kind, outcome, left, right))
        left_done |= outcome.left_matched
        right_done |= outcome.right_matched
    return rules
