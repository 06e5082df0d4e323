"""The parts put together: discovery, Spark, state and pipeline, for Python callers and for the CLI."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r2d2.app.absent import absent_tables, with_absent
from r2d2.app.lake_tools import FILES_AT_HAND, FILES_MEANWHILE, LakeContent, hashing_with, lake_tools, table_content
from r2d2.app.recovering import recover_lakes
from r2d2.app.updating import Update, as_scanned
from r2d2.app.updating import update as update_scan
from r2d2.engine.recipes.jobs import Difference, RecipeJobs
from r2d2.engine.rows.cache import mark_of
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.missing_row import find_missing_row
from r2d2.engine.spark.session import LazySession
from r2d2.errors import TableError, UserError
from r2d2.formats.parquet.read import read_slice
from r2d2.model.counted import counted
from r2d2.model.evidence import Verdict
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Problem, Table
from r2d2.pipeline import Progress, run, silent
from r2d2.report.edges import EdgeTable, standing_edges
from r2d2.report.evidence import compared_columns
from r2d2.report.explain import Explanation, MissingRow, explain, find_table
from r2d2.settings import Settings, load_settings
from r2d2.state.hashes import KeptHashes
from r2d2.state.store import StateStore
from r2d2.steps import infer_recipes as step
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.leave_out_absent import leave_out_absent
from r2d2.stores.local import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Lake:
    """A scanned lake, as Python code and notebooks see it."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that are there."""
        return tuple(table.name for table in self.scan.tables if table.name not in self.scan.absent)

    @property
    def deleted(self) -> Mapping[str, str]:
        """Tables that were deleted and are to be rebuilt, with what can be said of each; their edges still stand."""
        return {name: known.says for name, known in self.scan.absent.items()}

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
        in_force = load_settings({"state": str(self.scan.in_force["state"])} | settings)
        return infer_recipes(self.scan, in_force, only=only, spark=spark)

    def __repr__(self) -> str:
        tables = counted(len(self.tables), "tables") + (f" and {len(self.deleted):,} deleted" if self.deleted else "")
        edges = counted(len(self.scan.graph or ()), "edges")
        size = f"{counted(self.scan.rows, 'rows')}, {counted(self.scan.size_bytes, 'bytes')}"
        return f"<Lake: {tables}, {size}, {edges}; state {self.scan.in_force.get('state')}>"

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
    return Lake(with_absent(StateStore(state).load()))


def explain_pair(scan: Scan, *, parent: str, child: str, show_values: bool = False) -> Explanation:
    """The evidence trail of one pair. With *show_values* both tables are read again for a row that rules it out."""
    explanation = explain(scan, parent=parent, child=child)
    can_be_compared = len(explanation.trail) > 1  # the parent has the child's columns
    if not show_values or explanation.verdict is not Verdict.IMPOSSIBLE or not can_be_compared:
        return explanation
    p, c = scan.number_of[explanation.parent], scan.number_of[explanation.child]
    for number in (p, c):
        refuse_absent(scan, scan.tables[number].name)
        _refuse_if_changed(scan.tables[number])
    held, wanted = (table_content(scan.tables[number], scan.profiles[number], scan) for number in (p, c))
    columns = compared_columns(scan, p, c)
    tokens = [column.token for column in columns]
    hashing = Hashing(read_slice, secrets.token_bytes(32))
    row = find_missing_row(parent=held, child=wanted, tokens=tokens, hashing=hashing) or {}
    values = tuple((str(column), row[column.token]) for column in columns) if row else ()
    return replace(explanation, missing_row=MissingRow(values))


def refuse_absent(scan: Scan, *tables: str) -> None:
    """What is deleted cannot be read."""
    for table in tables:
        if table in scan.absent:
            raise UserError(
                f"{table} is {scan.absent[table].says}", hint=f"`r2d2 restore {table}` brings it back first"
            )


def _refuse_if_changed(table: Table) -> None:
    """What the scan said of other files cannot be shown in these."""
    for file in table.files:
        if not os.path.exists(file.path):
            raise TableError(f"cannot read table {table.name}: {file.path} is gone", hint="scan the lake again")
    if changed_since(table):
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
    recover_lakes(roots)
    with store.locked(), LazySession(settings, spark) as session:
        kept = kept_hashes(store, settings, writing=True, reading=False)  # a scan begins from scratch
        tools = lake_tools(
            session,
            store.key(),
            hash_bits=hash_bits,
            shown=progress is not silent,
            meanwhile=FILES_MEANWHILE,
            kept=kept,
        )
        found = run(roots, settings=settings, tools=tools, progress=progress)
        found = replace(found, session_seconds=session.seconds)
        found = replace(found, run=store.save(found, keep=settings.keep_runs))
        kept.save(_tables_there(found))
        return found


def _tables_there(scan: Scan) -> list[Table]:
    return [table for table in scan.tables if table.name not in scan.absent]


def kept_hashes(store: StateStore, settings: Settings, *, writing: bool, reading: bool = True) -> KeptHashes:
    """The hashes that a state keeps; to be written only by who holds its lock."""
    return KeptHashes(
        store.hashes,
        most_bytes=settings.keep_hashes * 1_000_000,
        mark=mark_of(store.key()) if writing else "",
        reading=reading,
    )


def update_lake(
    settings: Settings,
    *,
    spark: SparkSession | None = None,
    progress: Progress = silent,
) -> Update:
    """Bring the newest scan in the state folder up to date and keep the result there, if anything changed.

    Tables that were deleted here and are to be rebuilt stay in the graph.
    """
    store = StateStore(settings.state)
    store.newest  # noqa: B018 - an error if there is no scan, before anything is written
    with store.locked(), LazySession(settings, spark) as session:
        old = store.load()
        recover_lakes(old.roots)
        settings = as_scanned(settings, old)
        kept = kept_hashes(store, settings, writing=True)
        tools = lake_tools(session, store.key(), shown=progress is not silent, at_hand=FILES_AT_HAND, kept=kept)
        away = absent_tables(old)
        done = update_scan(old, settings=settings, tools=tools, progress=progress, rebuildable=away)
        if not done.is_news:
            if kept.is_too_large:
                kept.save(_tables_there(old))
            return replace(done, scan=replace(old, session_seconds=session.seconds, bytes_read=0, kept_bytes_read=0))
        found = replace(done.scan, session_seconds=session.seconds)
        found = replace(found, run=store.save(found, keep=settings.keep_runs, known=old))
        kept.save(_tables_there(found))
        return replace(done, scan=found)


def infer_recipes(
    scan: Scan,
    settings: Settings | None = None,
    *,
    spark: SparkSession | None = None,
    only: Iterable[tuple[str, str]] | None = None,
    also: Iterable[tuple[str, str]] = (),
) -> dict[tuple[str, str], Recipe | NoRecipe]:
    """By (parent, child) a recipe that was carried out and gave the child exactly, or why there is none.

    *only* names the edges that are wanted; without, all proven ones are tried, with the smallest parents of each child,
    and those in *also*.
    """
    settings = settings or load_settings()
    wanted = None if only is None else [(_readable(scan, parent), _readable(scan, child)) for parent, child in only]
    scan = leave_out_absent(scan)
    number = scan.number_of
    pairs = None if wanted is None else [(number[parent], number[child]) for parent, child in wanted]
    with LazySession(settings, spark) as session:
        found = step.infer_recipes(
            scan,
            jobs=_recipe_jobs(scan, settings, session),
            most_parents=settings.recipe_parents,
            most_rows=settings.recipe_rows,
            only=pairs,
            also={(number[parent], number[child]) for parent, child in also},
        )
    return {(scan.tables[p].name, scan.tables[c].name): answer for (p, c), answer in found.items()}


def _readable(scan: Scan, name: str) -> str:
    """The proper name of a table that is there."""
    table = scan.tables[find_table(scan, name)].name
    refuse_absent(scan, table)
    return table


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
    names = _readable(scan, parent), _readable(scan, child)
    scan = leave_out_absent(scan)
    pair = scan.number_of[names[0]], scan.number_of[names[1]]
    rows = scan.profiles[pair[1]].rows
    with LazySession(settings, spark) as session:
        jobs = _recipe_jobs(scan, settings, session)
        if rows is None or rows <= settings.recipe_rows:
            difference = jobs.differ(pair, recipe, examples=examples)
            if not difference.same:
                return difference
        outcome = jobs.rebuild({pair: recipe}).get(pair)
    if outcome is None or outcome.wrong:
        return Difference(wrong=outcome.wrong if outcome else "the parent or the child cannot be read")
    if rows is None:
        wrong = "" if outcome.same else "other rows than the child's"
        return Difference(outcome.rows, wrong=wrong, order=outcome.order, lost_order=outcome.lost_order)
    wrong = "" if outcome.same or outcome.rows != rows else "as many rows as the child, but other ones"
    too_many, too_few = max(0, outcome.rows - rows), max(0, rows - outcome.rows)
    return Difference(outcome.rows, too_many, too_few, wrong=wrong, order=outcome.order, lost_order=outcome.lost_order)


def _recipe_jobs(scan: Scan, settings: Settings, session: LazySession) -> RecipeJobs:
    changed = [table.name for table in scan.tables if changed_since(table)]
    if changed:
        raise UserError(
            f"{changed[0]} has changed since the scan" + (f", and {len(changed) - 1:,} more" if changed[1:] else ""),
            hint="scan the lake again first",
        )
    return RecipeJobs(LakeContent(scan, session, hashing_with(StateStore(settings.state).key()), None), step.find_boxes)


def changed_since(table: Table) -> bool:
    """Whether a file of the table is gone or has another version than when it was scanned."""
    store = LocalStore()
    return any(store.version(file.path) != file.version for file in table.files)
