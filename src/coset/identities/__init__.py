"""Identities: which persistent role each object of an environment plays, from supporting and opposing evidence."""
