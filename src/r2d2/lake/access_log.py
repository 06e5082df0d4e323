"""Logs of use: reads of each table, and seconds that rebuilds took. CSV, JSON lines or Parquet.

Reads by maintenance (privacy requests, scanners) are told from those of people by their kind. Readers that should
not count at all, such as this tool, are left out by name.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from r2d2.errors import UserError
from r2d2.lake.log_names import NOT_SCANNED, UNKNOWN, LogNames, plain
from r2d2.model.prices import DAYS_PER_MONTH, Usage
from r2d2.model.proposal import LogMatch

if TYPE_CHECKING:
    import polars as pl

MAINTENANCE = frozenset({"maintenance", "gdpr", "privacy", "hygiene"})
LEAST_MATCHED = 0.5  # of the lines of a log; below, it is in another naming, and "not in the log" says nothing
SHOWN_NAMES = 3
_NEEDED = ("table", "time")


def read_access_log(
    path: str, *, names: LogNames, default: Usage, excluded_readers: Collection[str] = ()
) -> tuple[dict[int, Usage], LogMatch]:
    """By table number how often it was read in a month of the log; and how many lines of the log name tables.

    A table that the log never names counts as unread, so a log of which less than half the lines name tables is
    refused. Where the log holds no maintenance at all, *default* says how often that is.
    """
    log = _rows(path)
    if excluded_readers:
        log = log.filter(~_texts(log, "reader").is_in(list(excluded_readers)))
    months = _months(log, path)
    maintenance = _texts(log, "kind").str.to_lowercase().is_in(list(MAINTENANCE)).to_list()
    read: Counter[tuple[int, bool]] = Counter()
    unknown: dict[str, None] = {}
    for name, upkeep in zip(log["table"].to_list(), maintenance, strict=True):
        text = "" if name is None else str(name)
        number = names.number(text)
        read[number, upkeep] += 1
        if number == UNKNOWN:
            unknown[text] = None
    match = _match(path, read, tuple(unknown))
    _refuse_other_naming(match, names)
    upkeep_known = any(maintenance)
    return {
        number: Usage(
            read[number, False] / months,
            read[number, True] / months if upkeep_known else default.maintenance_per_month,
        )
        for number in names.numbers()
    }, match


def _texts(log: pl.DataFrame, column: str) -> pl.Series:
    """A column that a log may have, of any type, as text; '' where it says nothing."""
    import polars as pl

    if column not in log.columns:
        return pl.Series(column, [""] * log.height, pl.String)
    return log[column].cast(pl.String, strict=False).fill_null("")


def _match(path: str, read: Counter[tuple[int, bool]], unknown: tuple[str, ...]) -> LogMatch:
    not_scanned, unmatched = (read[what, False] + read[what, True] for what in (NOT_SCANNED, UNKNOWN))
    lines = read.total()
    return LogMatch(path, lines, lines - not_scanned - unmatched, not_scanned, unknown)


def _refuse_other_naming(match: LogMatch, names: LogNames) -> None:
    """A log in another naming would make every table of the lake unread, hence deletable."""
    if match.share >= LEAST_MATCHED:
        return
    counted = match.lines - match.not_scanned
    what = (
        f"less than half of the lines of {match.file} name tables of this lake ({match.matched:,} of {counted:,})"
        if counted
        else f"none of the lines of {match.file} names a table that was scanned"
    )
    some = ", ".join(map(repr, match.unknown[:SHOWN_NAMES]))
    raise UserError(
        what + (f"; the first names that are no table: {some}" if some else ""),
        hint=f"tables are named like {names.example()!r} here: --access-names FILE maps other names, in two columns, "
        "name (in the log) and table (in the lake, or empty for what is no part of it)",
    )


def read_names(path: str) -> dict[str, str]:
    """By name in a log, the table that a person says it means; '' for a name that is no part of the lake."""
    import polars as pl

    rows = _read(path, ("name", "table"), "").select(pl.col("name", "table").cast(pl.String).fill_null(""))
    given: dict[str, str] = {}
    for place, (name, table) in enumerate(rows.iter_rows()):
        asked, meant = plain(name), plain(table)
        if not asked:
            raise UserError(f"{_line(path, place)} maps no name", hint="each line has a name of the log and a table")
        if given.setdefault(asked, meant) != meant:
            raise UserError(
                f"{_line(path, place)} maps {name!r} a second time, to another table", hint="keep one of them"
            )
    return given


def read_latencies(path: str, *, tables: Mapping[str, int]) -> dict[tuple[int, int], float]:
    """By (parent, child), as numbers, the longest time that a rebuild took; names that are no table are passed over."""
    import polars as pl

    log = _read(path, ("parent", "child", "seconds"), "")
    seconds = log["seconds"].cast(pl.Float64, strict=False)
    wrong = ~(seconds.is_finite() & (seconds >= 0)).fill_null(False)
    if wrong.any():
        place = int(wrong.arg_true()[0])
        found = _shown(log["seconds"][place])
        raise UserError(
            f"{_line(path, place)} has the seconds {found}, which is no number from 0 up",
            hint="one line for each rebuild: parent, child, seconds",
        )
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
        missing = isinstance(error, FileNotFoundError)
        because = "there is no such file" if missing else str(error).partition("\n")[0]
        hint = f"it needs the columns {', '.join(needed)}, as CSV, JSON lines or Parquet"
        raise UserError(f"cannot read the log {path}: {because}", hint=hint) from error
    lacking = [name for name in needed if name not in log.columns]
    if lacking:
        raise UserError(f"the log {path} has no column {lacking[0]}", hint=f"it needs {', '.join(needed)}{what}")
    return log


def _times(column: pl.Series, path: str) -> pl.Series:
    """The column as datetimes; UserError names the first line without a time."""
    import polars as pl

    if column.null_count():
        place = int(column.is_null().arg_true()[0])
        raise UserError(f"{_line(path, place)} has no time", hint="each line needs a table and a time")
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us"))
    text = column.cast(pl.String)
    try:
        times = text.str.to_datetime(time_unit="us", strict=False, time_zone="UTC").dt.replace_time_zone(None)
        wrong = times.is_null()
    except pl.exceptions.PolarsError:  # the first time tells the form of all, and has none
        wrong = text.is_not_null()
    if wrong.any():
        place = int(wrong.arg_true()[0])
        raise UserError(
            f"{_line(path, place)} has the time {_shown(text[place])}, which cannot be read",
            hint="times look like 2026-03-01T12:00:00Z, all in one form",
        )
    return times


def _line(path: str, place: int) -> str:
    """Where a row of a log stands in its file."""
    if path.lower().endswith(".parquet"):
        return f"row {place + 1:,} of {path}"
    return f"line {place + (2 if path.lower().endswith('.csv') else 1):,} of {path}"


def _shown(value: object) -> str:
    return "''" if value is None else repr(str(value)[:80])


def _months(log: pl.DataFrame, path: str) -> float:
    """How long a time the log covers, a day at least."""
    if log.height == 0:
        raise UserError(f"the access log {path} has no rows that count", hint="leave --access out to use the defaults")
    first, last = log["time"].min(), log["time"].max()
    days = (last - first).total_seconds() / 86_400  # type: ignore[operator, union-attr]
    return max(1.0, days) / DAYS_PER_MONTH
