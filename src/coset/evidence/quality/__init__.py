"""What is wrong with values, how much of it, and the expression that cleans it."""
