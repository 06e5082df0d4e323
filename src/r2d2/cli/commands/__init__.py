"""The commands, one file each: read the options, call one function of `r2d2.app`, show the result."""

from __future__ import annotations

import click

from r2d2.cli.commands.apply import apply
from r2d2.cli.commands.demo import demo
from r2d2.cli.commands.doctor import doctor
from r2d2.cli.commands.drill import drill
from r2d2.cli.commands.edges import edges
from r2d2.cli.commands.explain import explain
from r2d2.cli.commands.find import find
from r2d2.cli.commands.forget import forget
from r2d2.cli.commands.generate import generate
from r2d2.cli.commands.plan import plan
from r2d2.cli.commands.purge import purge
from r2d2.cli.commands.recipe import recipe
from r2d2.cli.commands.restore import restore
from r2d2.cli.commands.scan import scan
from r2d2.cli.commands.status import status
from r2d2.cli.commands.update import update

ALL: tuple[click.Command, ...] = (
    demo,
    scan,
    update,
    edges,
    explain,
    find,
    recipe,
    plan,
    apply,
    drill,
    purge,
    restore,
    forget,
    status,
    doctor,
    generate,
)
