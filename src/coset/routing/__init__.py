"""From a question to a bounded, source-preserving evidence view."""
