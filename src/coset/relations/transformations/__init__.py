"""How two columns join although their values are written differently.

`find_rules` gives rules (a DuckDB expression for each side) with how well they match; `match` gives the pairs of
rows, by rule and, where no rule reaches, by resemblance. Both look at nothing but the values of the two columns.
"""

from coset.relations.transformations.matching import Matches, match
from coset.relations.transformations.search import find_rules
from coset.relations.transformations.steps import JoinRule

__all__ = ["JoinRule", "Matches", "find_rules", "match"]
