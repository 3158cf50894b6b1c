"""How people and programs reach coset: the command line."""
