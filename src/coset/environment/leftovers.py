"""Clean-up: files and folders do not outlive the process that made them, and processes do not outlive their parent.

In: a path to write, or a prefix. Out: a file or folder that carries the number of this process in its name, and goes
with it: in its end, by a signal, or, after a kill that nothing can answer to, when the next coset sweeps.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

FOLDERS = "coset-files-"
_held: set[Path] = set()
_ENDING = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
_OF_PROCESS = re.compile(r"\.(\d+)(?:-[0-9a-f]+)?\.part$")
_PID_IN_FOLDER = re.compile(rf"{FOLDERS}(\d+)-")


@contextlib.contextmanager
def part_file(path: Path) -> Iterator[Path]:
    """A file to be written beside `path` and then moved there; removed when it was not. Its owner alone may read it."""
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident() & 0xFFFFFF:x}.part")
    _held.add(part)
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)
        _held.discard(part)


def keep_part(part: Path, path: Path) -> None:
    """Put a finished part in its place, for its owner alone."""
    part.chmod(0o600)
    part.replace(path)


def temporary_folder() -> Path:
    """A new folder in the system's place for such, for this process alone."""
    sweep_temporary_folders()
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDERS}{os.getpid()}-"))
    _held.add(folder)
    return folder


def sweep_temporary_folders(gone: int | None = None) -> None:
    """Remove the temporary folders of processes that are gone."""
    for left in Path(tempfile.gettempdir()).glob(f"{FOLDERS}*"):
        found = _PID_IN_FOLDER.match(left.name)
        if found and (int(found[1]) == gone or not _is_alive(int(found[1]))):
            shutil.rmtree(left, ignore_errors=True)


def make_private(folder: Path, but: Path) -> None:
    """Keep a folder and all that is in it from other users, whatever the umask was when it was made. `but`: the file of
    secrets, of which its owner must hear when others could read it."""
    if os.name != "posix":
        return
    for place, _, files in os.walk(folder):
        for path, mode in ((Path(place), 0o700), *((Path(place, name), 0o600) for name in files)):
            with contextlib.suppress(OSError):  # Of another owner, or gone meanwhile.
                if path != but and not path.is_symlink() and path.stat().st_mode & 0o077:
                    path.chmod(mode)


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _held.discard(folder)


def sweep(state_folder: Path) -> None:
    """Remove what processes that are gone left behind in a state folder."""
    for place in ("snapshots", "listings", "fetched"):
        for part in (state_folder / place).rglob("*.part"):
            found = _OF_PROCESS.search(part.name)
            if found is None or not _is_alive(int(found[1])):  # Without a number: of an earlier version.
                with contextlib.suppress(OSError):
                    part.unlink()
    for left in (state_folder / "fetched").glob("*-*"):
        number = left.name.partition("-")[0]
        if number.isdigit() and not _is_alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)


def end_with_parent() -> None:
    """For a process of a pool: when its parent is gone, or a signal asks it to, it ends and leaves nothing."""
    import multiprocessing  # Takes a while to load, which a command that needs no pool should not pay for.
    from multiprocessing.connection import wait

    for number in _ENDING:
        signal.signal(number, lambda *_: _leave())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent hears of it too, and ends its processes.
    os.umask(0o077)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            wait([parent.sentinel])
            sweep_temporary_folders(gone=parent.pid)  # It may not have been buried yet.
            _leave()

        threading.Thread(target=watch, daemon=True).start()


def end_on_signals() -> None:
    """For a command: SIGTERM and SIGHUP end it as an error would, so that it cleans up."""

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # As under nohup.
            signal.signal(number, leave)


def _leave() -> None:
    for _ in range(5):  # The work goes on meanwhile, and may write what was just removed.
        for path in list(_held):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    path.unlink()
        if not any(path.exists() for path in list(_held)):
            break
    os._exit(1)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
