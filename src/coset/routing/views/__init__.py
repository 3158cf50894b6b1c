"""The evidence view: what is chosen for a question, within a budget, and its text."""
