"""Readers never wait for writers; writers come one after the other; nothing that was said is lost on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from coset.errors import CosetError, UserError
from coset.state import EvidenceState, evidence_state, migrations
from coset.state import file as state_file
from coset.state.file import COMPREHENDED, CORRECTED, FILE_NAME, StateInUse


def noted(folder: Path) -> list[str]:
    with EvidenceState.read(folder) as state:
        return [note.text for note in state.notes()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with EvidenceState.open(tmp_path) as state:
        state.store_notes([("shop", "first")])
    return tmp_path


def test_a_reader_sees_what_was_published_while_another_is_written(folder: Path):
    with EvidenceState.read(folder) as before, EvidenceState.comprehending(folder) as state:
        state.store_notes([("shop", "second")])
        assert noted(folder) == ["first"]
        with state.copy.publishing():
            state.close()
        assert noted(folder) == ["second"]
        assert [note.text for note in before.notes()] == ["first"], "what was open stays as it was"
    assert noted(folder) == ["second"]


def test_readers_of_one_process_share_what_they_open(folder: Path):
    with EvidenceState.read(folder) as one, EvidenceState.read(folder) as two:
        assert one._held is two._held
        with EvidenceState.open(folder) as state:
            state.store_notes([])
        with EvidenceState.read(folder) as three:
            assert three._held is not one._held and three.notes() == []
    assert one._held is None


def test_a_correction_goes_through_while_a_comprehension_runs_which_then_knows_that_it_is_behind(folder: Path):
    with EvidenceState.comprehending(folder) as state:
        assert not state.copy.is_behind()
        with EvidenceState.open(folder) as correcting:
            correcting.store_notes([("shop", "first"), ("shop", "meanwhile")])
        assert noted(folder) == ["first", "meanwhile"]
        assert state.copy.is_behind()
        with state.copy.catching_up():
            state.store_notes([("shop", "first"), ("shop", "meanwhile")])
        with state.copy.publishing():
            assert not state.copy.is_behind()
            state.close()
    assert noted(folder) == ["first", "meanwhile"]


def test_an_error_takes_a_correction_back_whole_and_leaves_nothing(folder: Path):
    with pytest.raises(ValueError), EvidenceState.open(folder) as state:
        state.store_notes([("shop", "wrong")])
        raise ValueError
    assert noted(folder) == ["first"]
    assert not (folder / CORRECTED).exists()


def test_a_comprehension_goes_on_where_one_stopped(folder: Path):
    with pytest.raises(ValueError), EvidenceState.comprehending(folder) as state:
        state.store_notes([("shop", "half")])
        raise ValueError
    assert noted(folder) == ["first"]
    with EvidenceState.comprehending(folder) as state:
        assert [note.text for note in state.notes()] == ["half"]
    assert noted(folder) == ["half"] and not (folder / COMPREHENDED).exists()


def test_of_a_state_that_was_removed_nothing_comes_back(folder: Path):
    with pytest.raises(ValueError), EvidenceState.comprehending(folder) as state:
        raise ValueError
    (folder / FILE_NAME).unlink()
    with pytest.raises(UserError, match="goes on where it was stopped"):
        EvidenceState.read(folder)
    with EvidenceState.comprehending(folder) as state:
        assert state.notes() == []


def test_a_copy_that_is_damaged_is_made_again(folder: Path):
    (folder / COMPREHENDED).write_bytes(b"no database")
    with EvidenceState.comprehending(folder) as state:
        assert [note.text for note in state.notes()] == ["first"]


WRITER = """
import sys, pathlib
from coset.state import EvidenceState
open_state = getattr(EvidenceState, sys.argv[2])
with open_state(pathlib.Path(sys.argv[1])) as state:
    state.store_notes([("shop", "killed")])
    print("written", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["open", "comprehending"])
def test_a_writer_that_is_killed_blocks_nobody_and_breaks_nothing(folder: Path, kind: str):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    assert noted(folder) == ["first"]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stdin.close()
    assert noted(folder) == ["first"]
    with EvidenceState.open(folder) as state:
        assert [note.text for note in state.notes()] == ["first"]
    assert not (folder / CORRECTED).exists()


def test_writers_of_one_process_come_one_after_the_other(folder: Path):
    def add(number: int) -> None:
        with EvidenceState.open(folder) as state:
            known = [(note.about, note.text) for note in state.notes()]
            state.store_notes([*known, ("shop", str(number))])

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(noted(folder)) == [*"01234567", "first"]


def test_a_second_comprehension_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_file, "WRITER_WAITS", 0.05)
    with EvidenceState.comprehending(folder), pytest.raises(StateInUse, match="another coset"):
        EvidenceState.comprehending(folder)


def test_a_file_that_another_program_holds_is_not_called_damaged(folder: Path):
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(folder / FILE_NAME)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        with pytest.raises(StateInUse, match="another program holds"):
            noted(folder)
        holder.communicate()
    assert noted(folder) == ["first"]


def test_a_state_with_the_log_of_an_earlier_release_keeps_it(tmp_path: Path):
    """Killed, it left what was committed in a log beside the file."""
    script = (
        "import duckdb, os, sys\n"
        'c = duckdb.connect(sys.argv[1]); c.execute("PRAGMA disable_checkpoint_on_shutdown")\n'
        "c.execute(\"INSERT INTO notes VALUES (2, 'shop', 'in the log', now()::TIMESTAMP)\"); os._exit(0)\n"
    )
    with EvidenceState.open(tmp_path) as state:
        state.store_notes([("shop", "first")])
    subprocess.run([sys.executable, "-c", script, str(tmp_path / FILE_NAME)], check=True)
    assert (tmp_path / f"{FILE_NAME}.wal").exists()
    assert noted(tmp_path) == ["first", "in the log"]
    EvidenceState.open(tmp_path).close()
    assert noted(tmp_path) == ["first", "in the log"]
    assert not (tmp_path / f"{FILE_NAME}.wal").exists()


def test_a_state_that_may_not_be_written_is_not_called_damaged(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_file.os, "access", lambda path, mode: mode != os.W_OK)

    def refused(*_: object, **__: object) -> int:
        raise PermissionError

    monkeypatch.setattr(state_file.os, "open", refused)
    with pytest.raises(CosetError, match="may not be written by this user"):
        EvidenceState.open(folder)


def test_a_state_that_is_damaged_is_told(folder: Path):
    (folder / FILE_NAME).write_bytes(b"no database")
    for opening in (EvidenceState.read, EvidenceState.open, EvidenceState.comprehending):
        with pytest.raises(CosetError, match=r"cannot be opened: move '.*' away"):
            opening(folder)
    with pytest.raises(duckdb.Error):
        duckdb.connect(str(folder / FILE_NAME))


def test_a_state_of_an_earlier_coset_is_brought_up_to_date_when_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as earlier:
        earlier.setattr(migrations, "STEPS", migrations.STEPS[:-1])
        earlier.setattr(evidence_state, "STEPS", migrations.STEPS)
        EvidenceState.open(tmp_path).close()
    for _ in range(2):
        with EvidenceState.read(tmp_path) as state:
            assert state.meta("version") == str(len(migrations.STEPS))
            assert state.code_lists() == []


def test_a_state_of_a_newer_coset_is_refused_in_a_sentence(tmp_path: Path):
    with EvidenceState.open(tmp_path) as state:
        state.set_meta("version", "999")
    with pytest.raises(UserError, match="made by a newer coset"):
        EvidenceState.read(tmp_path)
