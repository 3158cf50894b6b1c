"""The questions that were asked: listed, shown whole, replayed on today's data.

In: an environment. Out: what the audit kept. Reads only.
"""

from __future__ import annotations

from coset.answering.audit.replay import Replay
from coset.answering.audit.replay import replay as replay_run
from coset.answering.audit.runs import Run, Runs, RunSummary
from coset.answering.audit.store import FILE_NAME
from coset.use_cases.cancellation import Cancellation
from coset.use_cases.workspace import Workspace

MOST = 50


def runs(workspace: Workspace, limit: int = MOST) -> tuple[RunSummary, ...]:
    """The newest first; none where no question was asked yet."""
    folder = workspace.configuration.state_folder
    return Runs(folder).summaries(limit) if (folder / FILE_NAME).exists() else ()


def run(workspace: Workspace, number: int) -> Run:
    """One run whole."""
    return Runs(workspace.configuration.state_folder).run(number)


def replay(workspace: Workspace, number: int, call: Cancellation | None = None) -> Replay:
    """Run the statements behind an answer again, without a model, and compare."""
    with workspace.sessions.lent(call) as session:
        return replay_run(Runs(workspace.configuration.state_folder), number, session)
