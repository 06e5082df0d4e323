"""`--quiet` leaves the result alone on stdout: on every command it takes away what others say on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from r2d2.cli.main import cli
from tests.cli.conftest import Command

# Each command up to its first error, which comes after its settings were read and before Spark starts.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "demo": ("--folder", "."),
    "scan": ("nowhere",),
    "explain": ("a", "b"),
    "find": ("nowhere.parquet",),
    "recipe show": ("a", "b"),
    "recipe set": ("a", "b", "SELECT x FROM parent"),
    "recipe forget": ("a", "b"),
    "apply": ("nowhere.json",),
    "restore": ("--all",),
    "forget": ("t", "--yes-forget", "1"),
}


def commands(group: click.Group = cli, above: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{above}{name} ")
        else:
            yield above + name, command


ALL = dict(commands())


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_json_and_quiet(name: str) -> None:
    options = {option for parameter in ALL[name].params for option in parameter.opts}
    assert {"--json", "--quiet", "-q"} <= options


@pytest.mark.parametrize("name", [name for name in ALL if name != "generate"])  # which has no settings, but progress
def test_quiet_takes_away_the_line_on_the_settings(
    name: str, r2d2: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r2d2.toml").write_text("")
    arguments = (*name.split(), *ARGUMENTS.get(name, ()))
    loud, quiet = r2d2(*arguments), r2d2(*arguments, "--quiet")
    assert loud.code == quiet.code == 2 and loud.out == quiet.out == ""
    assert "settings from" in loud.err and "settings from" not in quiet.err
    assert quiet.err.startswith("r2d2: ") and "Hint: " in quiet.err  # the error is still told
