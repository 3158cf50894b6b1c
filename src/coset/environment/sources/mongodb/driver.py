"""MongoDB's packages, loaded whole by one thread at a time.

In: nothing. Out: whether they are installed; if so, they are loaded. They import each other, so two threads that begin
at different ends (a server's source and a dump's, listed at once) would wait for each other: Python ends that with an
error. Whoever uses them asks here first.
"""

from __future__ import annotations

import threading

_ONE_AT_A_TIME = threading.Lock()


def bson_is_there() -> bool:
    """For documents alone, without a server."""
    with _ONE_AT_A_TIME:
        try:
            import bson.json_util  # noqa: F401
        except ImportError:
            return False
        return True


def driver_is_there() -> bool:
    if not bson_is_there():
        return False
    with _ONE_AT_A_TIME:
        try:
            import pymongo  # noqa: F401
        except ImportError:
            return False
        return True
