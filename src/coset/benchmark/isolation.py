"""A state folder of an attempt's own: what was comprehended is shared, what a model said is not.

In: an environment. Out: the same environment with another state folder for as long as the block lasts, in which the
evidence, listings and snapshots are links to the comprehended ones. Labels that a model gave to texts, and whatever
else answering keeps, stay in that folder and go with it: a trial that found the labels of an earlier one would be
neither independent nor honestly priced. Knows nothing of questions.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coset.environment.configuration import Environment
from coset.state.evidence_state import FILE_NAME

FOLDER = "attempts"
SHARED = (FILE_NAME, "listings", "snapshots")
"""What is made from the data alone. Anything else in a state folder is taken for an attempt's own."""

_numbers = itertools.count(1)


@contextmanager
def own_state(environment: Environment) -> Iterator[Environment]:
    environment.prepare_state_folder()
    sweep(environment.state_folder)
    folder = environment.state_folder / FOLDER / f"{os.getpid()}-{next(_numbers)}"
    folder.mkdir(parents=True)
    try:
        for name in SHARED:
            shared = environment.state_folder / name
            if shared.exists():
                (folder / name).symlink_to(shared.absolute())
        yield dataclasses.replace(environment, state_folder=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(state_folder: Path) -> None:
    """Remove what attempts left whose process was killed."""
    for left in (state_folder / FOLDER).glob("*-*"):
        process = left.name.partition("-")[0]
        if process.isdecimal() and not _runs(int(process)):
            shutil.rmtree(left, ignore_errors=True)


def _runs(process: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True
