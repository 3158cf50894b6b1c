"""`coset train`: make the weights from corpora."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from coset.errors import MissingDependency


@click.command(name="train")
@click.option("--corpus", type=click.Path(path_type=Path), required=True, metavar="DIR",
              help="Folder with schemas.jsonl.zst and, where there are any, rows/ and synonyms.jsonl.zst.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("weights"), show_default=True, metavar="DIR",
              help="Where the weights go; a stopped run goes on from what is there.")  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--thorough", is_flag=True, help="Learn from all there is, as the weights that ship did: three hours.")
@click.option("--begin-with", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
              help="Trained weights whose encoders of columns and tables learn further.")  # fmt: skip
@click.option("--ablations", is_flag=True, help="Also measure what each part is worth: takes longer.")
def train_command(corpus: Path, out: Path, seed: int, thorough: bool, begin_with: Path | None, ablations: bool) -> None:
    """Train the weights from scratch: the text encoders, encoder and prior of each coordinate, then routing.

    Takes about 45 minutes on two cores. Needs the [training] extra. Is deterministic under its seed, goes on from what
    is done, and writes model cards with data, split and figures.
    """
    try:
        from coset.training.identities.stage import RecipeSettings
        from coset.training.recipe import train
        from coset.training.routing.recipe import RoutingSettings
    except ImportError:
        raise MissingDependency("Training", "training") from None
    started, last = time.monotonic(), [0.0]

    def report(what: str, share: float) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() or now - last[0] > 15:
            last[0] = now
            end = "\r" if sys.stderr.isatty() else "\n"
            click.echo(f"{(now - started) / 60:5.1f} min  {share:4.0%}  {what:90}{end}", err=True, nl=False)

    begin = str(begin_with.resolve()) if begin_with else ""
    settings, routing = RecipeSettings(seed=seed, begin_with=begin), RoutingSettings(seed=seed)
    if not thorough:
        settings, routing = settings.short(), routing.short()
    told = {" --thorough": thorough, " --begin-with DIR": begin, " --ablations": ablations}
    made_by = "coset train --corpus DIR" + "".join(option for option, chosen in told.items() if chosen)
    figures = train(corpus, out, settings, routing, report, made_by, ablations=ablations)
    for coordinate in ("entity", "attribute"):
        found = figures[coordinate]["validation"]
        click.echo(
            f"{coordinate}: top-1 {found['top_1']:.3f}, top-3 {found['top_3']:.3f}, "
            f"calibration error {found['calibration_error']:.3f}"
        )
    pooled, single = figures["routing"]["pooled"]["all"], figures["routing"]["single"]["all"]
    click.echo(
        f"routing: all gold tables in the first 5 {pooled['5']:.3f}, in the first 15 {pooled['15']:.3f}; all gold kept "
        f"{single['kept_all']:.3f} with {single['columns']:.1f} columns"
    )
    click.echo(f"{out}: {(time.monotonic() - started) / 60:.1f} min")
