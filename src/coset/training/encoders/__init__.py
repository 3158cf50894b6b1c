"""The text encoders: fine-tuned for columns and tables, and for questions, made shallower, and exported."""
