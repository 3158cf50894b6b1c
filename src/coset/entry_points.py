"""Parts that other packages bring: kinds of sources, labelers, readers of names, checks.

In: the group of an entry point (`coset.sources`, ...). Out: what installed packages declare in it, by name. Names are
known without loading anything; a part that cannot be loaded is left out with a warning and takes nothing else down.
"""

from __future__ import annotations

import functools
import logging
from importlib import metadata
from typing import Any

SOURCES, LABELERS, READERS, CHECKS = "coset.sources", "coset.labelers", "coset.readers", "coset.checks"
log = logging.getLogger(__name__)


@functools.cache
def _declared(group: str) -> tuple[metadata.EntryPoint, ...]:
    return tuple(sorted(metadata.entry_points(group=group), key=lambda point: point.name))


def added_names(group: str) -> list[str]:
    """The names of what packages declare, in order; nothing is loaded."""
    return list(dict.fromkeys(point.name for point in _declared(group)))


@functools.cache
def added(group: str) -> dict[str, Any]:
    """What packages declare, loaded, by name."""
    found: dict[str, Any] = {}
    for point in _declared(group):
        try:
            found.setdefault(point.name, point.load())
        except Exception as error:
            package = point.dist.name if point.dist else point.value
            log.warning(
                "'%s' of package %s cannot be loaded (%s: %s)", point.name, package, type(error).__name__, error
            )
    return found


def forget() -> None:
    """Look again at what is installed."""
    _declared.cache_clear()
    added.cache_clear()
