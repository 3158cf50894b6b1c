"""`coset ask`: a question in words, answered with the queries behind it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

import click

from coset.errors import UserError
from coset.surfaces.command_line.ask_answered import ask_user, show_answered
from coset.surfaces.command_line.output import environment_option, json_option

if TYPE_CHECKING:
    from coset.answering.answer import Answer


@click.command(name="ask")
@click.argument("question", required=False)
@click.option(
    "--model", metavar="MODEL", help="The model: anthropic:NAME, openai:NAME, google:NAME, ollama:NAME, or URL#NAME."
)
@click.option("--arbiter-model", metavar="MODEL", help="Another model for the arbiter. [default: as --model]")
@click.option("--text-model", metavar="MODEL", help="Another model to read texts with. [default: as --model]")
@click.option("--core", is_flag=True, help="Without roles, routing and records: the plain schema, for comparison.")
@click.option("--quick", is_flag=True, help="Let the offline reasoner answer what it is sure of, without a model.")
@click.option("--interactive", is_flag=True, help="Ask back when the question can be read in several ways.")
@click.option("--budget", type=click.IntRange(100), help="Tokens of details. [default: as of view; 8000 with --core]")
@click.option("--steps", type=click.IntRange(1), default=12, show_default=True, help="The most steps of the agent.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=200_000,
    show_default=True,
    help="The most tokens for a question.",
)
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="DOLLARS", help="The most this may cost.")
@click.option(
    "--timeout", type=click.FloatRange(0.1), default=180.0, show_default=True, help="Seconds a model has for one reply."
)
@click.option(
    "--verify",
    type=click.Choice(["none", "auto", "full"]),
    default="auto",
    show_default=True,
    help="Check the answer by counting, and compute it a second time: never, when in doubt, always.",
)
@click.option("--resume", type=click.IntRange(1), metavar="RUN", help="Go on with a run that was not answered.")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer alone.")
@environment_option
@json_option
def command(
    question: str | None,
    model: str | None,
    arbiter_model: str | None,
    text_model: str | None,
    core: bool,
    quick: bool,
    interactive: bool,
    budget: int | None,
    steps: int,
    max_tokens: int,
    max_cost: float | None,
    timeout: float,
    verify: Literal["none", "auto", "full"],
    resume: int | None,
    quiet: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Answer QUESTION over all sources, with the queries behind the answer.

    A model decides what the question means in terms of your data, computes it with read-only SQL, and checks it. Its
    key comes from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY; COSET_MODEL_KEY for an address).
    The model may also be set in coset.yaml (models:) or as COSET_MODEL. Every run is kept: see coset runs. Where no
    model is set, a small built-in reasoner answers what it is sure of, and otherwise shows the evidence.

    Exit code 1 when it stopped without an answer: at a limit, or because the model failed.
    """
    from coset.environment.configuration import load_environment

    if (question is None) == (resume is None):
        raise UserError("give one question, or the run to go on with: --resume RUN")
    if interactive and not sys.stdin.isatty():
        raise UserError("--interactive needs a terminal to ask at: leave it out")
    environment = load_environment(environment_path)
    no_model = not (model or environment.models.get("agent") or os.environ.get("COSET_MODEL"))
    if question is not None and not core and (quick or no_model):
        from coset.surfaces.command_line.ask_offline import answer_offline

        if answer_offline(question, environment, as_json=as_json, quiet=quiet, is_last=no_model):
            return
    from coset.answering.ask import AskOptions
    from coset.answering.model_client import Limits
    from coset.answering.run_store import ask_and_keep, go_on

    def answered() -> tuple[Answer, int]:
        if resume is not None:
            return go_on(resume, environment, options)
        return ask_and_keep(question or "", environment, options)

    options = AskOptions(
        model=model,
        arbiter_model=arbiter_model,
        text_model=text_model,
        core=core,
        budget=budget,
        limits=Limits(steps, max_tokens, max_cost, timeout),
        ask_user=ask_user if interactive else None,
        verify=verify,
    )
    show_answered(answered, interactive=interactive, as_json=as_json, quiet=quiet)
