"""Draft a plan that can be applied from a proposal: hash every file, measure every child with the second reader."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from r2d2.app.deletions import is_as_seen
from r2d2.app.proposal import Planned
from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.engine.spark.failures import worker_died
from r2d2.errors import R2D2Error, UserError
from r2d2.flows.plan import Recipes
from r2d2.model.profile import TableProfile
from r2d2.model.progress import News, Progress, named, silent
from r2d2.model.proposal import Deletion
from r2d2.model.rebuild import Content, Placed
from r2d2.model.recipe import GIVEN, INFERRED, Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Table
from r2d2.safety.errors import Refused
from r2d2.safety.files import Files
from r2d2.safety.guards import LakeSize, number_to_type, refuse_same_table, refuse_unread
from r2d2.safety.locked_lake import read_registry
from r2d2.safety.per_table import own_errors
from r2d2.safety.plan import VERSION, Entry, Plan, TableSeen, recipe_digest, seal
from r2d2.safety.preflight import NeededBytes, refuse_lake_between, refuse_last_copy
from r2d2.safety.snapshots import look_at, placed, refuse_checksum_beside, refuse_unexplained, see_table
from r2d2.steps.mark_deleted import below


@dataclass(frozen=True, slots=True)
class NotPlanned:
    """A table that was proposed to go, and stays out of the plan."""

    table: str
    because: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan, if anything is left to plan, and what was left out of it."""

    plan: Plan | None
    left_out: tuple[NotPlanned, ...]

    @property
    def number_to_type(self) -> int | None:
        """The number to type back when the plan is applied; None if it takes no large share of the lake."""
        return number_to_type(self.plan, LakeSize(self.plan.lake_tables, self.plan.lake_bytes)) if self.plan else None


def draft_plan(
    scan: Scan,
    recipes: Recipes,
    planned: Planned,
    *,
    files: Files,
    rebuilder: SparkRebuilder,
    progress: Progress = silent,
) -> Draft:
    """Draft the plan for a proposal; leave out tables that cannot be restored exactly or that have changed."""
    drafts = _Drafts(scan, recipes, files, rebuilder)
    left_out: list[NotPlanned] = []
    ready: list[tuple[TableSeen, TableSeen, dict[str, object]]] = []
    lines = planned.proposal.deletions
    for done, line in enumerate(lines):
        progress(News("reading every byte of what may go", done, len(lines)))
        try:
            with own_errors():
                ready.append(drafts.looked_at(line))
        except R2D2Error as error:
            if isinstance(error, UserError) and not isinstance(error, Refused) and not worker_died(error):
                raise  # Spark does not start, or has ended: no table is to blame
            left_out.append(NotPlanned(line.table, str(error.args[0])))
    entries = []
    measured = drafts.measured([child for child, _, _ in ready], progress)
    for (child, parent, instructions), content in zip(ready, measured, strict=True):
        if isinstance(content, R2D2Error):
            left_out.append(NotPlanned(child.name, str(content.args[0])))
        else:
            entries.append(Entry(child, (parent,), instructions, recipe_digest(instructions), content))
    return Draft(_sealed(scan, files.root, entries) if entries else None, tuple(left_out))


def _sealed(scan: Scan, root: str, entries: Iterable[Entry]) -> Plan:
    now = datetime.now(UTC)
    return seal(
        Plan(
            version=VERSION,
            plan_id=f"{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:12]}",
            created=now.isoformat(timespec="seconds"),
            lake_root=root,
            lake_tables=len(scan.tables),
            lake_bytes=scan.size_bytes,
            entries=tuple(entries),
            sha256="",
        )
    )


class _Drafts:
    """Looks at tables; a parent of many children is read once."""

    def __init__(self, scan: Scan, recipes: Recipes, files: Files, rebuilder: SparkRebuilder) -> None:
        self._scan = scan
        self._recipes = recipes
        self._files = files
        self._rebuilder = rebuilder
        self._seen: dict[int, TableSeen] = {}
        self._needed = NeededBytes(files, read_registry(files))
        self._fold_case = scan.settings.ignore_case

    def looked_at(self, line: Deletion) -> tuple[TableSeen, TableSeen, dict[str, object]]:
        """Child, parent, and the instructions that make the one of the other."""
        pair = self._scan.number_of[line.parent], self._scan.number_of[line.table]
        recipe = self._recipes[pair]
        assert isinstance(recipe, Recipe)
        parent, child = (self._table(number) for number in pair)
        for table in (child, parent):
            refuse_lake_between(self._files, table)
        entry = Entry(child, (parent,), {}, "", Content(0, 0, ""))
        refuse_same_table(entry)
        refuse_unread(entry)
        refuse_last_copy(child, self._needed)
        refuse_checksum_beside(self._files, child)
        refuse_unexplained(child, look_at(self._files, child, child.location))
        instructions = self._rebuilder.instructions(
            recipe,
            parent=self._placed(parent),
            child=self._placed(child),
            parent_types=_partition_types(self._scan.tables[pair[0]], self._scan.profiles[pair[0]], self._fold_case),
            child_types=_partition_types(self._scan.tables[pair[1]], self._scan.profiles[pair[1]], self._fold_case),
            fold_case=self._fold_case,
        )
        return child, parent, instructions | {"origin": GIVEN if line.given else INFERRED}

    def measured(self, children: list[TableSeen], progress: Progress) -> Sequence[Content | R2D2Error]:
        """Counts and digest of each table, or why they cannot be had."""
        places = [self._placed(child) for child in children]
        counting = named(progress, "counting rows with a second reader")
        counting(News(total=len(places) or None))
        return self._rebuilder.measure_many(places, counting)

    def _table(self, number: int) -> TableSeen:
        if number not in self._seen:
            table = self._scan.tables[number]
            location = below(table.location, self._files.root)
            data = {below(file.path, table.location) for file in table.files}
            seen = see_table(self._files, table.name, location, data=data)
            _refuse_changed(table, seen)
            self._seen[number] = seen
        return self._seen[number]

    def _placed(self, table: TableSeen) -> Placed:
        return placed(self._files, table, table.location)


def _refuse_changed(table: Table, seen: TableSeen) -> None:
    """Refuse a table that is not as it was scanned."""
    if not is_as_seen(table, seen):
        raise Refused(f"{table.name!r} has changed since the scan", hint="run `r2d2 update` first")


def _partition_types(table: Table, profile: TableProfile, fold_case: bool) -> dict[str, str]:
    types = {column.token[0]: column.type_name for column in profile.schema.columns if len(column.token) == 1}
    names = [key for key, _ in table.files[0].partition] if table.files else []
    return {name: types[name.casefold() if fold_case else name] for name in names}
