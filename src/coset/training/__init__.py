"""Training: corpora and annotation, episodes, objective, the recipe. Needs torch, and makes what ships in weights."""
