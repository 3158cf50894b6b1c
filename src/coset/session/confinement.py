"""Confines the process that runs SQL: no writing of files, no connections, bounded memory.

This is the layer below the guard and below DuckDB's own settings; it holds even if both were wrong. Linux offers all
of it (Landlock since 5.13, its network rules since 6.7); elsewhere what is missing is left out and `confine` says so.
Nothing here knows about DuckDB.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import time

# Landlock: https://docs.kernel.org/userspace-api/landlock.html
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION_FLAG = 1
_PR_SET_NO_NEW_PRIVS = 38
# EXECUTE, then all rights that change the file system: WRITE_FILE, REMOVE_DIR ... MAKE_SYM; reading stays.
_EXECUTE, _WRITE_FILE = 1 << 0, 1 << 1
_CHANGE_FOLDERS = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64))


def confine(memory_bytes: int) -> list[str]:
    """Confine this process for good; to be called before it starts any thread. Returns what holds from now on."""
    holds = []
    # A file may not grow, so none can be written; ignoring the signal turns it into an error DuckDB reports.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for name, limit, value in (
        ("no file can grow", resource.RLIMIT_FSIZE, 0),
        ("no core dump", resource.RLIMIT_CORE, 0),
        ("memory", resource.RLIMIT_AS, memory_bytes),
    ):
        try:
            resource.setrlimit(limit, (value, value))
            holds.append(name)
        except (ValueError, OSError):
            pass
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        holds += _landlock(libc)
    return holds


def _landlock(libc: ctypes.CDLL) -> list[str]:
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    if version < 1:
        return []
    files = _EXECUTE | _WRITE_FILE | _CHANGE_FOLDERS
    files |= _REFER if version >= 2 else 0
    files |= _TRUNCATE if version >= 3 else 0
    network = _BIND_TCP | _CONNECT_TCP if version >= 4 else 0
    ruleset = _Ruleset(files, network)
    size = ctypes.sizeof(ruleset) if version >= 4 else ctypes.sizeof(ctypes.c_uint64)
    # A right that is handled and granted to no path is denied everywhere: the ruleset stays empty on purpose.
    descriptor = libc.syscall(_CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    if descriptor < 0:
        return []
    try:
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return []
        if libc.syscall(_RESTRICT_SELF, descriptor, 0) != 0:
            return []
    finally:
        os.close(descriptor)
    return ["no file can be changed", *(["no TCP connection"] if network else [])]


def end_with_parent() -> None:
    """End this process when its parent is gone, even in the middle of a statement.

    A thread that looks, rather than Linux's parent-death signal: that one follows the thread that started us, and a
    session may well be opened in one thread and used in another.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
