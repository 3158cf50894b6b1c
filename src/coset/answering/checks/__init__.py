"""Deterministic checks of an answer: is it what the data says, as far as counting can tell?"""

from __future__ import annotations

from coset.answering.checks.examined import CheckResult, Outcome, PinnedShape, Proposal
from coset.answering.checks.run import CHECKS, run_checks, verdict

__all__ = ["CHECKS", "CheckResult", "Outcome", "PinnedShape", "Proposal", "run_checks", "verdict"]
