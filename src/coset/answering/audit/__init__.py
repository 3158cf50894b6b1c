"""What happened in every run, kept: question, view, records, steps, cost, answer, checks; readable and replayable."""

from __future__ import annotations

from coset.answering.audit.recorder import RunRecorder
from coset.answering.audit.replay import Replay, replay
from coset.answering.audit.runs import Run, Runs, RunSummary, Step
from coset.answering.audit.store import KeptResult, kept_result

__all__ = ["KeptResult", "Replay", "Run", "RunRecorder", "RunSummary", "Runs", "Step", "kept_result", "replay"]
