"""Record links: which records of which tables are the same customer, item or contract."""

from coset.relations.links.stage import LINKS_MADE, link_and_store, links_digest

__all__ = ["LINKS_MADE", "link_and_store", "links_digest"]
