"""Readings: what a table or column is, in plain words, who says so, and how sure that is."""

from coset.readings.reading import READERS, Reader, Reading

__all__ = ["READERS", "Reader", "Reading"]
