"""`coset mcp`, `coset ui`, `coset export`, `coset completion`: for agents, a browser, other tools, a shell."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from coset.errors import MissingDependency, UserError
from coset.surfaces.command_line.output import environment_option, opened

if TYPE_CHECKING:
    from coset.api.environment import Environment
    from coset.people import People


@click.command(name="mcp")
@click.option("--http", is_flag=True, help="Serve over streamable HTTP instead of standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on, with --http.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one.")
@click.option("--read-only", is_flag=True, help="Leave out the tool that keeps corrections of roles.")
@click.option("--people", "people_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="With --http: names, tokens and rights of those who may use it.")  # fmt: skip
@environment_option
def mcp_command(
    http: bool, host: str, port: int, read_only: bool, people_file: Path | None, environment_path: str | None
) -> None:
    """Serve the environment to an agent: tools for the evidence view, SQL, joins, corrections and checks.

    Without --http it speaks over standard input and output, which is how an agent starts it. With --http it serves
    several at once, on this machine only; beyond it every request must carry the token in COSET_MCP_TOKEN as
    `Authorization: Bearer ...`, or one's own with --people. The tool `ask` uses the model that is configured, or none.
    /health and /metrics tell how it stands.

    \b
    claude mcp add coset -- coset mcp -e /path/to/coset.yaml
    """
    try:
        from coset.surfaces.mcp.serving import TOKEN_VARIABLE, check_exposure, serve_http, serve_stdio
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in {"mcp", "mcp_types", "starlette", "uvicorn", "anyio"}:
            raise MissingDependency("The MCP server", "mcp") from None
        raise
    import coset

    token = os.environ.get(TOKEN_VARIABLE) or None
    if people_file is not None and not http:
        raise UserError("--people goes with --http: over standard input and output there is only whoever started it")
    if http and people_file is None:
        check_exposure(host, token)
    with coset.open(environment_path) as environment:
        if not http:
            serve_stdio(environment, read_only=read_only)
            return
        serve_http(
            environment, host=host, port=port, token=token, people=_people(people_file, environment),
            read_only=read_only,
            ready=lambda address: click.echo(f"serving on {address}", err=True),
        )  # fmt: skip


@click.command(name="ui")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8766, show_default=True, help="0 takes a free one.")
@click.option("--reports", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Also show the benchmark reports below this folder.")  # fmt: skip
@click.option("--open", "open_browser", is_flag=True, help="Open it in a browser.")
@click.option("--people", "people_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Names, tokens and rights of those who may use it.")  # fmt: skip
@environment_option
def ui_command(
    host: str,
    port: int,
    reports: Path | None,
    open_browser: bool,
    people_file: Path | None,
    environment_path: str | None,
) -> None:
    """Serve the environment as a web page: overview, map, identities, joins, quality, questions with their views, runs.

    Roles can be taught and taken back there. It serves this machine only; beyond it, it asks for the token in
    COSET_UI_TOKEN, or for one's own with --people. It needs no network and ends with Ctrl-C.
    """
    try:
        from coset.surfaces.web.application import TOKEN_VARIABLE, check_exposure, serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in {"starlette", "uvicorn", "jinja2", "anyio", "markupsafe", "h11"}:
            raise MissingDependency("The web page", "ui") from None
        raise
    import coset

    token = os.environ.get(TOKEN_VARIABLE) or None
    if people_file is None:
        check_exposure(host, token)
    if reports is not None and not reports.is_dir():
        raise UserError(f"'{reports}' is no folder: name one that holds benchmark reports")

    def ready(address: str) -> None:
        click.echo(f"serving on {address} (Ctrl-C ends it)", err=True)
        if open_browser:
            click.launch(address)

    with coset.open(environment_path) as environment:
        people = _people(people_file, environment)
        serve(environment, host=host, port=port, token=token, people=people, reports=reports, ready=ready)


def _people(path: Path | None, environment: Environment) -> People | None:
    from coset.people import People

    return None if path is None else People(path, environment.configuration.secrets_file)


@click.command(name="token")
@click.argument("name")
@click.option("--may", default="look,ask", show_default=True, metavar="RIGHTS",
              help="look, ask, correct, with commas between them.")  # fmt: skip
def token_command(name: str, may: str) -> None:
    """Make a token for the person NAME and print the line for the file that --people of `coset mcp` and `coset ui` is
    given: a digest, from which the token cannot be told. The token itself is shown once, here.

    \b
    people:
      ann: {token_sha256: ..., may: [look, ask, correct]}
    """
    from coset.people import RIGHTS, new_token

    rights = [right.strip() for right in may.split(",") if right.strip()]
    if unknown := [right for right in rights if right not in RIGHTS]:
        raise UserError(f"there is no right '{unknown[0]}': there are {', '.join(RIGHTS)}")
    if not rights:
        raise UserError(f"name at least one right: {', '.join(RIGHTS)}")
    token, digest = new_token()
    click.echo(f"{name}'s token, shown this once:\n  {token}\nthe line for the file, under people:", err=True)
    click.echo(f"  {json.dumps(name, ensure_ascii=False)}: {{token_sha256: {digest}, may: [{', '.join(rights)}]}}")


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    coset completion bash >> ~/.bashrc
    coset completion zsh  >> ~/.zshrc
    coset completion fish > ~/.config/fish/completions/coset.fish
    """
    from coset.surfaces.command_line import coset

    found = get_completion_class(shell)
    if found is not None:
        click.echo(found(coset, {}, "coset", "_COSET_COMPLETE").source())


@click.command(name="export")
@click.argument("format_", metavar="FORMAT", type=click.Choice(["osi", "dbt", "cube", "markdown", "json"]))
@click.option("--to", "path", type=click.Path(path_type=Path, dir_okay=False), help="A file to write, instead of here.")
@click.option("--least", type=click.FloatRange(0, 1), default=0.5, show_default=True,
              help="Only joins, readings and roles of at least this confidence.")  # fmt: skip
@environment_option
def export_command(format_: str, path: Path | None, least: float, environment_path: str | None) -> None:
    """Write what coset knows as a semantic model in FORMAT: osi (Open Semantic Interchange), dbt (sources with
    descriptions and tests), cube, markdown (a page for people) or json (all of it).

    It is a draft for people to review and commit: readings, roles, joins, codes with their labels, copies, quality,
    figures and rules. Named under `queries:` of a coset.yaml, such a file is read again, as what people wrote.
    """
    from coset.use_cases.export import export

    with opened(environment_path) as environment:
        text = export(environment.workspace, format_, least)
    if path is None:
        click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    click.echo(f"wrote {path}")
