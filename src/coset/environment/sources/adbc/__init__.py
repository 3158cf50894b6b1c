"""Databases with an ADBC driver."""
