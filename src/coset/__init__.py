"""coset: learned data comprehension for data agents."""

__version__ = "0.1.0"
