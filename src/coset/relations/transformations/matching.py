"""Join two columns: first by rules, then, for what is left, by resemblance.

`match` takes two columns as they stand (nulls and repeated values included) and gives pairs of positions with the
rule that explains them, if one does. A right value joins at most one left value by resemblance; by a rule it joins
whatever the rule says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coset.relations.transformations.fuzzy import guess
from coset.relations.transformations.resemblance import Columns
from coset.relations.transformations.search import distinct, find_rules
from coset.relations.transformations.steps import JoinRule, Kind, keys
from coset.relations.transformations.text import Value

# Shorter series fit each other by chance.
SHORTEST = 8
LEAST_SHARE = 0.9
YEARS = range(1000, 2200)

Words = frozenset[str]
Members = dict[int, list[int]]


def series_pairs(left: Sequence[Value], right: Sequence[Value]) -> set[tuple[int, int]]:
    right_series = series_of(right)
    with_word: dict[str, list[Words]] = {}
    for words in right_series:
        for word in words:
            with_word.setdefault(word, []).append(words)
    pairs: set[tuple[int, int]] = set()
    for words, lefts in series_of(left).items():
        if len(lefts) < SHORTEST or not words:
            continue
        rarest = min(words, key=lambda word: (len(with_word.get(word, ())), word))
        rights: Members = {}
        for other in with_word.get(rarest, ()):
            if words <= other:
                for number, positions in right_series[other].items():
                    rights.setdefault(number, []).extend(positions)
        shift = shift_between(rights, lefts)
        if shift is not None:
            pairs |= {(i, j) for number in rights for i in lefts.get(number + shift, ()) for j in rights[number]}
    return pairs


def series_of(values: Sequence[Value]) -> dict[Words, Members]:
    """By their words, the positions of values with just one number."""
    found: dict[Words, Members] = {}
    for position, value in enumerate(values):
        numbers = [word for word in value.words if word.isdigit()]
        if len(numbers) == 1 and len(numbers[0]) <= len(str(YEARS.stop)):
            members = found.setdefault(value.bag - {numbers[0]}, {})
            members.setdefault(int(numbers[0]), []).append(position)
    return found


def shift_between(rights: Iterable[int], lefts: Iterable[int]) -> int | None:
    right_numbers, left_numbers = set(rights), set(lefts)
    if len(right_numbers) < SHORTEST:
        return None
    right_years, left_years = ({number in YEARS for number in numbers} for numbers in (right_numbers, left_numbers))
    if not len(right_years) == len(left_years) == 1 or right_years == left_years:
        return None
    shifts = Counter(one - other for one in left_numbers for other in right_numbers).most_common(2)
    (shift, hits), *others = shifts
    alone = all(count < hits for _, count in others)
    return shift if alone and hits >= LEAST_SHARE * len(right_numbers) else None


# A guess is kept from this probability on: cross-validated over whole tasks, where F1 is flat between .3 and .5.
LEAST_PROBABILITY = 0.35
# A learned rule that matches less than this share of the smaller side is reported, yet resemblance knows better.
LEAST_RULE_SHARE = 0.5
LEARNED: frozenset[Kind] = frozenset({"piece", "program"})
# A rule of whose pairs fewer can be right is no rule; so many pairs under one key of a learned rule are a crowd.
LEAST_PRECISE, CROWD = 0.5, 12
# Rules that cover different rows of one join (names with and without a middle name) are rarely more than these.
MOST_RULES = 4
# Without any rule, fewer guesses than this share of the smaller side are taken for chance: the columns do not join.
LEAST_GUESSED_SHARE = 0.1
# Without any rule so many right values are tried first; where hardly one finds a partner, the rest is left alone.
PROBED, LEAST_PROBED_SHARE = 150, 0.03
# From so many right values to a left value on, in the mean, rules are taken to join one to many.
ONE_TO_MANY = 1.2
# Beyond this many comparisons a fuzzy join would take minutes.
MOST_FUZZY_VALUES = 20_000


@dataclass(frozen=True)
class Matches:
    """`pairs` are (left position, right position), sorted; `rules` those that made `by_rule` of them, best first."""

    pairs: list[tuple[int, int]]
    rule: JoinRule | None
    rules: tuple[JoinRule, ...]
    by_rule: int
    by_resemblance: int

    def condition(self, left_column: str, right_column: str) -> str | None:
        """The rules as one join condition in DuckDB SQL; none where only resemblance joins the columns."""
        if not self.rules:
            return None
        return " OR ".join(rule.condition(left_column, right_column) for rule in self.rules)


def match(
    left: Sequence[str | None], right: Sequence[str | None], *, least_probability: float = LEAST_PROBABILITY
) -> Matches:
    left_values, right_values = distinct(left), distinct(right)
    found = find_rules(left_values, right_values, limit=MOST_RULES)
    found = [rule for rule in found if precise_at_most(rule, left_values, right_values) >= LEAST_PRECISE]
    rules = tuple(found) if found and trusted(found[0]) else tuple(rule for rule in found if rule.kind not in LEARNED)
    joined = join_by_rules(rules, left_values, right_values)
    guessed = join_by_resemblance(left_values, right_values, joined, least_probability)
    left_places, right_places = positions(left), positions(right)

    def spread(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return {
            (i, j)
            for one, other in pairs
            for i in left_places[left_values[one]]
            for j in right_places[right_values[other]]
        }

    by_rule, by_resemblance = spread(joined), spread(guessed)
    return Matches(
        sorted(by_rule | by_resemblance), rules[0] if rules else None, rules, len(by_rule), len(by_resemblance)
    )


def precise_at_most(rule: JoinRule, left: Sequence[str], right: Sequence[str]) -> float:
    """How many of the rule's pairs can be right at most, seen without any gold: where many values of one side meet many
    of the other, a value has one partner and the rest are wrong; and a rule made of pieces under which one value meets
    a crowd has taken a piece that says nothing, a title or a constant."""
    left_keys, right_keys = keys(left, rule.left), keys(right, rule.right)
    sizes = [(len(lefts), len(right_keys[key])) for key, lefts in left_keys.items() if key in right_keys]
    pairs = sum(one * other for one, other in sizes)
    if not pairs:
        return 1.0
    several = sum(max(one, other) for one, other in sizes) / pairs
    if rule.kind not in LEARNED:
        return several
    crowds = sum(one * other for one, other in sizes if one * other > CROWD)
    return min(several, 1 - crowds / pairs)


def trusted(rule: JoinRule) -> bool:
    return rule.kind not in LEARNED or max(rule.left_rate, rule.right_rate) >= LEAST_RULE_SHARE


def positions(values: Sequence[str | None]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for position, value in enumerate(values):
        if value:
            found.setdefault(value, []).append(position)
    return found


def join_by_rules(rules: Sequence[JoinRule], left: Sequence[str], right: Sequence[str]) -> set[tuple[int, int]]:
    """The first rule joins all it matches; a further one only single values that are still alone on both sides."""
    pairs: set[tuple[int, int]] = set()
    left_done: set[int] = set()
    right_done: set[int] = set()
    for rank, rule in enumerate(rules):
        left_keys, right_keys = keys(left, rule.left), keys(right, rule.right)
        found: set[tuple[int, int]] = set()
        for key, lefts in left_keys.items():
            rights = right_keys.get(key, [])
            if rank and not (
                len(lefts) == len(rights) == 1 and lefts[0] not in left_done and rights[0] not in right_done
            ):
                continue
            found.update((i, j) for i in lefts for j in rights)
        pairs |= found
        left_done |= {i for i, _ in found}
        right_done |= {j for _, j in found}
    return pairs


def join_by_resemblance(
    left: Sequence[str], right: Sequence[str], joined: set[tuple[int, int]], least_probability: float
) -> set[tuple[int, int]]:
    done = {j for _, j in joined}
    # Where rules join one to one, a left value that has its partner is no longer to be had; where they join one to
    # many, it is to be had as often as before.
    given_away = {i for i, _ in joined}
    exclusive = len(joined) < ONE_TO_MANY * len(given_away) or not joined
    if len(joined) < LEAST_RULE_SHARE * min(len(left), len(right)) or not len(given_away) == len(done) == len(joined):
        given_away = set()
    open_rights = [j for j in range(len(right)) if j not in done]
    if not open_rights or not left or max(len(left), len(open_rights)) > MOST_FUZZY_VALUES:
        return set()
    columns = Columns(left, right)
    in_series = {(i, j) for i, j in series_pairs(columns.left, columns.right) if j not in done}
    done |= {j for _, j in in_series}
    if not joined and not in_series and len(right) > 2 * PROBED:
        probe = guess(columns, range(0, len(right), len(right) // PROBED))
        if sum(g.probability >= least_probability for g in probe) < LEAST_PROBED_SHARE * PROBED:
            return set()
    guesses = guess(columns, range(len(right)), exclusive=exclusive)
    kept = {
        (g.left, g.right)
        for g in guesses
        if g.probability >= least_probability and g.right not in done and g.left not in given_away
    }
    kept |= in_series
    if not joined and len(kept) < LEAST_GUESSED_SHARE * min(len(left), len(right)):
        return set()
    return kept
