"""coset: learned data comprehension for data agents.

import coset

with coset.open("coset.yaml") as environment:
    environment.comprehend()
    print(environment.view("Which customers ordered most in March?"))
    print(environment.sql("SELECT count(*) FROM crm.customers").rows())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coset.api.comprehending import Comprehension
    from coset.api.long_call import Progress
    from coset.api.open_environment import OpenEnvironment, open
    from coset.api.shown import Answered, Rows, SqlResult, View
    from coset.api.teaching import Teaching
    from coset.environment.configuration import Environment, load_environment
    from coset.errors import CosetError, UserError
    from coset.session.calculator import calculate
    from coset.session.query_session import QuerySession
    from coset.session.result import Result

__version__ = "0.1.0"
__all__ = [
    "Answered",
    "Comprehension",
    "CosetError",
    "Environment",
    "OpenEnvironment",
    "Progress",
    "QuerySession",
    "Result",
    "Rows",
    "SqlResult",
    "Teaching",
    "UserError",
    "View",
    "calculate",
    "load_environment",
    "open",
]

_HOMES = {
    "Answered": "api.shown",
    "Comprehension": "api.comprehending",
    "CosetError": "errors",
    "Environment": "environment.configuration",
    "UserError": "errors",
    "OpenEnvironment": "api.open_environment",
    "Progress": "api.long_call",
    "QuerySession": "session.query_session",
    "Result": "session.result",
    "Rows": "api.shown",
    "SqlResult": "api.shown",
    "Teaching": "api.teaching",
    "View": "api.shown",
    "calculate": "session.calculator",
    "load_environment": "environment.configuration",
    "open": "api.open_environment",
}


def __getattr__(name: str) -> object:
    # Loaded when asked for, so that `coset --help` does not wait for database libraries.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'coset' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
