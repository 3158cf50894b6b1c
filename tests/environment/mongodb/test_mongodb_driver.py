"""MongoDB's packages are loaded by several threads at once without harm."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("bson")

FROM_BOTH_ENDS = """
import importlib.abc, sys, threading, time

class Slow(importlib.abc.MetaPathFinder):
    '''Every package of MongoDB takes a moment to be found, so that threads meet half-way.'''
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"bson", "pymongo"}:
            time.sleep(0.005)

sys.meta_path.insert(0, Slow())
from coset.environment.sources.mongodb.documents import kinds_of_types
from coset.environment.sources.mongodb.driver import bson_is_there, driver_is_there

found = []
def load(use):
    try:
        found.append(bool(use()))
    except Exception as error:
        found.append(repr(error))

threads = [threading.Thread(target=load, args=(use,)) for use in (kinds_of_types, driver_is_there, bson_is_there) * 2]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(found)
"""


def test_threads_that_begin_at_different_ends_do_not_wait_for_each_other():
    done = subprocess.run([sys.executable, "-c", FROM_BOTH_ENDS], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str([True] * 6), done.stdout + done.stderr
