"""The recorder of a run: the interface through which a run reports its steps while it goes.

In: a kind and plain data that JSON can hold; docs/answering.md lists the kinds with their keys. Out: nothing. Knows
neither where steps are kept nor how they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from coset.answering.audit.store import KeptResult


class Recorder(Protocol):
    """Keeps one run. A step is kept before the next one begins."""

    def step(self, kind: str, data: Mapping[str, Any]) -> None: ...

    def keep_messages(self, messages: bytes | str) -> None:
        """Keep all that is needed to go on from here another day, as JSON; the newest counts."""
        ...

    def keep_result(self, result: KeptResult) -> None:
        """Keep what a statement of the answer gave, so that it can be compared on another day."""
        ...

    def keep_table(self, name: str, table: Any) -> None:
        """Keep a temporary table that no statement can make again."""
        ...


@runtime_checkable
class RequestListener(Protocol):
    """A recorder that is also told every request to a model before it is sent, whichever part of answering sends it."""

    def sent(self, messages: Sequence[ModelMessage]) -> None: ...


class NullRecorder:
    """For callers that keep no audit, and the base of those that keep only a part of one."""

    def step(self, kind: str, data: Mapping[str, Any]) -> None:
        return None

    def keep_messages(self, messages: bytes | str) -> None:
        return None

    def keep_result(self, result: KeptResult) -> None:
        return None

    def keep_table(self, name: str, table: Any) -> None:
        return None
