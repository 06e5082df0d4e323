"""All settings, each declared once: default, help and check. Options, `r2d2.toml`, environment and docs follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, get_type_hints

from r2d2.model.scan_settings import ScanSettings
from r2d2.settings.checks import (
    Check,
    at_least,
    between,
    from_to,
    heap_size,
    nothing_or,
    one_of,
    share_of_rows,
    spark_master,
    starts_with,
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One setting as it is declared."""

    name: str
    type: Any  # str, int, float, bool, or tuple[str, ...] for one that may be given several times
    default: Any
    help: str
    commands: tuple[str, ...]  # the commands that have it as an option; empty: all
    metavar: str
    check: Check | None
    adds_up: bool  # values from several places are added up
    weakens: Callable[[Any], bool] | None  # whether a value weakens a guard, or sends the work to other machines

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
    default: Any,
    help: str,
    commands: str = "",
    metavar: str = "",
    check: Check | None = None,
    *,
    adds_up: bool = False,
    weakens: Callable[[Any], bool] | None = None,
) -> Any:
    declared = {"help": help, "commands": tuple(commands.split()), "metavar": metavar, "check": check}
    return field(default=default, metadata=declared | {"adds_up": adds_up, "weakens": weakens})


def _below(default: float) -> Callable[[float], bool]:
    return lambda value: value < default


def _is_elsewhere(master: str) -> bool:
    """Whether a Spark master is on another machine, which would get R2D2's code and the key of the row hashes."""
    return not (master == "local" or master.startswith("local["))


_SCANS = "scan demo"
_PLANS = "plan demo"
_SPARK = f"{_SCANS} update find recipe plan apply drill restore"  # the commands that read rows


@dataclass(frozen=True)
class Settings:
    """The values in force."""

    state: str = _setting(".r2d2", "folder that keeps the results of scans", metavar="DIR")
    include: tuple[str, ...] = _setting(
        ScanSettings.include, "only tables whose name matches; may be repeated", "scan", "GLOB"
    )
    exclude: tuple[str, ...] = _setting(
        ScanSettings.exclude, "leave out tables whose name matches; may be repeated", "scan", "GLOB"
    )
    folder_table: tuple[str, ...] = _setting(
        ScanSettings.folder_table,
        "a folder whose name matches is one table, whatever its files are called; may be repeated",
        "scan",
        "GLOB",
    )
    split: tuple[str, ...] = _setting(
        ScanSettings.split,
        "in a folder whose name matches each file is a table, whatever its name; may be repeated",
        "scan",
        "GLOB",
    )
    ignore_case: bool = _setting(
        ScanSettings.ignore_case, "treat columns whose names differ only in case as the same", "scan"
    )
    partition_types: str = _setting(
        ScanSettings.partition_types,
        "type of the values in partition folders: infer (whole numbers and dates, if all of them are) or string",
        "scan",
        "infer|string",
        one_of("infer", "string"),
    )
    bag: bool = _setting(
        ScanSettings.bag, "count copies: a parent must have each row of the child at least as often", "scan"
    )
    rows: int = _setting(
        ScanSettings.rows,
        "rows of each child that are sampled and looked up in its parents before all rows are compared",
        _SCANS,
        "T",
        at_least(1),
    )
    columns: int = _setting(
        ScanSettings.columns,
        "columns in which a sampled row is looked up, the most selective; all with --epsilon or --no-verify",
        _SCANS,
        "S",
        at_least(1),
    )
    epsilon: float = _setting(
        ScanSettings.epsilon,
        "sample so many rows, uniformly and in all columns, that a child lacking this share is caught (with --delta)",
        "scan",
        "SHARE",
        share_of_rows,
    )
    delta: float = _setting(
        ScanSettings.delta,
        "the risk that a child lacking that share is not caught (with --epsilon)",
        "scan",
        "RISK",
        between(1e-9, 1),
    )
    verify: bool = _setting(
        ScanSettings.verify, "compare every row of the remaining pairs; without, results rest on samples", _SCANS
    )
    footer_timeout: float = _setting(
        30.0,
        "seconds that the metadata of one file may take before its table counts as unreadable",
        "scan update find",
        "SECONDS",
        from_to(0.1, 86_400),
    )
    show_values: bool = _setting(
        False, "show the values of one row that the parent lacks; reads both tables again, keeps nothing", "explain"
    )
    master: str = _setting(
        "local[*]",
        "where Spark runs: local[N], or spark://host:7077, yarn, k8s://…, where every worker sees the lake",
        _SPARK,
        "URL",
        spark_master,
        weakens=_is_elsewhere,
    )
    remote: str = _setting(
        "",
        "use this Spark Connect server instead, whose workers see the lake: sc://host:15002",
        _SPARK,
        "URL",
        nothing_or(starts_with("sc://")),
        weakens=bool,
    )
    worker_timeout: float = _setting(
        300.0,
        "with --master on a cluster: seconds without a sign of life from any worker before the run gives up",
        _SPARK,
        "SECONDS",
        at_least(0.1),
    )
    driver_memory: str = _setting(
        "",
        "memory of an embedded Spark, such as 2g; by default a quarter of the machine's, 1g to 4g",
        _SPARK,
        "SIZE",
        nothing_or(heap_size),
    )
    class_archive: bool = _setting(
        True,
        "keep the classes of an embedded Spark in the cache folder: takes room on disk, and it starts sooner",
        _SPARK,
    )
    recipe_parents: int = _setting(
        3,
        "parents of a table that are tried for a recipe: the N smallest, and one that is in no other; 0: all",
        "recipe",
        "N",
        at_least(0),
    )
    recipe_rows: int = _setting(
        10_000_000,
        "rows of a child up to which a predicate is searched and rows are listed; about 32 bytes of memory each",
        "recipe",
        "N",
        at_least(0),
    )
    prices: str = _setting("azure", "prices: azure, aws, gcp or a TOML file", f"{_PLANS} status", "NAME|FILE")
    access: str = _setting(
        "",
        "access log (CSV, JSON lines or Parquet) with the columns table and time, and optionally kind and reader",
        "plan",
        "FILE",
    )
    access_names: str = _setting(
        "",
        "maps names of the access log to tables: CSV, JSON lines or Parquet with the columns name and table; an empty "
        "table says that the name is not part of this lake",
        "plan",
        "FILE",
    )
    exclude_reader: tuple[str, ...] = _setting(
        (), "a reader whose lines in the access log do not count; may be repeated", "plan", "NAME"
    )
    accesses_per_week: float = _setting(
        0.25,
        "reads of a table in a week, if no access log says: each read of a deleted table is a rebuild",
        _PLANS,
        "N",
        at_least(0),
    )
    maintenance_per_week: float = _setting(
        1.0,
        "how often a week maintenance, such as privacy requests, reads every table, if no access log says",
        f"{_PLANS} status",
        "N",
        at_least(0),
    )
    horizon: float = _setting(1.0, "months that the plan looks ahead", _PLANS, "MONTHS", between(0.01, 1200))
    latencies: str = _setting(
        "",
        "seconds that rebuilds took (CSV, JSON lines or Parquet with the columns parent, child, seconds); drills "
        "count more",
        "plan",
        "FILE",
    )
    latency: float = _setting(
        3600.0, "longest time that a rebuild may take, the start of Spark included", _PLANS, "SECONDS", at_least(0)
    )
    read_speed: float = _setting(100.0, "speed at which a rebuild reads, in MB a second", _PLANS, "MB", at_least(0.001))
    write_speed: float = _setting(
        50.0, "speed at which a rebuild writes, in MB a second", _PLANS, "MB", at_least(0.001)
    )
    spark_start: float = _setting(
        10.0, "seconds that Spark takes to start: part of the time of a rebuild", _PLANS, "SECONDS", at_least(0)
    )
    protect: tuple[str, ...] = _setting((), "tables that stay; may be repeated", "plan", "GLOB", adds_up=True)
    prefer: tuple[str, ...] = _setting(
        (), "of equal tables, keep those whose name matches; may be repeated", "plan", "GLOB"
    )
    prefer_cost: float = _setting(
        0.01,
        "share of the savings that may be given up so that the preferred of equal tables stay",
        "plan",
        "SHARE",
        from_to(0, 1),
    )
    legal_hold: tuple[str, ...] = _setting(
        (), "tables under legal hold: they stay; may be repeated", "plan", "GLOB", adds_up=True
    )
    protect_owner: tuple[str, ...] = _setting(
        (), "tables whose files belong to this user stay; may be repeated", "plan", "USER", adds_up=True
    )
    min_age: float = _setting(
        7.0,
        "only tables that were not written to for so many days may go",
        "plan",
        "DAYS",
        at_least(0),
        weakens=_below(7.0),
    )
    plan_empty: bool = _setting(False, "empty tables may go too", "plan", weakens=bool)
    solver_seconds: float = _setting(
        60.0,
        "time limit of the solver for each group of connected tables; then the best plan so far counts, with its gap",
        "plan",
        "SECONDS",
        at_least(0.1),
    )
    quiet_period: float = _setting(
        3600.0,
        "seconds that nobody must have written to a table or its parent before the table is deleted",
        "apply",
        "SECONDS",
        at_least(0),
        weakens=_below(3600.0),
    )
    retention: float = _setting(
        30.0,
        "days that a deleted table stays in quarantine before it may be purged",
        "purge status",
        "DAYS",
        from_to(0, 36_500),
        weakens=_below(30.0),
    )
    keep_runs: int = _setting(2, "finished scans that the state folder keeps", "scan update", "N", at_least(1))
    nearest: int = _setting(
        5,
        "also list up to N tables that have only some of the rows, the nearest first; 0: none, which reads less",
        "find",
        "N",
        at_least(0),
    )

    @property
    def scan(self) -> ScanSettings:
        """The settings that shape a scan."""
        return ScanSettings(**{one.name: getattr(self, one.name) for one in fields(ScanSettings)})


@cache
def declarations() -> tuple[Declaration, ...]:
    """Every setting, in the order of this file."""
    types = get_type_hints(Settings)
    return tuple(
        Declaration(name=one.name, type=types[one.name], default=one.default, **one.metadata)
        for one in fields(Settings)
    )
