"""coset: learned data comprehension for data agents.

import coset

environment = coset.load_environment("coset.yaml")
with coset.QuerySession(environment) as session:
    result = session.sql("SELECT count(*) FROM crm.customers")
    print(result.rows())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coset.environment.configuration import Environment, load_environment
    from coset.session.calculator import calculate
    from coset.session.query_session import QuerySession
    from coset.session.result import Result

__version__ = "0.1.0"
__all__ = ["Environment", "QuerySession", "Result", "calculate", "load_environment"]

_HOMES = {
    "Environment": "environment.configuration",
    "QuerySession": "session.query_session",
    "Result": "session.result",
    "calculate": "session.calculator",
    "load_environment": "environment.configuration",
}


def __getattr__(name: str) -> object:
    # Loaded when asked for, so that `coset --help` does not wait for database libraries.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'coset' has no attribute {name!r}")
