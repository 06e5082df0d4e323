"""Options made from the settings, so that each is written down once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from r2d2.settings import Declaration, Settings, declarations, load_settings

Command = TypeVar("Command", bound=Callable[..., Any])


def with_settings(command: str) -> Callable[[Command], Command]:
    """Give a command the options of every setting it has."""

    def decorate(function: Command) -> Command:
        for declaration in reversed(declarations()):
            if not declaration.commands or command in declaration.commands:
                function = _option(declaration)(function)
        return function

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
    return load_settings({k: v for k, v in given.items() if k in names and v not in (None, ())})
