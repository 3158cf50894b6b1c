"""Code lists: which rows of which table say what the codes of a column stand for."""

from __future__ import annotations

from coset.relations.code_lists.find import find_code_lists
from coset.relations.code_lists.stage import CODE_LISTS_FOUND, code_lists_digest, find_and_store_code_lists

__all__ = ["CODE_LISTS_FOUND", "code_lists_digest", "find_and_store_code_lists", "find_code_lists"]
