"""How likely each table and column is needed: the question as vectors, demand, features, and the learned ranker."""
