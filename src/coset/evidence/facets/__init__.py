"""What can be read out of a text column: each thing as a `TextFacet` with the SQL expression that reads it."""

from coset.evidence.facets.finding import find_facets

__all__ = ["find_facets"]
