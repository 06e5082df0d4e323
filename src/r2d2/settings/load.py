"""Merge settings; later ones win: default, `r2d2.toml`, environment `R2D2_*`, command line.

An `r2d2.toml` in the working folder cannot weaken a guard (HAZARDS 43); a file named with `--config` can. Tables to
protect add up over all of these places.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from r2d2.errors import UserError
from r2d2.settings.declared import Declaration, Settings, declarations

CONFIG_FILE = "r2d2.toml"
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}
_TYPES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def load_settings(
    given: Mapping[str, Any] | None = None,
    *,
    config: Path | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force; *given* come from the command line or from code, *config* is a file named there."""
    found = None if config else config_in(folder or Path.cwd())
    from_call = _typed_by_name({name: value for name, value in (given or {}).items() if value is not None}, "the call")
    values = _over(_from_environment(os.environ if environment is None else environment), from_call)
    if config:
        return _checked(_over(_from_file(config), values))
    in_folder = _from_file(found) if found else {}
    checked = _checked(_over(in_folder, values))
    _refuse_weaker({name: value for name, value in in_folder.items() if name not in values}, found)
    return checked


def _over(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Merge values; the later win. Tables to protect add up, so that no option lifts a legal hold."""
    both = [one.name for one in declarations() if one.adds_up and one.name in earlier.keys() & later]
    added = {name: tuple(dict.fromkeys((*earlier[name], *later[name]))) for name in both}
    return {**earlier, **later, **added}


def config_in(folder: Path) -> Path | None:
    """The file with settings in a folder, if there is one."""
    return folder / CONFIG_FILE if (folder / CONFIG_FILE).is_file() else None


def _refuse_weaker(values: Mapping[str, Any], path: Path | None) -> None:
    """Refuse values that weaken a guard and come from a file in the working folder that the user did not name."""
    for one in declarations():
        if one.weakens and one.name in values and one.weakens(values[one.name]):
            raise UserError(
                f"{path} sets {one.name} = {values[one.name]!r}, which only counts from a file that you name",
                hint=f"--config {path} names it, and {one.option} sets it for one command",
            )


def weakened_by_environment(given: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> list[str]:
    """The variables, as NAME=value, that weaken a guard; an option of the same setting in *given* takes their place."""
    there = os.environ if environment is None else environment
    values = _from_environment(there)
    return [
        f"{one.variable}={there[one.variable]}"
        for one in declarations()
        if one.weakens and one.name in values and one.weakens(values[one.name]) and given.get(one.name) is None
    ]


def _from_file(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror})", hint="--config names a TOML file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}", hint="it is a TOML file: name = value") from error
    return _typed_by_name(content, str(path))


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    given = {one: environment[one.variable] for one in declarations() if one.variable in environment}
    return {one.name: _typed(one, _parsed(one, text), one.variable) for one, text in given.items()}


def _parsed(declaration: Declaration, text: str) -> Any:
    """The value of a text from the environment; the text itself if it has no such value."""
    if declaration.repeats:
        return [part for part in text.split(os.pathsep) if part]
    if declaration.type is bool:
        return _BOOLEANS.get(text.lower(), text)
    try:
        return declaration.type(text)
    except ValueError:
        return text


def _typed_by_name(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = {one.name: one for one in declarations()}
    for name in values:
        if name not in known:
            raise UserError(f"{where} has a setting {name!r} that does not exist", hint=_nearest(name, known))
    return {name: _typed(known[name], value, where) for name, value in values.items()}


def _typed(declaration: Declaration, value: Any, where: str) -> Any:
    if declaration.repeats:
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
    elif declaration.type is str and isinstance(value, os.PathLike):
        return os.fspath(value)
    elif declaration.type is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    elif type(value) is declaration.type:
        return value
    wanted = _TYPES.get(declaration.type, "a list of text")
    raise UserError(f"{declaration.name} in {where} must be {wanted}, not {value!r}", hint=declaration.help)


def _checked(values: Mapping[str, Any]) -> Settings:
    for one in declarations():
        if one.check and one.name in values and (wrong := one.check(values[one.name])):
            raise UserError(f"{one.option} {wrong}, not {values[one.name]}", hint=one.help)
    return replace(Settings(), **values)


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else "docs/cli-reference.md lists the settings"
