"""`coset ask` without a model: the offline reasoner's answer, or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from coset.environment.configuration import Environment
from coset.surfaces.command_line.output import cell, json_value, print_json, show_rows, waiting

if TYPE_CHECKING:
    from coset.answering.offline import OfflineAnswer


def answer_offline(question: str, environment: Environment, *, as_json: bool, quiet: bool, is_last: bool) -> bool:
    """Show the offline answer. False when it declined and a model may go on; a decline that is the last word is shown
    with the evidence, and ends with exit code 1."""
    from coset.answering.models import HOW_TO_SET
    from coset.answering.offline import Declined, answer
    from coset.answering.offline.confidence import in_words
    from coset.routing.router import Router
    from coset.routing.view_text import view_text
    from coset.session.query_session import QuerySession
    from coset.state.evidence_state import FILE_NAME, EvidenceState

    if not (environment.state_folder / FILE_NAME).exists():
        return False
    with waiting("answering without a model"), QuerySession(environment) as session:
        router = Router.open(environment, session)
        with EvidenceState.read(environment.state_folder) as state:
            found = answer(question, router, session, state)
    if isinstance(found, Declined):
        if not is_last:
            return False
        if as_json:
            print_json({"mode": "offline", "declined": found.reason, "view": view_text(found.view)})
        else:
            click.echo(f"not sure: {cell(found.reason, 600)}; {HOW_TO_SET}", err=True)
            if not quiet:
                click.echo(view_text(found.view))
        raise click.exceptions.Exit(1)
    if as_json:
        print_json(
            {"mode": "offline", "columns": found.columns, "rows": json_value(found.rows), "sql": [found.sql],
             "reading": found.reading, "steps": found.steps, "confidence": round(found.confidence, 3),
             "doubts": in_words(found.doubts), "checks": json_value(found.checks), "tokens": 0}
        )  # fmt: skip
        return True
    show_rows(found.columns, found.rows, found.truncated)
    if not quiet:
        _explain(found)
    return True


def _explain(found: OfflineAnswer) -> None:
    """How the question was read, what was done, the statement, and how sure it is."""
    from coset.answering.offline.confidence import in_words

    click.echo("\nread as", err=True)
    for line in found.reading:
        click.echo(f"  {cell(line, 400)}", err=True)
    click.echo("then", err=True)
    for number, line in enumerate(found.steps, start=1):
        click.echo(f"  {number}. {cell(line, 400)}", err=True)
    click.echo("\n" + "\n".join(cell(line, 4_000) for line in found.sql.splitlines()), err=True)
    passed = sum(check.outcome == "passed" for check in found.checks)
    why = "; ".join(in_words(found.doubts))
    sure = f"sure to {found.confidence:.0%}" + (f" ({why})" if why else "")
    click.echo(f"\nwithout a model, {passed} checks passed, {sure}", err=True)
