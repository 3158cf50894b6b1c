"""Killed in the middle, a comprehension leaves no process, no temporary file, no half-written file, and the next one goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coset.environment.configuration import load_environment
from coset.errors import UserError
from coset.session.query_session import QuerySession

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")


def processes(marker: str) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (
                marker.encode() in (place / "environ").read_bytes()
                and "Z" not in (place / "stat").read_text().split()[2]
            ):
                found.append(int(place.name))
        except OSError:
            continue
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    for number in range(60):
        rows = "".join(f"{n},Zürich {n % 50},{n * 7 % 1000},x{n}\n" for n in range(4000))
        (data / f"t{'abcdefghij'[number % 10]}{'klmnop'[number // 10]}.csv").write_text(
            f"id,city{number},amount,code\n{rows}", encoding="latin-1"
        )
    (tmp_path / "tmp").mkdir()
    (tmp_path / "coset.yaml").write_text("sources:\n  data: {location: data}\n")
    return tmp_path


# Under nohup a command goes on after SIGHUP, as it should; here it must hear it however the tests were started.
COMMAND = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from coset.surfaces.command_line import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_killed_comprehension_leaves_nothing_behind(number: signal.Signals, folder: Path):
    marker = f"COSET_TEST_MARKER={folder}"
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "comprehend"], cwd=folder, umask=0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "COSET_TEST_MARKER": str(folder), "TMPDIR": str(folder / "tmp")},
    )  # fmt: skip
    ends = time.monotonic() + 60
    while len(list((folder / "tmp").glob("coset-files-*"))) < 2 and process.poll() is None and time.monotonic() < ends:
        time.sleep(0.02)  # A process of the pool is at work.
    process.send_signal(number)
    assert process.wait(60) == (-number if number == signal.SIGKILL else 128 + number)  # It did not end by itself.
    ends = time.monotonic() + 30
    while (processes(marker) or list((folder / "tmp").iterdir())) and time.monotonic() < ends:
        time.sleep(0.1)
    assert processes(marker) == []
    assert list((folder / "tmp").iterdir()) == []
    with QuerySession(load_environment(folder)) as session:  # Sweeps what a kill left in the state folder.
        assert session.sql("SELECT count(*) FROM data.tak").rows() == [(4000,)]
    assert list((folder / ".coset").rglob("*.part")) == []
    private = [path for path in (folder / ".coset").rglob("*") if path.stat().st_mode & 0o077]
    assert private == [] and (folder / ".coset").stat().st_mode & 0o077 == 0


def test_secrets_that_others_can_read_are_refused(tmp_path: Path):
    (tmp_path / ".coset").mkdir()
    secrets = tmp_path / ".coset" / "secrets.env"
    secrets.write_text("P=hidden\n")
    secrets.chmod(0o644)
    (tmp_path / "coset.yaml").write_text("sources:\n  a: {location: 'postgresql://u:${P}@localhost/x'}\n")
    environment = load_environment(tmp_path)
    environment.prepare_state_folder()
    with pytest.raises(UserError, match=r"chmod 600 '.*secrets.env'"):
        environment.settings("a")
