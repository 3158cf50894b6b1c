"""Facts that stand only in text, as columns: texts into categories, fields out of texts, with few calls of a model."""
