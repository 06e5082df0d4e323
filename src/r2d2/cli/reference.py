"""docs/cli-reference.md, made from the commands and the settings. `make docs` writes it; a test compares."""

from __future__ import annotations

from collections.abc import Iterator

import click

from r2d2.cli.main import cli
from r2d2.settings import CONFIG_FILE, Declaration, declarations

_HEAD = """\
# Commands and settings

Made by `make docs` from the program itself.

Every command prints its result on stdout and everything else on stderr. Exit codes: 0 done, 1 done and something
needs a look (a table that could not be read), 2 something the user can fix, 130 interrupted; 70 a bug.

The shapes of `--json` are in [json.md](json.md).
"""


def reference() -> str:
    """The whole page."""
    return "\n".join((_HEAD, *_commands(), *_settings()))


def _commands() -> Iterator[str]:
    for name, command in cli.commands.items():
        yield from _command(f"r2d2 {name}", command)


def _command(name: str, command: click.Command) -> Iterator[str]:
    """One command, then those below it."""
    context = click.Context(
        command,
        info_name=name,
        max_content_width=110,
        terminal_width=110,
        help_option_names=cli.context_settings["help_option_names"],
    )
    yield f"## {name}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for below, one in command.commands.items():
            yield from _command(f"{name} {below}", one)


def _settings() -> Iterator[str]:
    yield "## Settings\n"
    yield (
        f"Later wins: default, `{CONFIG_FILE}` in the working folder or the file of `--config`, environment, option.\n"
        "`protect`, `protect_owner` and `legal_hold` add up instead: an option never takes away what a file protects.\n"
        "In the environment a list is separated as paths are (`:`).\n"
    )
    yield "| setting | in the environment | default | meaning |\n| --- | --- | --- | --- |"
    yield from map(_row, declarations())
    yield ""


def _row(declaration: Declaration) -> str:
    default = "" if declaration.default in ((), "") else f"`{declaration.default}`"
    meaning = declaration.help.replace("|", "\\|")
    return f"| `{declaration.name}` | `{declaration.variable}` | {default} | {meaning} |"


if __name__ == "__main__":
    print(reference(), end="")
