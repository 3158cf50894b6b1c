"""`coset mcp`: serves the environment to agents that speak the Model Context Protocol."""

from __future__ import annotations

import os

import click

from coset.errors import MissingDependency
from coset.surfaces.command_line.output import environment_option


@click.command(name="mcp")
@click.option("--http", is_flag=True, help="Serve over streamable HTTP instead of standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on, with --http.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one.")
@click.option("--read-only", is_flag=True, help="Leave out the tool that keeps corrections of roles.")
@environment_option
def command(http: bool, host: str, port: int, read_only: bool, environment_path: str | None) -> None:
    """Serve the environment to an agent: tools for the evidence view, SQL, joins, corrections and checks.

    Without --http it speaks over standard input and output, which is how an agent starts it. With --http it serves
    several at once, on this machine only; beyond it every request must carry the token in COSET_MCP_TOKEN as
    `Authorization: Bearer ...`. The tool `ask` uses the model that is configured, or none.

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
    if http:
        check_exposure(host, token)
    with coset.open(environment_path) as environment:
        if not http:
            serve_stdio(environment, read_only=read_only)
            return
        serve_http(
            environment, host=host, port=port, token=token, read_only=read_only,
            ready=lambda address: click.echo(f"serving on {address}", err=True),
        )  # fmt: skip
