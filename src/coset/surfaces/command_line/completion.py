"""`coset completion`: completion of commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
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
