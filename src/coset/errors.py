"""Errors for the person at the keyboard: one plain sentence that says what was wrong, with which input, and what to do.

`exit_code` is what the command line ends with: 2 for a mistake of the user's (wrong name, statement, setting),
1 for a failure (a source that is down, a limit that was reached). Nothing here knows how an error is shown.
"""

from __future__ import annotations


class CosetError(Exception):
    """Anything coset reports on purpose. Its text is one sentence, safe to show: it holds no secret."""

    exit_code = 1


def plain_cause(error: BaseException) -> CosetError | None:
    """The plain error behind one that Arrow wrapped."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, CosetError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


class UserError(CosetError):
    """Something the user can mend: a wrong name, an unknown key, a statement that does not parse."""

    exit_code = 2


class NotAllowed(UserError):
    """A statement that the guard refuses, told apart from one that finds no rows."""


class MissingDependency(UserError):
    """An optional part is not installed; the text says which command installs it."""

    def __init__(self, what: str, extra: str) -> None:
        install = f"pip install 'coset[{extra}]', or pip install '.[{extra}]' in a checkout"
        super().__init__(f"{what} needs an optional part that is not installed: {install}")


class SourceUnreachable(CosetError):
    """A source cannot be opened or read. The other sources go on."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"source '{source}': {reason}")
        self.source = source
        self.reason = reason


class TableVanished(CosetError):
    """A table that was listed is gone, or has another shape, when it is read."""


class LimitReached(CosetError):
    """A limit on time, memory, rows or bytes ended the work; the text says which and how to stay within it."""


class Cancelled(Exception):
    """Work whose caller has gone. Not a `CosetError`: nobody is there to read it, and no part of the work may take it
    for a failure of its own and go on."""
