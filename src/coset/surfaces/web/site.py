"""What all pages share: the environment, the secret of this process, what was asked and what was moved.

In: an open environment. Out: a `Site`, which every request finds at `request.app.state.site`. Kept in memory alone: it
ends with the process. Knows no page.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from starlette.requests import Request

from coset.api.environment import Environment
from coset.identities.inventory import Inventory, load_inventory
from coset.use_cases.corrections import Teaching

if TYPE_CHECKING:
    from coset.surfaces.web.background import Asking, Refreshing
    from coset.surfaces.web.results import ShownResult

T = TypeVar("T")
KEPT, KEPT_RESULTS = 50, 12


class Kept(Generic[T]):
    """The newest few of something, by number. Threads may share it."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._things: OrderedDict[int, T] = OrderedDict()
        self._last = 0
        self._lock = threading.Lock()

    def add(self, thing: T) -> int:
        with self._lock:
            self._last += 1
            self._things[self._last] = thing
            while len(self._things) > self._most:
                self._things.popitem(last=False)
            return self._last

    def last(self) -> T | None:
        """The newest."""
        with self._lock:
            return next(reversed(self._things.values()), None)

    def take(self) -> T | None:
        """The newest, which is then kept no more."""
        with self._lock:
            return self._things.popitem()[1] if self._things else None

    def get(self, number: int) -> T | None:
        with self._lock:
            return self._things.get(number)


@dataclass(frozen=True)
class ViewLine:
    """A line of a view that a correction took away or brought."""

    is_new: bool
    text: str


@dataclass(frozen=True)
class Move:
    """One correction and what came of it. With a question, also what it changed in that question's view."""

    teaching: Teaching
    was_revoked: bool
    question: str = ""
    budget: int = 0
    lines: tuple[ViewLine, ...] = ()


@dataclass(frozen=True)
class Site:
    environment: Environment
    reports: Path | None = None
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    moves: Kept[Move] = field(default_factory=Kept)
    askings: Kept[Asking] = field(default_factory=Kept)
    results: Kept[ShownResult] = field(default_factory=lambda: Kept(KEPT_RESULTS))
    decisions: Kept[tuple[str, str]] = field(default_factory=Kept)
    """What a person settled, the kind and what it is about."""
    refreshings: Kept[Refreshing] = field(default_factory=Kept)

    @property
    def name(self) -> str:
        return self.environment.configuration.path.parent.name

    @property
    def inventory(self) -> Inventory:
        return load_inventory(self.environment.configuration.identities_file)


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site
