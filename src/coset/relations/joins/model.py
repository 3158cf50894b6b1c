"""How likely a candidate is a join: a logistic model over its features.

The weights stand in `weights.json`, with the command that learned them and what they were learned from.
"""

from __future__ import annotations

import functools
import json
import math
import operator
from collections.abc import Sequence
from importlib import resources

from coset.relations.joins.features import FEATURES, Candidate, Features, held_by_chance

SAME_SERIALS = 0.55
LEAST_SERIALS = 30
SAME_THINGS = 0.6
NAMED, UNNAMED = 0.3, 0.4
COLLECTED, COLLECTED_BITS = 0.7, 300.0
SHARED_BITS, BITS_EACH, LEAST_SHARED = 1_000.0, 3.0, 0.1


@functools.cache
def weights() -> tuple[float, tuple[float, ...]]:
    """The constant, and the weight of each of `FEATURES`; a feature without a weight counts nothing."""
    content = json.loads(resources.files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))
    return float(content["constant"]), tuple(float(content["weights"].get(name, 0.0)) for name in FEATURES)


def likelihood(features: Sequence[float]) -> float:
    constant, each = weights()
    total = constant + sum(map(operator.mul, each, features))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def likelihood_of(candidate: Candidate) -> float:
    return with_rules(candidate, likelihood(candidate.features))


def with_rules(candidate: Candidate, learned: float) -> float:
    """The learned likelihood, except for names of tables and for equal series of numbers, which have rules."""
    if candidate.left.is_names:
        return 0.0
    if candidate.right.is_names:
        return names_of_tables(candidate)
    if held_by_chance(candidate.overlap):
        if same_serials(candidate):
            return max(learned, SAME_SERIALS)
        # The names have to say that they belong together.
        return learned if candidate.name >= NAMED else min(learned, UNNAMED)
    if same_things(candidate):
        learned = max(learned, SAME_THINGS)
    if collects_keys(candidate) or refers_to_own_table(candidate) or holds_telling_keys(candidate):
        learned = max(learned, COLLECTED)
    return max(learned, SAME_SERIALS) if same_serials(candidate) else learned


def same_things(candidate: Candidate) -> bool:
    """Whether the keys of two tables share so many values that it cannot be chance: both list the same things, each the
    part of them that it knows (the customers of two departments)."""
    features = Features(*candidate.features)
    keys = features.left_is_key and features.right_is_main and candidate.left.uniqueness >= 0.98
    overlap = candidate.overlap
    # Each shared value must tell something by itself: many serial numbers tell a little each, and prove nothing.
    enough = max(SHARED_BITS, BITS_EACH * overlap.containment * overlap.left.keys)
    return bool(keys) and candidate.bits >= enough and overlap.containment >= LEAST_SHARED


def collects_keys(candidate: Candidate) -> bool:
    """Whether a column holds nearly all keys of another table among those of further ones, as the key of the source in
    a cross-reference does: so many that tell so much are not there by chance."""
    overlap = candidate.overlap
    return (
        candidate.coverage >= 0.9
        and overlap.containment >= LEAST_SHARED
        and candidate.bits >= COLLECTED_BITS
        and overlap.right.uniqueness >= 0.98
        and overlap.right.keys >= LEAST_SERIALS
        and bool(Features(*candidate.features).right_is_main)
    )


def holds_telling_keys(candidate: Candidate) -> bool:
    """Whether most values are keys of the other table, each of which would be unlikely there by itself."""
    overlap = candidate.overlap
    return (
        overlap.containment >= 0.8
        and candidate.bits >= max(SHARED_BITS, BITS_EACH * overlap.containment * overlap.left.keys)
        and overlap.right.uniqueness >= 0.98
        and overlap.right.code_share + overlap.right.is_number >= 0.9
        and candidate.left.table != candidate.right.table
        and bool(Features(*candidate.features).right_is_main)
    )


def refers_to_own_table(candidate: Candidate) -> bool:
    """Whether a column holds keys of its own table (`duplicate_of`, `manager`): seldom by chance where the keys tell
    something."""
    overlap = candidate.overlap
    return (
        candidate.left.table == candidate.right.table
        and overlap.containment >= 0.97
        and overlap.left.form == overlap.right.form == "whole"
        and overlap.right.uniqueness >= 0.98
        and candidate.bits >= COLLECTED_BITS / 5
        and candidate.coverage < 0.9
        and bool(Features(*candidate.features).right_is_main)
    )


def same_serials(candidate: Candidate) -> bool:
    """Whether a column that repeats has the serial numbers of one key and of no other: tables seldom have the same
    length by chance."""
    overlap = candidate.overlap
    exact = overlap.containment >= 0.95 and candidate.coverage >= 0.95
    serials = overlap.left.is_number and overlap.left.specificity < 1 and overlap.left.keys >= LEAST_SERIALS
    return (
        exact
        and serials
        and candidate.rivals == 1
        and candidate.left.uniqueness < 0.9
        and overlap.right.uniqueness >= 0.99
    )


def names_of_tables(candidate: Candidate) -> float:
    """Values that are the names of tables: no model, since hardly any other column holds those by chance."""
    overlap = candidate.overlap
    telling = candidate.bits >= 30 or (overlap.found >= 3 and min(candidate.coverage, overlap.containment) >= 0.9)
    if not telling or max(candidate.coverage, overlap.containment) < 0.5 or overlap.right.is_number:
        return 0.0
    # Below a sure join with a table, above a doubtful one: the table that lists the names comes first.
    return 0.8 if candidate.left.uniqueness >= 0.98 else 0.7
