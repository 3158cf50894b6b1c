"""Set-up that takes long, made once for all workers of a test run.

In: a name and what fills an empty folder. Out: the folder, filled. The first worker that asks fills it, the others wait.
Nobody writes to it: a test that changes something takes a copy.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

MadeOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    base = tmp_path_factory.getbasetemp()
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder_of(name: str, fill: Callable[[Path], object]) -> Path:
        folder, ready = common / name, common / f"{name}.ready"
        with (common / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.exists():
                folder.mkdir()
                fill(folder)
                ready.touch()
        return folder

    return folder_of
