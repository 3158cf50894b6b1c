"""Find the rules that join two columns.

`find_rules` measures the standard rewritings, learns programs where those leave values unmatched, and keeps the best
rule and those that join further values. Columns that have nothing to do with each other give an empty list, soon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from coset.relations.transformations.likely_pairs import likely_pairs, sample
from coset.relations.transformations.programs import COMPILED, Piece, Program
from coset.relations.transformations.rule import JoinRule, Kind, Outcome, as_rule, compare, keys, measure
from coset.relations.transformations.standard import BOTH_SIDES, candidates
from coset.relations.transformations.steps import WITHOUT_ZEROS, Lower, Recipe, Trim
from coset.relations.transformations.synthesis import propose, propose_common

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
