"""What is learned from: databases of the corpora, those that language models wrote, and both in disguise."""
