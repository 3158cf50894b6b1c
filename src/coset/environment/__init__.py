"""What a question may range over: the sources that `coset.yaml` names, and the tables found in them."""

from __future__ import annotations

from coset.environment.catalogue import Catalogue, SourceListing
from coset.environment.configuration import Environment, load_environment
from coset.environment.scan import Scan
from coset.environment.source import Column, ForeignKey, Limits, Source, SourceSettings, Table

__all__ = [
    "Catalogue",
    "Column",
    "Environment",
    "ForeignKey",
    "Limits",
    "Scan",
    "Source",
    "SourceListing",
    "SourceSettings",
    "Table",
    "load_environment",
]
