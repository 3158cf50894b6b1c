"""Anchors: the names and values of a question, found in an environment.

`build_value_index` keeps what values there are in the evidence state, `AnchorIndex` holds names and values in memory,
`find_anchors` looks a question's phrases up in it. See docs/routing_anchors.md.
"""

from coset.routing.anchors.find import FoundAnchors, find_anchors, look_up
from coset.routing.anchors.index import AnchorIndex
from coset.routing.anchors.indexed_columns import SearchSettings, ValueIndexSettings
from coset.routing.anchors.match_texts import NotSearched
from coset.routing.anchors.phrases import Phrase, phrases_of
from coset.routing.anchors.value_index import ValueIndexSummary, build_value_index

__all__ = [
    "AnchorIndex",
    "FoundAnchors",
    "NotSearched",
    "Phrase",
    "SearchSettings",
    "ValueIndexSettings",
    "ValueIndexSummary",
    "build_value_index",
    "find_anchors",
    "look_up",
    "phrases_of",
]
