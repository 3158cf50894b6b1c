"""The file of a state: readers see it as it was last published, writers work on a copy that then takes its place.

In: the folder of a state. Out: connections. No reader waits for a writer or sees half of what it writes, and what a
reader has open stays as it is. Writers come one after the other. A comprehension, which takes long, has a lock of its
own beside theirs: corrections are published while it runs, and it brings them into its copy before that is published
(`is_behind`). Killed at any moment, a writer leaves the published state alone; a comprehension leaves its copy too, and
the next one goes on from there. Locks end with the process that holds them. Knows none of the tables but `meta`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import duckdb

from coset.errors import CosetError, UserError
from coset.sql_text import literal

FILE_NAME = "state.duckdb"
COMPREHENDED, CORRECTED = "state.comprehended.duckdb", "state.corrected.duckdb"
"""The copies that a comprehension and a correction work on."""
COMPREHENDING, WRITING = "comprehending.lock", "writing.lock"
WRITER_WAITS = 60.0
"""So many seconds a writer waits for its turn."""
BASED_ON = "based on"
"""What `meta` of a comprehension's copy has: the published file that it holds all of."""
ANOTHER_COSET = "the evidence state is being written by another coset: try again when it has ended"
ANOTHER_PROGRAM = "another program holds the file of the evidence state open: try again when it has ended"
Stamp = tuple[int, int, int]


class StateInUse(CosetError):
    """Another writer has the state."""


def stamp_of(folder: Path) -> Stamp | None:
    """Another for every published state; None where there is none."""
    try:
        found = (folder / FILE_NAME).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


# Reading


class _Published:
    """A published state, open. All readers in this process share one while it is the newest."""

    def __init__(self, folder: Path, stamp: Stamp) -> None:
        path = folder / FILE_NAME
        self.stamp, self.process = stamp, os.getpid()
        self.instance = duckdb.connect(":memory:")
        try:
            # Attached, since connections to one path share what the first of them opened, however old that is.
            self.instance.execute(f"ATTACH {literal(str(path))} AS state (READ_ONLY)")
            self.instance.execute("SET enable_external_access = false")
        except duckdb.Error as error:
            raise _unopened(path, error, writes=False) from error

    def connection(self) -> duckdb.DuckDBPyConnection:
        cursor = self.instance.cursor()
        _without_bar(cursor)
        cursor.execute("USE state")
        return cursor


_open: weakref.WeakValueDictionary[Path, _Published] = weakref.WeakValueDictionary()
_opening = threading.Lock()


def open_to_read(folder: Path) -> tuple[duckdb.DuckDBPyConnection, object]:
    """A connection to the published state, and what must be held as long as it is used."""
    with _opening:
        stamp = stamp_of(folder)
        if stamp is None:
            if (folder / COMPREHENDED).exists():
                raise UserError(
                    "this environment has not been comprehended to the end yet: run `coset comprehend`, which goes on "
                    "where it was stopped"
                )
            raise UserError("this environment has not been comprehended yet: run `coset comprehend`")
        published = _open.get(folder)
        if published is None or published.stamp != stamp or published.process != os.getpid():
            published = _open[folder] = _Published(folder, stamp)
        return published.connection(), published


# Writing


class WorkingCopy:
    """A writable copy of the published state. `publish` or `discard` it at the end."""

    def __init__(self, folder: Path, *, comprehends: bool) -> None:
        _make(folder)
        self.folder, self.comprehends = folder, comprehends
        self.path = folder / (COMPREHENDED if comprehends else CORRECTED)
        self.anew_without: str | None = None
        """Set where it is to be written anew when it is published, without this key of `meta`."""
        self._lock = _Lock(folder / (COMPREHENDING if comprehends else WRITING))
        try:
            self.connection = self._opened()
        except BaseException:
            self._lock.release()
            raise

    def _opened(self) -> duckdb.DuckDBPyConnection:
        published = stamp_of(self.folder)
        if self.comprehends and self.path.exists():
            with contextlib.suppress(duckdb.Error, CosetError):
                connection = _connected(self.path)
                if published is not None or self._base(connection) is None:
                    return connection
                connection.close()  # It was made from a state that somebody has removed since.
        _remove(self.path)
        if published is not None:
            with self._writers_waiting():
                published = stamp_of(self.folder)
                _copy(self.folder / FILE_NAME, self.path)
        try:
            connection = _connected(self.path)
        except duckdb.Error as error:
            _remove(self.path)
            raise _unopened(self.folder / FILE_NAME, error, writes=True) from error
        self._note_base(connection, published)
        return connection

    @contextlib.contextmanager
    def _writers_waiting(self) -> Iterator[None]:
        if not self.comprehends:  # It is one of them.
            yield
            return
        lock = _Lock(self.folder / WRITING)
        try:
            yield
        finally:
            lock.release()

    def _base(self, connection: duckdb.DuckDBPyConnection) -> str | None:
        rows = connection.execute("SELECT value FROM meta WHERE key = $1", [BASED_ON]).fetchall()
        return str(rows[0][0]) if rows and rows[0][0] != str(None) else None

    def _note_base(self, connection: duckdb.DuckDBPyConnection, stamp: Stamp | None) -> None:
        if self.comprehends:
            connection.execute("CREATE TABLE IF NOT EXISTS meta (key VARCHAR PRIMARY KEY, value VARCHAR)")
            connection.execute("INSERT OR REPLACE INTO meta VALUES ($1, $2)", [BASED_ON, str(stamp)])

    def is_behind(self) -> bool:
        """Whether corrections were published that this copy does not hold."""
        stamp = stamp_of(self.folder)
        return stamp is not None and self._base(self.connection) != str(stamp)

    @contextlib.contextmanager
    def catching_up(self) -> Iterator[None]:
        """The block brings in all that is published now."""
        stamp = stamp_of(self.folder)
        yield
        self._note_base(self.connection, stamp)

    @contextlib.contextmanager
    def publishing(self) -> Iterator[None]:
        """No other writer publishes within the block."""
        with self._writers_waiting():
            yield

    def publish(self) -> None:
        """Put this copy in the place of the published state."""
        try:
            if self.comprehends:
                self.connection.execute("DELETE FROM meta WHERE key = $1", [BASED_ON])
            self.connection.execute("CHECKPOINT")
            self.connection.close()
            if self.anew_without is not None:
                self._write_anew(self.anew_without)
            self.path.chmod(0o600)
            _log_of(self.folder / FILE_NAME).unlink(missing_ok=True)  # An earlier coset may have left one.
            _replace(self.path, self.folder / FILE_NAME)
        except duckdb.Error as error:
            raise CosetError(f"the evidence state could not be written: {str(error).splitlines()[0]}") from error
        finally:
            self.connection.close()
            self._lock.release()

    def discard(self) -> None:
        """Let go of it. That of a comprehension stays, so that the next one goes on from there."""
        self.connection.close()
        if not self.comprehends:
            _remove(self.path)
        self._lock.release()

    def _write_anew(self, without: str) -> None:
        anew = self.path.with_name(f"{self.path.name}.anew")
        _remove(anew)
        try:
            with duckdb.connect(":memory:") as connection:
                _without_bar(connection)
                connection.execute(
                    f"ATTACH {literal(str(self.path))} AS before; ATTACH {literal(str(anew))} AS after; "
                    "COPY FROM DATABASE before TO after"
                )
                connection.execute("DELETE FROM after.meta WHERE key = $1", [without])
                connection.execute("DETACH after; DETACH before")
            anew.replace(self.path)
        finally:
            _remove(anew)


class _Lock:
    """A lock on a file, which its holder's end releases, however it comes. Raises `StateInUse`."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unopened(path.parent / FILE_NAME, error, writes=True) from error
        ends = time.monotonic() + WRITER_WAITS
        while not _locked(self._file):
            if time.monotonic() > ends:
                os.close(self._file)
                raise StateInUse(ANOTHER_COSET)
            time.sleep(0.02)

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _locked(file: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _connected(path: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(str(path), config={"enable_external_access": "false"})
    _without_bar(connection)
    return connection


def _without_bar(connection: duckdb.DuckDBPyConnection) -> None:
    # In a notebook or a terminal DuckDB would draw a bar of its own into our output.
    connection.execute("SET enable_progress_bar = false")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unopened(folder / FILE_NAME, error, writes=True) from error


def _copy(path: Path, into: Path) -> None:
    for each, copied in ((path, into), (_log_of(path), _log_of(into))):
        if each.exists():
            os.close(os.open(copied, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
            shutil.copyfile(each, copied)


def _replace(path: Path, place: Path) -> None:
    ends = time.monotonic() + WRITER_WAITS
    while True:
        try:
            path.replace(place)
            return
        except PermissionError:  # On Windows, as long as somebody reads it.
            if os.name != "nt" or time.monotonic() > ends:
                raise
            time.sleep(0.02)


def _remove(path: Path) -> None:
    for each in (path, _log_of(path)):
        each.unlink(missing_ok=True)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _unopened(path: Path, error: Exception, *, writes: bool) -> CosetError:
    """Why a state cannot be opened. Only of one that is damaged is it said to make it anew."""
    there = path if path.exists() else path.parent
    if not os.access(there, os.R_OK) or (writes and not os.access(path.parent, os.W_OK)):
        return CosetError(f"the evidence state '{path}' may not be {'written' if writes else 'read'} by this user")
    if "set lock on file" in str(error):
        return StateInUse(ANOTHER_PROGRAM)
    return CosetError(f"the evidence state cannot be opened: move '{path}' away and run `coset comprehend`")
