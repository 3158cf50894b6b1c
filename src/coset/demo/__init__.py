"""A small but honest company, made under a seed, to try coset on without any data or server of one's own."""

from __future__ import annotations

from coset.demo.company import Company, make_company
from coset.demo.folder import prepare_folder
from coset.demo.questions import QUESTIONS, Question, Truth, truth

__all__ = ["QUESTIONS", "Company", "Question", "Truth", "make_company", "prepare_folder", "truth"]
