"""Plain search over all that is written: BM25, the blend of orders, what was not found, looking things up."""
