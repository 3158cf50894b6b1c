"""What is known of an environment's tables and columns, as routing holds it in memory: facts, readings, documents."""
