"""Every setting, once: default, help and check. Options, `r2d2.toml`, environment and docs are made from it.

Later wins: default < `r2d2.toml` < environment `R2D2_*` < option on the command line.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from r2d2.errors import UserError

CONFIG_FILE = "r2d2.toml"

Check = Callable[[Any], str | None]  # what is wrong with a value, or None


@dataclass(frozen=True, slots=True)
class Declaration:
    """One setting as it is declared."""

    name: str
    type: Any  # str, int, float, bool, or tuple[str, ...] for one that may be given several times
    default: Any
    help: str
    commands: tuple[str, ...]  # which commands have it as an option; empty: all
    metavar: str
    check: Check | None

    @property
    def option(self) -> str:
        """The option on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return "R2D2_" + self.name.upper()

    @property
    def repeats(self) -> bool:
        """Whether it may be given several times."""
        return bool(self.type == tuple[str, ...])


def _setting(
    default: Any, help: str, *, commands: Iterable[str] = (), metavar: str = "", check: Check | None = None
) -> Any:
    metadata = {"help": help, "commands": tuple(commands), "metavar": metavar, "check": check}
    return field(default=default, metadata=metadata)


def _at_least(least: float) -> Check:
    return lambda value: None if least <= value < math.inf else f"must be at least {least}{_finite(value)}"


def _finite(value: float) -> str:
    """Infinity is no number of days or bytes: nothing can be reckoned with it."""
    return ", and finite" if value == math.inf else ""


def _between(least: float, most: float) -> Check:
    return lambda value: None if least <= value < most else f"must be at least {least} and below {most}"


def _from_to(least: float, most: float) -> Check:
    return lambda value: None if least <= value <= most else f"must be at least {least} and at most {most}"


def _share(value: float) -> str | None:
    """Smaller ones would take samples of millions of rows: then all of them can be compared."""
    return None if value == 0 or 1e-6 <= value < 1 else "must be 0, or at least 0.000001 and below 1"


def _one_of(*words: str) -> Check:
    return lambda value: None if value in words else f"must be one of {', '.join(words)}"


def _starts_with(*words: str) -> Check:
    return lambda value: None if value.startswith(words) else f"must start with {' or '.join(words)}"


def _nothing_or(check: Check) -> Check:
    return lambda value: check(value) if value else None


_SCANS = ("scan", "demo")
_PLANS = ("plan", "demo")
_SPARK = (*_SCANS, "update", "find", "recipe", "plan", "apply", "drill", "restore")  # the commands that read rows


@dataclass(frozen=True)
class Settings:
    """The values in force."""

    state: str = _setting(".r2d2", "folder that keeps what a scan found", metavar="DIR")
    include: tuple[str, ...] = _setting(
        (), "only tables whose name matches; may be repeated", commands=["scan"], metavar="GLOB"
    )
    exclude: tuple[str, ...] = _setting(
        (), "leave out tables whose name matches; may be repeated", commands=["scan"], metavar="GLOB"
    )
    folder_table: tuple[str, ...] = _setting(
        (),
        "a folder whose name matches is one table, whatever its files are called; may be repeated",
        commands=["scan"],
        metavar="GLOB",
    )
    ignore_case: bool = _setting(False, "columns whose names differ in case only are the same", commands=["scan"])
    partition_types: str = _setting(
        "infer",
        "values in partition folders: infer (whole numbers and dates, if all of them are) or string",
        commands=["scan"],
        metavar="infer|string",
        check=_one_of("infer", "string"),
    )
    bag: bool = _setting(False, "count copies: a child may not have more of a row than its parent", commands=["scan"])
    rows: int = _setting(
        100,
        "sampled rows of each child that are looked for in its parents before all rows are compared",
        commands=_SCANS,
        metavar="T",
        check=_at_least(1),
    )
    columns: int = _setting(
        4,
        "columns in which a sampled row is looked for, the most telling ones",
        commands=_SCANS,
        metavar="S",
        check=_at_least(1),
    )
    epsilon: float = _setting(
        0.0,
        "sample so many rows, drawn uniformly, that a child lacking this share of its rows is caught (with --delta)",
        commands=["scan"],
        metavar="SHARE",
        check=_share,
    )
    delta: float = _setting(
        0.05, "the risk that it is not (with --epsilon)", commands=["scan"], metavar="RISK", check=_between(1e-9, 1)
    )
    verify: bool = _setting(
        True, "compare every row of what is left; without, the result stands on samples only", commands=_SCANS
    )
    footer_timeout: float = _setting(
        30.0,
        "seconds one file's metadata may take before its table is called unreadable",
        commands=["scan", "update", "find"],
        metavar="SECONDS",
        check=_from_to(0.1, 86_400),
    )
    show_values: bool = _setting(
        False,
        "show the values of one row that the parent lacks; reads both tables again, keeps nothing",
        commands=["explain"],
    )
    master: str = _setting(
        "local[*]",
        "where Spark runs: local[N], or spark://host:7077, yarn, k8s://…, where every worker sees the lake",
        commands=_SPARK,
        metavar="URL",
        check=_starts_with("local", "spark://", "yarn", "k8s://"),
    )
    remote: str = _setting(
        "",
        "a Spark Connect server to use instead, whose workers see the lake: sc://host:15002",
        commands=_SPARK,
        metavar="URL",
        check=_nothing_or(_starts_with("sc://")),
    )
    worker_timeout: float = _setting(
        300.0,
        "with --master on a cluster: seconds without a sign of life from any worker before the scan gives up",
        commands=_SPARK,
        metavar="SECONDS",
        check=_at_least(0.1),
    )
    driver_memory: str = _setting(
        "",
        "memory of an embedded Spark, such as 2g; by default a quarter of the machine's, 1g to 4g",
        commands=_SPARK,
        metavar="SIZE",
    )
    class_archive: bool = _setting(
        True,
        "keep the classes of an embedded Spark in the cache folder (150 MB): it then starts in half the time",
        commands=_SPARK,
    )
    recipe_parents: int = _setting(
        3,
        "how many parents of a table, the smallest first, are tried for a recipe, and one that is in no other; 0: all",
        commands=["recipe"],
        metavar="N",
        check=_at_least(0),
    )
    recipe_rows: int = _setting(
        10_000_000,
        "rows of a child up to which a predicate is searched for and rows are listed; about 32 bytes of memory each",
        commands=["recipe"],
        metavar="N",
        check=_at_least(0),
    )
    prices: str = _setting(
        "azure", "prices: azure, aws, gcp or a TOML file", commands=[*_PLANS, "status"], metavar="NAME|FILE"
    )
    access: str = _setting(
        "",
        "access log (CSV, JSON lines, Parquet) with the columns table, time and, if there are any, kind and reader",
        commands=["plan"],
        metavar="FILE",
    )
    exclude_reader: tuple[str, ...] = _setting(
        (), "a reader whose lines in the access log do not count; may be repeated", commands=["plan"], metavar="NAME"
    )
    accesses_per_week: float = _setting(
        0.25,
        "how often a table is read, where no access log says: each read of a deleted table is a rebuild",
        commands=_PLANS,
        metavar="N",
        check=_at_least(0),
    )
    maintenance_per_week: float = _setting(
        1.0,
        "how often maintenance, such as privacy requests, reads every table, where no access log says",
        commands=[*_PLANS, "status"],
        metavar="N",
        check=_at_least(0),
    )
    horizon: float = _setting(
        1.0, "months that the plan looks ahead", commands=_PLANS, metavar="MONTHS", check=_between(0.01, 1200)
    )
    latencies: str = _setting(
        "",
        "how long rebuilds took (CSV, JSON lines, Parquet with the columns parent, child, seconds); drills count more",
        commands=["plan"],
        metavar="FILE",
    )
    latency: float = _setting(
        3600.0, "seconds that a rebuild may take at most", commands=_PLANS, metavar="SECONDS", check=_at_least(0)
    )
    read_speed: float = _setting(
        100.0, "how many MB a second a rebuild reads", commands=_PLANS, metavar="MB", check=_at_least(0.001)
    )
    write_speed: float = _setting(
        50.0, "how many MB a second a rebuild writes", commands=_PLANS, metavar="MB", check=_at_least(0.001)
    )
    protect: tuple[str, ...] = _setting((), "tables that stay; may be repeated", commands=["plan"], metavar="GLOB")
    legal_hold: tuple[str, ...] = _setting(
        (), "tables under legal hold: they stay; may be repeated", commands=["plan"], metavar="GLOB"
    )
    protect_owner: tuple[str, ...] = _setting(
        (), "tables whose files belong to this user stay; may be repeated", commands=["plan"], metavar="USER"
    )
    min_age: float = _setting(
        7.0, "days that a table must not have been written to", commands=["plan"], metavar="DAYS", check=_at_least(0)
    )
    plan_empty: bool = _setting(False, "empty tables may go too", commands=["plan"])
    solver_seconds: float = _setting(
        60.0,
        "seconds that the solver may take for tables that hang together; then the best so far counts, with its gap",
        commands=["plan"],
        metavar="SECONDS",
        check=_at_least(0.1),
    )
    quiet_period: float = _setting(
        3600.0,
        "seconds that nobody must have written to a table or its parent before the table is deleted",
        commands=["apply"],
        metavar="SECONDS",
        check=_at_least(0),
    )
    retention: float = _setting(
        30.0,
        "days that a deleted table stays in quarantine before it may be purged",
        commands=["purge", "status"],
        metavar="DAYS",
        check=_from_to(0, 36_500),
    )
    keep_runs: int = _setting(
        2,
        "how many finished scans the state folder keeps",
        commands=["scan", "update"],
        metavar="N",
        check=_at_least(1),
    )
    keep_hashes: int = _setting(
        1000,
        "how many MB of hashes the state folder may keep, up to a fifth of the lake: what has not changed is then not "
        "read again by update and find; 0: none",
        commands=["scan", "update", "find"],
        metavar="MB",
        check=_at_least(0),
    )
    nearest: int = _setting(
        5,
        "tables that lack some of the rows to name, the nearest first; 0: none, which reads less",
        commands=["find"],
        metavar="N",
        check=_at_least(0),
    )


def declarations() -> tuple[Declaration, ...]:
    """Every setting, in the order of this file."""
    types = get_type_hints(Settings)
    return tuple(
        Declaration(name=f.name, type=types[f.name], default=f.default, **f.metadata) for f in fields(Settings)
    )


def load_settings(
    given: Mapping[str, Any] | None = None,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force; *given* are those from the command line or from code."""
    values = _from_file((folder or Path.cwd()) / CONFIG_FILE)
    values |= _from_environment(os.environ if environment is None else environment)
    values |= _typed_by_name({name: value for name, value in (given or {}).items() if value is not None}, "the call")
    return _checked(values)


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}", hint="it is a TOML file: name = value") from error
    return _typed_by_name(content, str(path))


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        declaration.name: _typed(
            declaration, _parsed(declaration, environment[declaration.variable]), declaration.variable
        )
        for declaration in declarations()
        if declaration.variable in environment
    }


def _parsed(declaration: Declaration, text: str) -> Any:
    """A value out of the environment, where everything is text."""
    if declaration.repeats:
        return [part for part in text.split(os.pathsep) if part]
    if declaration.type is bool:
        words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}
        return words.get(text.lower(), text)
    if declaration.type in (int, float):
        try:
            return declaration.type(text)
        except ValueError:
            return text
    return text


def _typed_by_name(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = {declaration.name: declaration for declaration in declarations()}
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
    wanted = (
        "a list of text"
        if declaration.repeats
        else {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}[
            declaration.type.__name__
        ]
    )
    raise UserError(f"{declaration.name} in {where} must be {wanted}, not {value!r}", hint=declaration.help)


def _checked(values: Mapping[str, Any]) -> Settings:
    for declaration in declarations():
        if declaration.check and declaration.name in values:
            wrong = declaration.check(values[declaration.name])
            if wrong:
                raise UserError(f"{declaration.option} {wrong}, not {values[declaration.name]}", hint=declaration.help)
    return replace(Settings(), **values)


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else "docs/cli-reference.md lists the settings"
