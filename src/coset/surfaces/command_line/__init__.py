"""The `coset` command. One module per group of commands, loaded only when one of them is called."""

from __future__ import annotations

import difflib
import logging
import os
import sys
from importlib import import_module

import click

from coset import __version__
from coset.errors import CosetError, UserError
from coset.surfaces.command_line.output import show_error, want_json

# command -> (module, one line for the overview). The module defines it as NAME_command.
COMMANDS = {
    "init": ("setting_up", "Write coset.yaml from name=location arguments and check every connection."),
    "sources": ("setting_up", "List the sources with their tables, rows and sizes, and what is unreachable."),
    "comprehend": ("comprehending", "Read the environment and build its evidence state; later, only what changed."),
    "status": ("comprehending", "What is there, what is stale, what needs a person."),
    "show": ("looking", "All that is known of a source, table or column, and why."),
    "copies": ("joining", "The tables that are copies of others: backups, loads, archives, trials."),
    "readings": ("meanings", "What tables and columns are, in plain words, and who says so."),
    "relations": ("joining", "The joins that were found, with their expressions and match rates."),
    "links": ("joining", "Records of several tables that are one thing, and why."),
    "join": ("joining", "Say that two columns join, or that they do not."),
    "identities": (
        "meanings",
        "The roles that tables and columns play, with the members of each and the roles nearest to it.",
    ),
    "teach": ("meanings", "Say which role a table or column plays, or does not; look-alikes follow."),
    "labelers": ("meanings", "The signs by which roles are told, how often each spoke, and how far it is trusted."),
    "map": ("looking", "A picture of all tables and columns, with those that play the same role close together."),
    "diagnostics": ("looking", "What is wrong with values, and the expressions that clean it."),
    "note": ("meanings", "Say something about a table or column that wins over what was inferred."),
    "view": ("looking", "What a question gets to see of the environment, within a budget of tokens."),
    "recover": ("looking", "Evidence that a view left out, by its reference or by words."),
    "sql": ("asking", "Run one read-only SELECT across all sources."),
    "ask": ("asking", "Answer a question in words, with the queries behind the answer."),
    "runs": ("runs", "The questions that were asked, with how each ended and what it cost."),
    "run": ("runs", "One run as a readable trace, or replayed on today's data without a model."),
    "mcp": ("serving", "Serve the environment to agents that speak the Model Context Protocol."),
    "ui": ("serving", "The environment as a web page on this machine: look, ask, correct."),
    "token": ("serving", "Make a token for a person who may use a server, with the line for the file of people."),
    "export": ("serving", "What coset knows as a semantic model for other tools: OSI, dbt, Cube, Markdown, JSON."),
    "calc": ("asking", "Work out an expression: arithmetic, statistics, dates, sets."),
    "train": ("train", "Train the weights from corpora (needs the [training] extra)."),
    "bench": ("measuring", "Run coset on benchmark tasks and write its answers."),
    "completion": ("serving", "Print the script that completes commands and options in your shell."),
    "demo": ("demo", "Make a small company in a folder, comprehend it, and answer five questions about it."),
}

GROUPS = {
    "Set up": ("init", "demo", "sources", "comprehend", "status"),
    "Look": (
        "view",
        "recover",
        "show",
        "readings",
        "relations",
        "copies",
        "links",
        "identities",
        "diagnostics",
        "map",
        "labelers",
    ),
    "Ask": ("ask", "sql", "calc", "runs", "run"),
    "Correct": ("teach", "note", "join"),
    "Serve": ("mcp", "ui", "token", "export", "completion"),
    "Measure": ("bench", "train"),
}
"""The commands by what people do; a command that is in none comes last."""


class LazyCommands(click.Group):
    """Knows the names and one-line texts of all commands; imports one only to run it or to print its own help."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        from coset.environment.leftovers import end_on_signals

        end_on_signals()  # Here, since it loads libraries that the overview does not need.
        command: click.Command = getattr(import_module(f"{__name__}.{COMMANDS[name][0]}"), f"{name}_command")
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        grouped = {name for names in GROUPS.values() for name in names}
        others = tuple(name for name in COMMANDS if name not in grouped)
        width = max(len(name) for name in COMMANDS)
        for title, names in (*GROUPS.items(), ("Others", others)):
            if names:
                with formatter.section(title):
                    formatter.write_dl([(f"{name:{width}}", COMMANDS[name][1]) for name in names])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A misspelt command gets the nearest ones."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=3)
            hint = f": did you mean {' or '.join(near)}?" if near else ": `coset --help` lists them"
            raise UserError(f"there is no command '{name}'{hint}")
        return super().resolve_command(context, args)


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="coset")
@click.option("--verbose", is_flag=True, help="Say on standard error what is being done; before the command.")
def coset(verbose: bool) -> None:
    """Answers questions over many databases and files, with the SQL behind each answer.

    Name your data once (coset init), let it be read (coset comprehend), then look, ask, and correct. Everything is
    read-only: nothing is ever written to a source.
    """
    if verbose:
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s: %(message)s")


def main() -> None:
    """Entry point. Exit code 2: something in the call is wrong; 1: something failed."""
    # Matrices are small here: threads of the linear algebra would wait for each other longer than they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    want_json(False)
    try:
        code = coset.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except CosetError as error:
        show_error(str(error), type(error).__name__)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        show_error("interrupted", "Interrupted")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("COSET_TRACEBACK"):
            raise
        show_error(f"unexpected {type(error).__name__}: {error} (set COSET_TRACEBACK=1 to see where)", "Unexpected")
        sys.exit(1)
