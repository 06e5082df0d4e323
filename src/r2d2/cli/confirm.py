"""Approval by a person: a name, a number typed back, and an end by Ctrl-C that loses nothing."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


def user_name() -> str:
    """The name of the user; '' if the machine knows none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def ask_number(number: int, what: str, option: str) -> int:
    """The number that the person types; a program has to give it as an option (HAZARDS 30)."""
    if not sys.stdin.isatty():
        from r2d2.errors import UserError

        raise UserError(what, hint=f"{option} {number} confirms it")
    answer: int = click.prompt(f"{what}. Type {number} to go on", type=int, err=True)
    return answer


@contextmanager
def interruptible() -> Iterator[None]:
    """End with exit code 130 at Ctrl-C: nothing is lost, but something may be half-way."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("r2d2: interrupted; nothing is lost, and the next command puts right what was half-way", err=True)
        raise click.exceptions.Exit(130) from None
