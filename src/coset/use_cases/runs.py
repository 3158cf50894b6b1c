"""The questions that were asked: listed, shown whole, replayed on today's data.

In: an environment. Out: what the audit kept. Reads only, but for `confirm`: an answer that a person says is right goes
to the corrections file, as a question with its statement; nothing else ever does.
"""

from __future__ import annotations

import datetime

from coset.answering.audit.replay import Replay
from coset.answering.audit.replay import replay as replay_run
from coset.answering.audit.runs import Run, Runs, RunSummary
from coset.answering.audit.store import FILE_NAME
from coset.environment.corrections import Question, add_corrections, load_corrections
from coset.errors import UserError
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


def confirm(workspace: Workspace, number: int, by: str | None = None) -> Question:
    """Keep that the answer of a run is right: its question and statement."""
    found = run(workspace, number)
    answer = found.answer or {}
    statements = [str(each) for each in answer.get("sql") or ()]
    if found.summary.status != "answered" or not statements:
        raise UserError(f"run {number} has no answer out of a statement: there is nothing to confirm")
    needs = tuple(str(each) for each in answer.get("references") or ())
    return confirm_statement(workspace, found.summary.question, statements[-1], needs, by)


def confirm_statement(
    workspace: Workspace, question: str, statement: str, needs: tuple[str, ...] = (), by: str | None = None
) -> Question:
    """Keep that a statement answers a question, in the corrections file, instead of what was kept for the question
    before. The next comprehension mines the statement like SQL that people wrote, and similar questions see it at
    once."""
    question = " ".join(question.split())
    entry = Question(question=question, needs=needs, sql=statement, by=by, on=datetime.date.today())
    known = load_corrections(workspace.configuration).questions
    same = [each for each in known if each.question.casefold() == question.casefold()]
    add_corrections(workspace.configuration, [entry], instead_of=same)
    return entry
