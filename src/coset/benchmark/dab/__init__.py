"""The Data Agent Benchmark: its checkout on disk, environments made from it, its validators, a whole run of it."""
