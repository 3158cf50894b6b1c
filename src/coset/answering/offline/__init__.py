"""Answers without a language model: a small planner over what was comprehended, which declines when it is not sure."""

from __future__ import annotations

from coset.answering.offline.plan import Declined, OfflineAnswer
from coset.answering.offline.reasoner import answer

__all__ = ["Declined", "OfflineAnswer", "answer"]
