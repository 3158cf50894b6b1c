"""A statement can be ended from another thread, and the session goes on with the next one."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from coset.environment.configuration import load_environment
from coset.errors import LimitReached
from coset.session.query_session import QuerySession

ENDLESS = "SELECT count(*) FROM range(100000000000) a WHERE a.range % 7 = 3"


def test_an_interrupted_statement_fails_and_the_next_one_runs(tmp_path: Path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  rows: {location: rows.csv}\n")
    with QuerySession(load_environment(tmp_path)) as session:
        session.interrupt()  # Nothing runs yet: nothing happens.
        assert session.sql("SELECT 41 + 1").rows() == [(42,)]
        ended = threading.Event()

        def keep_interrupting() -> None:
            while not ended.is_set():
                time.sleep(0.2)
                session.interrupt()

        other = threading.Thread(target=keep_interrupting)
        other.start()
        try:
            with pytest.raises(LimitReached):
                session.sql(ENDLESS)
        finally:
            ended.set()
            other.join()
        assert session.sql("SELECT a FROM rows.rows").rows() == [(1,)]
