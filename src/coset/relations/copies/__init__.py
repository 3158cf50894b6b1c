"""Copies: which table is a backup, a load, an archive, a trial or an old version of which."""

from __future__ import annotations

from coset.relations.copies.find import Standing, find_copies
from coset.relations.copies.stage import COPIES_FOUND, copies_digest, copies_with_originals, find_and_store_copies

__all__ = ["COPIES_FOUND", "Standing", "copies_digest", "copies_with_originals", "find_and_store_copies", "find_copies"]
