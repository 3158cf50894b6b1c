"""Facts inside texts, each with the SQL expression that reads it."""
