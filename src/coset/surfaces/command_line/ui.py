"""`coset ui`: the environment in a browser, on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import click

from coset.errors import MissingDependency, UserError
from coset.surfaces.command_line.output import environment_option


@click.command(name="ui")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8766, show_default=True, help="0 takes a free one.")
@click.option("--reports", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Also show the benchmark reports below this folder.")  # fmt: skip
@click.option("--open", "open_browser", is_flag=True, help="Open it in a browser.")
@environment_option
def command(host: str, port: int, reports: Path | None, open_browser: bool, environment_path: str | None) -> None:
    """Serve the environment as a web page: overview, map, identities, joins, dirt, questions with their views, runs.

    Roles can be taught and taken back there. It serves this machine only; beyond it, it asks for the token in
    COSET_UI_TOKEN. It needs no network and ends with Ctrl-C.
    """
    try:
        from coset.surfaces.web.serving import TOKEN_VARIABLE, check_exposure, serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in {"starlette", "uvicorn", "jinja2", "anyio", "markupsafe", "h11"}:
            raise MissingDependency("The web page", "ui") from None
        raise
    import coset

    token = os.environ.get(TOKEN_VARIABLE) or None
    check_exposure(host, token)
    if reports is not None and not reports.is_dir():
        raise UserError(f"'{reports}' is no folder: name one that holds benchmark reports")

    def ready(address: str) -> None:
        click.echo(f"serving on {address} (Ctrl-C ends it)", err=True)
        if open_browser:
            click.launch(address)

    with coset.open(environment_path) as environment:
        serve(environment, host=host, port=port, token=token, reports=reports, ready=ready)
