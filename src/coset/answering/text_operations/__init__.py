"""Facts that stand only in text, as columns: texts into categories, fields out of texts, with few calls of a model."""

from __future__ import annotations

from coset.answering.text_operations.classify import Classified, classify
from coset.answering.text_operations.expressions import Candidate, KeptExpression, facet_candidates
from coset.answering.text_operations.extract import Extracted, extract
from coset.answering.text_operations.labels import Budget, LabelCache, Labeller
from coset.answering.text_operations.text_columns import (
    ClassifiedColumn,
    ExtractedColumns,
    classify_column,
    extract_columns,
)

__all__ = [
    "Budget",
    "Candidate",
    "Classified",
    "ClassifiedColumn",
    "Extracted",
    "ExtractedColumns",
    "KeptExpression",
    "LabelCache",
    "Labeller",
    "classify",
    "classify_column",
    "extract",
    "extract_columns",
    "facet_candidates",
]
