"""The models of routing: query model, ranker and cuts, and how good they are."""
