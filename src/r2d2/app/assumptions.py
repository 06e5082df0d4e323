"""Read the assumptions of a plan from the user's files: prices, usage, rebuild times, preferences."""

from __future__ import annotations

from collections.abc import Collection

from r2d2.errors import UserError
from r2d2.flows.plan import Assumed
from r2d2.lake.access_log import read_access_log, read_latencies, read_names
from r2d2.lake.filters import Patterns
from r2d2.lake.log_names import LogNames, elsewhere_in_lake
from r2d2.model.prices import DAYS_PER_MONTH, Usage
from r2d2.model.proposal import LogMatch
from r2d2.model.scan import Scan
from r2d2.prices import load_prices
from r2d2.settings import Settings
from r2d2.steps.prefer_tables import prefer_tables

WEEKS_PER_MONTH = DAYS_PER_MONTH / 7


def read_assumptions(scan: Scan, settings: Settings, *, deleted: Collection[str] = ()) -> Assumed:
    """Read prices and logs; UserError says what is wrong with one. *deleted* are tables that the scan is without."""
    prices = load_prices(settings.prices)
    seconds = read_latencies(settings.latencies, tables=scan.number_of) if settings.latencies else {}
    usage, access = _usage(scan, settings, deleted)
    preferred = Patterns(settings.prefer, known=[table.name for table in scan.tables])
    for table in scan.tables:
        preferred.match(table.name)
    preferences = prefer_tables(
        scan,
        reads_per_month=None if access is None else [one.accesses_per_month for one in usage],
        is_preferred=preferred.match,
    )
    notes = [f"--prefer {glob} matches no table" for glob in preferred.unused]
    if access is not None and access.unknown:
        names, are = ("name", "is") if len(access.unknown) == 1 else ("names", "are")
        notes.append(
            f"{len(access.unknown):,} {names} in {access.file} {are} no table of this lake, such as "
            f"{access.unknown[0] or '(empty)'}"
        )
    return Assumed(prices, tuple(usage), access, seconds, preferences, tuple(notes))


def _usage(scan: Scan, settings: Settings, deleted: Collection[str]) -> tuple[list[Usage], LogMatch | None]:
    """How often each table is read, table by table; and how well the access log fits the lake."""
    default = Usage(settings.accesses_per_week * WEEKS_PER_MONTH, settings.maintenance_per_week * WEEKS_PER_MONTH)
    if not settings.access:
        if settings.access_names:
            raise UserError("--access-names maps the names of an access log", hint="give the log with --access FILE")
        return [default] * len(scan.tables), None
    known = {problem.where for problem in scan.problems}.union(deleted)
    names = LogNames(
        scan.number_of,
        given=read_names(settings.access_names) if settings.access_names else None,
        is_elsewhere=elsewhere_in_lake(scan.roots, known),
    )
    seen, match = read_access_log(
        settings.access, names=names, default=default, excluded_readers=settings.exclude_reader
    )
    return [seen.get(number, default) for number in range(len(scan.tables))], match
