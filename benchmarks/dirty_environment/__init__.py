"""Dirty environments with known truth, made from clean databases.

    from benchmarks.dirty_environment import make_company, make_dirty_environment

    truth = make_dirty_environment(make_company(7), "dirty", seed=7, dirt="heavy")
    for join in truth.joins:
        print(join.kind, join.left.reference, join.right.reference, join.left_counts.match_share)

Reading order: `generate` (the steps), `draft` (what they change), `key_forms`, `truth`, `measure`.
"""

from __future__ import annotations

from .clean import CleanColumn, CleanDatabase, CleanForeignKey, CleanTable
from .company import make_company
from .generate import make_dirty_environment
from .measure import TruthBroken
from .options import ENGINES, Options, preset
from .reading import read_corpus, read_database
from .truth import Truth, load_truth

__all__ = [
    "ENGINES",
    "CleanColumn",
    "CleanDatabase",
    "CleanForeignKey",
    "CleanTable",
    "Options",
    "Truth",
    "TruthBroken",
    "load_truth",
    "make_company",
    "make_dirty_environment",
    "preset",
    "read_corpus",
    "read_database",
]
