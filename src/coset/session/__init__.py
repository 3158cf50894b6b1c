"""One read-only session over an environment: statements in, rows out, and the small tools offered beside it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coset.session.query_session import QuerySession
    from coset.session.result import Result, TableUse
    from coset.session.worker_process import WorkerLimits

__all__ = ["QuerySession", "Result", "TableUse", "WorkerLimits"]

_HOMES = {
    "QuerySession": "query_session",
    "Result": "result",
    "TableUse": "result",
    "WorkerLimits": "worker_process",
}


def __getattr__(name: str) -> object:
    # The calculator lives here too and must not wait for DuckDB to load.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(name)
