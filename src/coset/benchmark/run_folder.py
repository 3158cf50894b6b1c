"""Where a run keeps what it has: settings, attempts, long answers, traces. A killed run goes on from here.

In: judged attempts, one by one; each is on disk before the next begins. Out: the same, read back. Lines are only ever
added; the newest line of a trial counts; a last line that was cut off by a kill is left out. A folder belongs to one
set of settings and questions, and to one process at a time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coset.benchmark.attempts import Attempt, Key
from coset.benchmark.written_values import proper
from coset.errors import CosetError, UserError

SETTINGS, ATTEMPTS = "run.json", "attempts.jsonl"
INLINE_LETTERS = 10_000
VERSION = 1


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder for this process. Raises `UserError` when another one does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UserError(f"cannot write to '{folder}' ({error.strerror}): name another folder with --out") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            who = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            raise UserError(
                f"another run (process {who}) is writing to '{folder}': wait for it, or name another folder with --out"
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


class RunFolder:
    """One run: one mode, one model, one set of questions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self.attempts: dict[Key, Attempt] = {}
        self.settings: dict[str, Any] = {}
        self.questions: dict[str, str] = {}
        self.texts: dict[str, str] = {}

    @classmethod
    def begin(
        cls, folder: Path, settings: Mapping[str, Any], questions: Mapping[str, str], texts: Mapping[str, str]
    ) -> RunFolder:
        """A new run, or the one that is there, to go on with. `questions` has fingerprints, `texts` the words.

        More datasets may join a run, and more trials; other settings, or a question that changed, may not."""
        run = cls(folder)
        if (folder / SETTINGS).exists():
            run._read()
            run._check(settings, questions)
            run.questions.update(questions)
            run.texts.update(texts)
        else:
            run.settings, run.questions, run.texts = dict(settings), dict(questions), dict(texts)
        folder.mkdir(parents=True, exist_ok=True)
        run._write_settings()
        return run

    @classmethod
    def read(cls, folder: Path) -> RunFolder:
        """A run that is there. Raises `UserError` when there is none."""
        if not (folder / SETTINGS).is_file():
            raise UserError(f"'{folder}' holds no run: it has no {SETTINGS}")
        run = cls(folder)
        run._read()
        return run

    def add(self, attempt: Attempt, answer: str, trace: list[dict[str, Any]]) -> Attempt:
        """Keep an attempt with its whole answer and its trace; the attempt as it was kept."""
        name = file_name(attempt.dataset, attempt.question, attempt.trial)
        answer = proper(answer)
        changes: dict[str, Any] = {"answer": answer[:INLINE_LETTERS], "answer_letters": len(answer)}
        try:
            if len(answer) > INLINE_LETTERS:
                changes["answer_file"] = f"answers/{name}.txt"
                _write(self.folder / "answers" / f"{name}.txt", answer)
            if trace:
                changes["trace"] = f"traces/{name}.json"
                _write(self.folder / "traces" / f"{name}.json", json.dumps(trace, ensure_ascii=False, default=str))
            kept = attempt.model_copy(update=changes)
            with self._lock:
                path = self.folder / ATTEMPTS
                # What a kill cut off must not run into the next line.
                torn = path.exists() and path.stat().st_size > 0 and not _ends_line(path)
                with path.open("a", encoding="utf-8", errors="replace") as file:
                    file.write(("\n" if torn else "") + kept.model_dump_json() + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                self.attempts[kept.key] = kept
        except OSError as error:
            raise CosetError(
                f"cannot keep an attempt in '{self.folder}' ({error.strerror}): make room, then run the same command "
                "again; it goes on from here"
            ) from error
        return kept

    def whole_answer(self, attempt: Attempt) -> str:
        if attempt.answer_file is None:
            return attempt.answer
        try:
            return (self.folder / attempt.answer_file).read_text(encoding="utf-8")
        except OSError:
            return attempt.answer

    def trace(self, attempt: Attempt) -> list[dict[str, Any]]:
        try:
            content = json.loads((self.folder / attempt.trace).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return [step for step in content if isinstance(step, dict)] if isinstance(content, list) else []

    def note(self, **facts: Any) -> None:
        """Keep facts about the run beside its settings: what could not be run, how long comprehension took."""
        self.settings["notes"] = {**self.settings.get("notes", {}), **facts}
        self._write_settings()

    @property
    def notes(self) -> dict[str, Any]:
        found = self.settings.get("notes", {})
        return found if isinstance(found, dict) else {}

    def _check(self, settings: Mapping[str, Any], questions: Mapping[str, str]) -> None:
        where = f"'{self.folder}' holds a run"
        what_to_do = "name another folder with --out, or give the same settings to go on"
        for key, value in settings.items():
            if key != "notes" and self.settings.get(key) != value:
                had, has = json.dumps(self.settings.get(key)), json.dumps(value)
                raise UserError(f"{where} with another {key} ({had}, not {has}): {what_to_do}")
        changed = [name for name, mark in questions.items() if self.questions.get(name, mark) != mark]
        datasets = {name.rpartition("/")[0] for name in questions}
        gone = [name for name in self.questions if name.rpartition("/")[0] in datasets and name not in questions]
        for names, how in ((changed, "changed"), (gone, "is gone")):
            if names:
                more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
                raise UserError(
                    f"{where} whose question {names[0]}{more} {how} since: its {len(self.attempts)} attempts stay as "
                    "they are; name another folder with --out"
                )

    def _read(self) -> None:
        try:
            content = json.loads((self.folder / SETTINGS).read_text(encoding="utf-8"))
            self.settings, self.questions = dict(content["settings"]), dict(content["questions"])
            self.texts = dict(content["texts"])
            version = int(content["version"])
        except (OSError, ValueError, KeyError, TypeError):
            raise UserError(f"'{self.folder / SETTINGS}' cannot be read: name another folder with --out") from None
        if version > VERSION:
            raise UserError(f"'{self.folder}' was written by a newer coset: upgrade this one, or name another --out")
        try:
            lines = (self.folder / ATTEMPTS).read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                attempt = Attempt.model_validate_json(line)
            except ValidationError:
                continue  # Cut off by a kill; what was asked there is asked again.
            self.attempts[attempt.key] = attempt

    def _write_settings(self) -> None:
        content = {"version": VERSION, "settings": self.settings, "questions": self.questions, "texts": self.texts}
        _write(self.folder / SETTINGS, json.dumps(content, indent=1, ensure_ascii=False))


def file_name(dataset: str, question: str, trial: int) -> str:
    """A name that every file system takes, and that no two attempts share."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", f"{dataset}-{question}")[:80]
    if all(re.fullmatch(r"[A-Za-z0-9_]{1,39}", part) for part in (dataset, question)):
        return f"{plain}-trial{trial}"
    # A name that had to be changed is told apart by what it was.
    mark = hashlib.sha256(f"{dataset}/{question}".encode()).hexdigest()[:8]
    return f"{plain}-{mark}-trial{trial}"


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8", errors="replace")
    part.replace(path)
