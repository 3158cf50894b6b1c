"""A team's own questions with expected answers: what their CI asks, and what it may not lose."""
