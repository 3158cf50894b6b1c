"""`python -m coset`: the command, where its script is not on the path."""

from __future__ import annotations

from coset.surfaces.command_line import main

if __name__ == "__main__":
    main()
