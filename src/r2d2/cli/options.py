"""Options made from the settings, so that each is written down once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from r2d2.cli.output import printable
from r2d2.settings import (
    CONFIG_FILE,
    Declaration,
    Settings,
    config_in,
    declarations,
    load_settings,
    size_in_bytes,
    weakened_by_environment,
)

Command = TypeVar("Command", bound=Callable[..., Any])

AS_JSON = click.option("--json", "as_json", is_flag=True, help="machine-readable output; the shapes are documented")
QUIET = click.option("--quiet", "-q", is_flag=True, help="no progress, only the result")
LAKE = click.option("--lake", default="", metavar="DIR", help="the lake's folder [default: that of the last scan]")
APPROVED_BY = click.option(
    "--approved-by", default="", metavar="NAME", help="who answers for it [default: the user's name]"
)
_CONFIG = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"a TOML file with settings [default: {CONFIG_FILE} in the working folder, which cannot weaken a guard]",
)


def with_settings(command: str) -> Callable[[Command], Command]:
    """Give a command the options of every setting it has."""

    def decorate(function: Command) -> Command:
        for declaration in reversed(declarations()):
            if not declaration.commands or command in declaration.commands:
                function = _option(declaration)(function)
        return _CONFIG(function)

    return decorate


def _option(declaration: Declaration) -> Callable[[Command], Command]:
    """The click option; its default is None, so that a setting from elsewhere shows through."""
    if declaration.type is bool:
        return click.option(
            f"{declaration.option}/--no-{declaration.option[2:]}", declaration.name, default=None, help=declaration.help
        )
    shown = f"{declaration.help} [default: {declaration.default}]" if declaration.default else declaration.help
    return click.option(
        declaration.option,
        declaration.name,
        type=str if declaration.repeats else declaration.type,
        multiple=declaration.repeats,
        default=None,
        metavar=declaration.metavar or None,
        help=shown,
    )


def settings_from(given: dict[str, Any]) -> Settings:
    """The settings in force, with what the command line gave; an option that was not given is left out."""
    names = {declaration.name for declaration in declarations()}
    config: Path | None = given.get("config")
    on_the_line = {k: v for k, v in given.items() if k in names and v not in (None, ())}
    loaded = load_settings(on_the_line, config=config)
    _name_file(config or config_in(Path.cwd()))
    for variable in weakened_by_environment(on_the_line):
        click.echo(f"r2d2: the environment has {printable(variable)}", err=True)
    _question_memory(loaded.driver_memory)
    return loaded


def _name_file(path: Path | None) -> None:
    """Say which file the settings come from, if there is one, unless only the result is wanted."""
    context = click.get_current_context(silent=True)
    if path is not None and not (context and context.params.get("quiet")):
        click.echo(f"r2d2: settings from {printable(str(path))}", err=True)


def _question_memory(asked: str) -> None:
    """Warn of a driver memory beyond the machine's; it may still be meant, where there is swap."""
    from r2d2.engine.spark.machine import memory_bytes

    there = memory_bytes()
    if there and (size_in_bytes(asked) or 0) > there:
        click.echo(
            f"r2d2: --driver-memory {asked} is more than the {there / 2**30:.0f} GB of memory here",
            err=True,
        )
