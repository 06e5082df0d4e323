"""What logs say: who reads which table how often, and how long rebuilds took. CSV, JSON lines or Parquet.

Reads by maintenance (privacy requests, scanners) are told from those of people by their kind. Readers that should
not count at all, such as this tool, are left out by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from r2d2.errors import UserError
from r2d2.model.prices import DAYS_PER_MONTH, Usage

if TYPE_CHECKING:
    import polars as pl

MAINTENANCE = frozenset({"maintenance", "gdpr", "privacy", "hygiene"})
_NEEDED = ("table", "time")


def read_access_log(
    path: str, *, tables: Mapping[str, int], default: Usage, excluded_readers: Collection[str] = ()
) -> tuple[dict[int, Usage], list[str]]:
    """By table number how often it was read in a month of the log, and the names in the log that are no table.

    A table that the log never names was read by nobody: the log speaks for the whole lake. Where the log holds no
    maintenance at all, *default* says how often that is.
    """
    log = _rows(path)
    if excluded_readers and "reader" in log.columns:
        log = log.filter(~log["reader"].is_in(list(excluded_readers)))
    months = _months(log, path)
    kinds = log["kind"].str.to_lowercase() if "kind" in log.columns else None
    maintenance = [False] * log.height if kinds is None else kinds.fill_null("").is_in(list(MAINTENANCE)).to_list()
    read: dict[int, list[int]] = {number: [0, 0] for number in tables.values()}
    unknown: set[str] = set()
    for name, upkeep in zip(log["table"].to_list(), maintenance, strict=True):
        number = tables.get(str(name).strip("/"))
        if number is None:
            unknown.add(str(name))
        else:
            read[number][upkeep] += 1
    upkeep_known = any(maintenance)
    return {
        number: Usage(people / months, upkeep / months if upkeep_known else default.maintenance_per_month)
        for number, (people, upkeep) in read.items()
    }, sorted(unknown)


def read_latencies(path: str, *, tables: Mapping[str, int]) -> dict[tuple[int, int], float]:
    """By (parent, child), as numbers, the longest time that a rebuild took; names that are no table are passed over."""
    import polars as pl

    log = _read(path, ("parent", "child", "seconds"), "")
    seconds = log["seconds"].cast(pl.Float64, strict=False)
    if seconds.null_count() or not (seconds.is_finite() & (seconds >= 0)).all():
        raise UserError(f"{path} has seconds that are no number from 0 up", hint="one line for each rebuild")
    longest: dict[tuple[int, int], float] = {}
    for parent, child, took in zip(log["parent"].to_list(), log["child"].to_list(), seconds.to_list(), strict=True):
        pair = tables.get(str(parent).strip("/")), tables.get(str(child).strip("/"))
        if pair[0] is not None and pair[1] is not None:
            longest[pair[0], pair[1]] = max(took, longest.get((pair[0], pair[1]), 0.0))
    return longest


def _rows(path: str) -> pl.DataFrame:
    """The log with its times as datetimes."""
    log = _read(path, _NEEDED, ", and may have kind (read or maintenance) and reader")
    return log.with_columns(_times(log["time"], path))


def _read(path: str, needed: Sequence[str], what: str) -> pl.DataFrame:
    """A log with the columns it needs."""
    import polars as pl

    readers: dict[str, Callable[[str], pl.DataFrame]] = {
        ".csv": lambda file: pl.read_csv(file, infer_schema=False),
        ".json": pl.read_ndjson,
        ".jsonl": pl.read_ndjson,
        ".ndjson": pl.read_ndjson,
        ".parquet": pl.read_parquet,
    }
    ending = os.path.splitext(path)[1].lower()
    if ending not in readers:
        raise UserError(f"cannot tell what kind of log {path} is", hint=f"its name must end in {', '.join(readers)}")
    try:
        log = readers[ending](path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(f"cannot read the log {path}: {str(error).partition(chr(10))[0]}") from error
    missing = [name for name in needed if name not in log.columns]
    if missing:
        raise UserError(f"the log {path} has no column {missing[0]}", hint=f"it needs {', '.join(needed)}{what}")
    return log


def _times(column: pl.Series, path: str) -> pl.Series:
    import polars as pl

    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us"))
    try:
        return (
            column.cast(pl.String)
            .str.to_datetime(time_unit="us", strict=True, time_zone="UTC")
            .dt.replace_time_zone(None)
        )
    except pl.exceptions.PolarsError as error:
        raise UserError(
            f"the access log {path} has a time that cannot be read", hint="times look like 2026-03-01T12:00:00Z"
        ) from error


def _months(log: pl.DataFrame, path: str) -> float:
    """How long a time the log covers, a day at least."""
    if log.height == 0:
        raise UserError(f"the access log {path} has no rows that count", hint="leave --access out to use the defaults")
    times = log["time"].drop_nulls()
    if len(times) < log.height:
        raise UserError(f"the access log {path} has rows without a time")
    first, last = times.min(), times.max()
    days = (last - first).total_seconds() / 86_400  # type: ignore[operator, union-attr]
    return max(1.0, days) / DAYS_PER_MONTH
