"""The arbiter: one request that decides what a question means, as records and a statement that is run at once."""
