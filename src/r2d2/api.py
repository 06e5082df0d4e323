"""The parts put together: discovery, Spark, state and pipeline, for Python callers and for the CLI."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r2d2.engine.beacon import listen
from r2d2.engine.content import Content, TableContent
from r2d2.engine.hash_slices import Hashing
from r2d2.engine.missing_row import find_missing_row
from r2d2.engine.recipes import Difference, RecipeJobs
from r2d2.engine.session import LazySession
from r2d2.engine.tasks import run_tasks
from r2d2.errors import TableError, UserError
from r2d2.lake.deadly_slices import deadly_slices
from r2d2.lake.discover import discover
from r2d2.lake.read_metadata import read_metadata
from r2d2.lake.read_slice import read_slice, slices
from r2d2.lake.slice_range import slice_range
from r2d2.lake.table_profile import table_profile
from r2d2.model.evidence import Verdict
from r2d2.model.profile import TableProfile
from r2d2.model.progress import Done, Reading
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Discovery, Problem, Table
from r2d2.pipeline import Profiled, Progress, Tools, run, silent
from r2d2.report.edges import EdgeTable, standing_edges
from r2d2.report.evidence import compared_columns
from r2d2.report.explain import Explanation, MissingRow, explain, find_table
from r2d2.settings import Settings, load_settings
from r2d2.state.store import StateStore
from r2d2.steps import infer_recipes as step
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.updating import Update, as_scanned
from r2d2.updating import update as update_scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


READ_SECONDS = 300.0  # a slice that takes longer to read, when one of them has killed a reader, is called deadly
_SHAPE_PROFILES = ("ignore_case", "partition_types")  # settings that change what a profile says


class Lake:
    """A scanned lake, as Python code and notebooks see it."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(table.name for table in self.scan.tables)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be scanned, and why."""
        return self.scan.problems

    def edges(self) -> EdgeTable:
        """The containment edges that stand."""
        return EdgeTable(tuple(standing_edges(self.scan)))

    def explain(self, parent: str, child: str, *, show_values: bool = False) -> Explanation:
        """Why *child* is, may be or cannot be contained in *parent*; with the values of a missing row if asked."""
        return explain_pair(self.scan, parent=parent, child=child, show_values=show_values)

    def infer_recipes(
        self, *, only: Iterable[tuple[str, str]] | None = None, spark: SparkSession | None = None, **settings: Any
    ) -> dict[tuple[str, str], Recipe | NoRecipe]:
        """By (parent, child) a recipe that gave the child exactly, or why there is none; see `infer_recipes`."""
        in_force = load_settings({"state": str(self.scan.settings["state"])} | settings)
        return infer_recipes(self.scan, in_force, only=only, spark=spark)

    def to_pandas(self) -> Any:
        """The edges as a DataFrame."""
        return self.edges().to_pandas()

    def _repr_html_(self) -> str:
        return self.edges()._repr_html_()


def scan(*roots: str | Path, spark: SparkSession | None = None, **settings: Any) -> Lake:
    """Scan the lake under *roots*; settings by name as in docs/cli-reference.md. *spark* is used, never stopped."""
    in_force = load_settings(settings)
    return Lake(scan_lake([str(root) for root in roots], in_force, spark=spark))


def update(state: str | Path = ".r2d2", *, spark: SparkSession | None = None, **settings: Any) -> Lake:
    """Bring the newest scan in *state* up to date: only what changed is read. *spark* is used, never stopped."""
    return Lake(update_lake(load_settings({"state": state, **settings}), spark=spark).scan)


def open_state(state: str | Path = ".r2d2") -> Lake:
    """The lake as the newest scan in *state* saw it."""
    return Lake(StateStore(state).load())


def explain_pair(scan: Scan, *, parent: str, child: str, show_values: bool = False) -> Explanation:
    """The evidence trail of one pair. With *show_values* both tables are read again for a row that rules it out."""
    explanation = explain(scan, parent=parent, child=child)
    can_be_compared = len(explanation.trail) > 1  # the parent has the child's columns
    if not show_values or explanation.verdict is not Verdict.IMPOSSIBLE or not can_be_compared:
        return explanation
    p, c = scan.number_of[explanation.parent], scan.number_of[explanation.child]
    for number in (p, c):
        _refuse_if_changed(scan.tables[number])
    held, wanted = (_table_content(scan.tables[number], scan.profiles[number], scan) for number in (p, c))
    columns = compared_columns(scan, p, c)
    tokens = [column.token for column in columns]
    hashing = Hashing(read_slice, secrets.token_bytes(32))
    row = find_missing_row(parent=held, child=wanted, tokens=tokens, hashing=hashing) or {}
    values = tuple((str(column), row[column.token]) for column in columns) if row else ()
    return replace(explanation, missing_row=MissingRow(values))


def _refuse_if_changed(table: Table) -> None:
    """What the scan said of other files cannot be shown in these."""
    for file in table.files:
        try:
            now = os.stat(file.path)
        except OSError as error:
            raise TableError(f"cannot read table {table.name}: {error}", hint="scan the lake again") from error
        if (now.st_size, now.st_mtime_ns) != (file.size_bytes, file.modified_ns):
            raise TableError(f"table {table.name} has changed since the scan", hint="scan the lake again")


def scan_lake(
    roots: Sequence[str],
    settings: Settings,
    *,
    spark: SparkSession | None = None,
    progress: Progress = silent,
    hash_bits: int = 128,
) -> Scan:
    """Take the lake through the pipeline and keep the result in the state folder.

    Fewer *hash_bits* make different rows look equal: for tests of what stands behind the hash.
    """
    store = StateStore(settings.state)
    with store.locked(), LazySession(settings, spark) as session:
        known = store.load_if_any()
        tools = lake_tools(session, store.key(), known=known, hash_bits=hash_bits, shown=progress is not silent)
        found = run(roots, settings=settings, tools=tools, progress=progress)
        found = replace(found, session_seconds=session.seconds)
        return replace(found, run=store.save(found, keep=settings.keep_runs))


def lake_tools(
    session: LazySession, key: bytes, *, known: Scan | None = None, hash_bits: int = 128, shown: bool = False
) -> Tools:
    """What the pipeline needs of the world; profiles that *known* has are not read again.

    With *shown*, running jobs tell how far they are.
    """
    return Tools(
        discover=_discover,
        profile=_Profiler(known, session),
        content=partial(_content, session, key, hash_bits, shown),
    )


def update_lake(
    settings: Settings,
    *,
    spark: SparkSession | None = None,
    progress: Progress = silent,
    rebuildable: Iterable[str] = (),
) -> Update:
    """Bring the newest scan in the state folder up to date and keep the result there, if anything changed.

    *rebuildable* are tables that were deleted on purpose and stay in the graph.
    """
    store = StateStore(settings.state)
    store.newest  # noqa: B018 - an error if there is no scan, before anything is written
    with store.locked(), LazySession(settings, spark) as session:
        old = store.load()
        settings = as_scanned(settings, old)
        tools = lake_tools(session, store.key(), shown=progress is not silent)
        done = update_scan(old, settings=settings, tools=tools, progress=progress, rebuildable=list(rebuildable))
        if not done.is_news:
            return replace(done, scan=replace(old, session_seconds=session.seconds, bytes_read=0))
        found = replace(done.scan, session_seconds=session.seconds)
        return replace(done, scan=replace(found, run=store.save(found, keep=settings.keep_runs)))


def infer_recipes(
    scan: Scan,
    settings: Settings | None = None,
    *,
    spark: SparkSession | None = None,
    only: Iterable[tuple[str, str]] | None = None,
) -> dict[tuple[str, str], Recipe | NoRecipe]:
    """By (parent, child) a recipe that was carried out and gave the child exactly, or why there is none.

    *only* names the edges that are wanted; without, all proven ones are tried, with the smallest parents of each child.
    """
    settings = settings or load_settings()
    pairs = None if only is None else [(find_table(scan, parent), find_table(scan, child)) for parent, child in only]
    with LazySession(settings, spark) as session:
        found = step.infer_recipes(
            scan,
            jobs=_recipe_jobs(scan, settings, session),
            most_parents=settings.recipe_parents,
            most_rows=settings.recipe_rows,
            only=pairs,
        )
    return {(scan.tables[p].name, scan.tables[c].name): answer for (p, c), answer in found.items()}


def try_recipe(
    scan: Scan,
    recipe: Recipe,
    settings: Settings | None = None,
    *,
    parent: str,
    child: str,
    spark: SparkSession | None = None,
    examples: int = 0,
) -> Difference:
    """How the rows that a recipe makes of *parent* differ from *child*; with some *examples*, values and all."""
    settings = settings or load_settings()
    pair = find_table(scan, parent), find_table(scan, child)
    rows = scan.profiles[pair[1]].rows
    with LazySession(settings, spark) as session:
        jobs = _recipe_jobs(scan, settings, session)
        if rows <= settings.recipe_rows:
            return jobs.differ(pair, recipe, examples=examples)
        outcome = jobs.rebuild({pair: recipe}).get(pair)
    if outcome is None or outcome.wrong:
        return Difference(wrong=outcome.wrong if outcome else "the parent or the child cannot be read")
    wrong = "" if outcome.same or outcome.rows != rows else "as many rows as the child, but other ones"
    return Difference(outcome.rows, max(0, outcome.rows - rows), max(0, rows - outcome.rows), wrong=wrong)


def _recipe_jobs(scan: Scan, settings: Settings, session: LazySession) -> RecipeJobs:
    changed = [table.name for table in scan.tables if changed_since(table)]
    if changed:
        raise UserError(
            f"{changed[0]} has changed since the scan" + (f", and {len(changed) - 1:,} more" if changed[1:] else ""),
            hint="scan the lake again first",
        )
    return RecipeJobs(_LakeContent(scan, session, _hashing(StateStore(settings.state).key()), None), step.find_boxes)


def changed_since(table: Table) -> bool:
    """Whether a file of the table is gone, or has another size or time than when it was scanned."""
    for file in table.files:
        try:
            now = os.stat(file.path)
        except OSError:
            return True
        if (now.st_size, now.st_mtime_ns) != (file.size_bytes, file.modified_ns):
            return True
    return False


def _discover(roots: Sequence[str], settings: Settings, progress: Progress) -> Discovery:
    return discover(
        roots,
        include=settings.include,
        exclude=settings.exclude,
        folder_tables=settings.folder_table,
        progress=lambda tables: progress("discover", tables, None),
    )


class _Profiler:
    """Profiles from the last scan where nothing changed, from the files' metadata elsewhere."""

    def __init__(self, known: Scan | None, session: LazySession) -> None:
        self._known = known
        self._session = session

    def __call__(self, tables: Sequence[Table], settings: Settings, progress: Progress) -> Profiled:
        done = self._unchanged(tables, settings)
        progress("profile", len(done), len(tables))
        changed = [table for table in tables if table.name not in done]
        problems = self._read(changed, done, settings, progress) if changed else []
        kept = [done[table.name] for table in tables if table.name in done]
        return Profiled([table for table, _ in kept], [profile for _, profile in kept], problems)

    def _unchanged(self, tables: Sequence[Table], settings: Settings) -> dict[str, tuple[Table, TableProfile]]:
        """What the last scan knows of tables whose files are the same."""
        if self._known is None or any(
            self._known.settings.get(name) != getattr(settings, name) for name in _SHAPE_PROFILES
        ):
            return {}
        before = {t.name: (t, p) for t, p in zip(self._known.tables, self._known.profiles, strict=True)}
        return {
            table.name: (_with_row_groups(table, before[table.name][0]), before[table.name][1])
            for table in tables
            if table.name in before and before[table.name][0].version == table.version
        }

    def _read(
        self,
        tables: Sequence[Table],
        done: dict[str, tuple[Table, TableProfile]],
        settings: Settings,
        progress: Progress,
    ) -> list[Problem]:
        files = sum(len(table.files) for table in tables)
        with listen(self._session(), None if progress is silent else partial(_tell_files, progress, files)) as address:
            run = partial(run_tasks, self._session(), report_to=address)
            metadata, problems = read_metadata(tables, run_tasks=run, timeout_seconds=settings.footer_timeout)
        for table in tables:
            if table.name in metadata:
                try:
                    done[table.name] = table_profile(
                        table,
                        metadata[table.name],
                        ignore_case=settings.ignore_case,
                        partition_types=settings.partition_types,
                    )
                except TableError as error:
                    problems.append(Problem(table.name, str(error.args[0]), hint=error.hint))
        return problems


def _tell_files(progress: Progress, files: int, done: Done) -> None:
    progress("profile", done.pieces, files, unit="files")


class _LakeContent(Content):
    """The content of a lake's tables, and what could not be read of it."""

    def __init__(
        self, scan: Scan, session: LazySession, hashing: Hashing, report: Callable[[Reading], None] | None
    ) -> None:
        tables = [_table_content(t, p, scan) for t, p in zip(scan.tables, scan.profiles, strict=True)]
        find_deadly = partial(deadly_slices, timeout_seconds=READ_SECONDS)
        super().__init__(session, tables, hashing, find_deadly, report=report)
        self._names = [table.name for table in scan.tables]

    def problems(self) -> list[Problem]:
        """The tables that could not be read so far."""
        return [Problem(self._names[n], because, hint=hint) for n, (because, hint) in sorted(self.failed.items())]


def _content(
    session: LazySession,
    key: bytes,
    hash_bits: int,
    shown: bool,
    scan: Scan,
    settings: Settings,
    report: Callable[[Reading], None],
) -> _LakeContent:
    return _LakeContent(scan, session, _hashing(key, hash_bits), report if shown else None)


def _hashing(key: bytes, bits: int = 128) -> Hashing:
    return Hashing(read_slice, key, bits, slice_range)


def _table_content(table: Table, profile: TableProfile, scan: Scan) -> TableContent:
    types = {column.token[0]: column.type_name for column in profile.schema.columns if len(column.token) == 1}
    fold = bool(scan.settings.get("ignore_case"))
    raw_types = {key: types[key.casefold() if fold else key] for file in table.files for key, _ in file.partition}
    return TableContent(tuple(slices(table.files, raw_types, fold_case=fold)), profile.schema.columns, table.location)


def _with_row_groups(table: Table, known: Table) -> Table:
    row_groups = {file.path: file.row_groups for file in known.files}
    return replace(table, files=tuple(replace(f, row_groups=row_groups[f.path]) for f in table.files))
