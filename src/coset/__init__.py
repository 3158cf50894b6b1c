"""coset: learned data comprehension for data agents.

import coset

with coset.open("coset.yaml") as environment:
    environment.comprehend()
    print(environment.view("Which customers ordered most in March?"))
    print(environment.sql("SELECT count(*) FROM crm.customers").rows)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if sys.platform == "win32":
    raise ImportError(
        "coset runs on Linux and macOS, not on Windows itself, where it cannot confine what it runs: "
        "use it within WSL 2, or in a container"
    )

if TYPE_CHECKING:
    from coset.api.environment import Environment, open
    from coset.environment.configuration import load_environment
    from coset.errors import CosetError, UserError
    from coset.session.calculator import calculate
    from coset.session.query_session import QuerySession
    from coset.session.result import Result
    from coset.use_cases.cancellation import Progress
    from coset.use_cases.comprehend import Summary as Comprehension
    from coset.use_cases.corrections import Teaching
    from coset.use_cases.results import Answer, Rows, SqlResult, View

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Comprehension",
    "CosetError",
    "Environment",
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
    "Answer": "use_cases.results",
    "Comprehension": "use_cases.comprehend:Summary",
    "CosetError": "errors",
    "Environment": "api.environment",
    "Progress": "use_cases.cancellation",
    "QuerySession": "session.query_session",
    "Result": "session.result",
    "Rows": "use_cases.results",
    "SqlResult": "use_cases.results",
    "Teaching": "use_cases.corrections",
    "UserError": "errors",
    "View": "use_cases.results",
    "calculate": "session.calculator",
    "load_environment": "environment.configuration",
    "open": "api.environment",
}


def __getattr__(name: str) -> object:
    # Loaded when asked for, so that `coset --help` does not wait for database libraries.
    if name in _HOMES:
        module, _, attribute = _HOMES[name].partition(":")
        return getattr(import_module(f"{__name__}.{module}"), attribute or name)
    raise AttributeError(f"module 'coset' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
