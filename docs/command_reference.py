"""Prints the command reference: every command's own --help, in one document."""

from __future__ import annotations

import click

from coset.surfaces.command_line import COMMANDS, coset

HEAD = """# Command reference

Made from `--help` by `python docs/command_reference.py > docs/command-line.md`; a test fails when it is stale.
"""


def help_of(command: click.Command, name: str) -> str:
    with click.Context(command, info_name=name, max_content_width=100, terminal_width=100) as context:
        return f"\n## {name}\n\n```\n{command.get_help(context)}\n```\n"


def sections(command: click.Command, name: str) -> str:
    text = help_of(command, name)
    if isinstance(command, click.Group) and command is not coset:
        text += "".join(sections(inner, f"{name} {sub}") for sub, inner in command.commands.items())
    return text


if __name__ == "__main__":
    context = click.Context(coset, info_name="coset")
    parts = [HEAD, help_of(coset, "coset")]
    for name in COMMANDS:
        if (command := coset.get_command(context, name)) is not None:
            parts.append(sections(command, f"coset {name}"))
    print("".join(parts), end="")
