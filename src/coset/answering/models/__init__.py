"""Language models: which one is meant, and requests to it, counted and limited."""
