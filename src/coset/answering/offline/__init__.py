"""Answers without a language model: a small planner over what was comprehended, which declines when it is not sure."""

from __future__ import annotations

from coset.answering.offline.outcome import Answered, Declined
from coset.answering.offline.reason import answer

__all__ = ["Answered", "Declined", "answer"]
