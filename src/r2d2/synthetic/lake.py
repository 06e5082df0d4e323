"""Generate synthetic lakes after section 6.1.1: roots and tables derived from them, as Parquet tables in folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from r2d2.errors import UserError
from r2d2.synthetic.draw import DEFAULT_MIX, Chooser, check_mix
from r2d2.synthetic.draw_layout import draw_layout
from r2d2.synthetic.layout import write_table
from r2d2.synthetic.lineage import GeneratedLake, GeneratedTable, write_lineage
from r2d2.synthetic.names import Namer
from r2d2.synthetic.roots import Root, open_roots
from r2d2.synthetic.store import StoredTable
from r2d2.synthetic.stream import Stream, rechunk, stream_of
from r2d2.synthetic.transform import Copy, Step, apply_steps
from r2d2.synthetic.values import zipf

BATCH_ROWS = 8192
SAMPLE_ROWS = 1000
CHAINED_SHARE = 0.4  # share of the derived tables that are derived from a derived one
ROOT_SKEW = 0.5  # the first roots are a little more popular


def generate_lake(
    out: Path,
    *,
    tables: int,
    rows: int,
    seed: int,
    roots: str | Path | Sequence[str | Path] = "builtin",
    scale_factor: float | None = None,
    files_per_table: int = 4,
    skew: float = 1.2,
    mix: Mapping[str, float] = DEFAULT_MIX,
    batch_rows: int = BATCH_ROWS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> GeneratedLake:
    """Make a lake in `out/lake` and its lineage in `out/lineage.json` (section 6.1.1).

    *tables* counts the roots too. *rows* are those of the biggest root, unless the roots are given as
    Parquet files or folders; with roots="tpch" they set the scale factor, unless that is given. The same
    arguments make the same bytes. Memory is bounded by *batch_rows* and the row group, whatever the size
    of the tables. *progress* is told after each table how many are made, of how many.
    """
    _check_least(0, rows=rows, seed=seed, skew=skew)
    _check_least(1, tables=tables, files_per_table=files_per_table, batch_rows=batch_rows)
    check_mix(mix)
    workshop = _Workshop(new_lake_folder(out), seed, files_per_table, batch_rows, Chooser(seed, skew, mix))
    with open_roots(
        roots,
        rows=rows,
        seed=seed,
        scale_factor=scale_factor,
        batch_rows=batch_rows,
        scratch=out,
    ) as found:
        for root in found[:tables]:
            workshop.add_root(root)
            progress(len(workshop.made), tables)
    while len(workshop.made) < tables:
        workshop.add_derived()
        progress(len(workshop.made), tables)
    made = tuple(item.table for item in workshop.made)
    lake = GeneratedLake(workshop.lake, out / "lineage.json", seed, made)
    write_lineage(lake)
    return lake


def new_lake_folder(out: Path) -> Path:
    """The folder `out/lake`, not made yet; an existing lake is refused."""
    lake = out / "lake"
    if lake.exists() or (out / "lineage.json").exists():
        raise UserError(f"{out} holds a generated lake already", hint="name another folder, or remove it")
    if any(out.glob("*.parquet")) or any(out.glob("*/*.parquet")):
        raise UserError(
            f"{out} holds tables already, and the generated lake would lie among them",
            hint="name a new folder: the tables go into the folder lake in it",
        )
    out.mkdir(parents=True, exist_ok=True)
    return lake


@dataclass(frozen=True, slots=True)
class _Made:
    """A table of the new lake and what is needed to derive another from it."""

    table: GeneratedTable
    stored: StoredTable
    stem: str
    root: str


@dataclass(slots=True)
class _Workshop:
    """Maker of the tables, one after the other."""

    lake: Path
    seed: int
    files_per_table: int
    batch_rows: int
    habits: Chooser
    namer: Namer = field(default_factory=Namer)
    made: list[_Made] = field(default_factory=list)

    def add_root(self, root: Root) -> None:
        """Write a root as a table of the lake."""
        random = self._random()
        name = self.namer.root_name(root.name, home=root.home)
        stream = root.open()
        start = islice(rechunk(root.open().batches, rows=SAMPLE_ROWS), 1)
        sample = pa.Table.from_batches(list(start), stream.schema)
        self._write(stream, sample, _Plan(name, (), root.origin, (), root.rows, root.name), random)

    def add_derived(self) -> None:
        """Pick a table, transform it, write the result."""
        random = self._random()
        source = self._pick_source(random)
        sample_seed = int(random.integers(2**53))
        sample = source.stored.sample(rows=SAMPLE_ROWS, seed=sample_seed, batch_rows=self.batch_rows)
        steps = self.habits.steps(sample, random) if sample.num_rows else (Copy(),)
        name = self.namer.derived_name(source.stem, root=source.root, step=steps[0], random=random)
        rows = source.stored.stream(batch_rows=self.batch_rows)
        stream = apply_steps(steps, rows, batch_rows=self.batch_rows)
        after = apply_steps(steps, stream_of(sample), batch_rows=self.batch_rows).to_table()
        plan = _Plan(name, (source.table.name,), "", steps, source.table.rows, source.root)
        self._write(stream, after, plan, random)

    def _write(self, stream: Stream, sample: pa.Table, plan: _Plan, random: np.random.Generator) -> None:
        layout = draw_layout(sample, rows=plan.rows, files_per_table=self.files_per_table, random=random)
        full_name = f"{plan.name}.parquet" if layout.kind == "file" else plan.name
        written = write_table(stream, self.lake / full_name, layout)
        table = GeneratedTable(
            name=full_name,
            sources=plan.sources,
            origin=plan.origin,
            steps=plan.steps,
            layout=layout,
            rows=written.table.rows,
            size_bytes=written.size_bytes,
            files=len(written.table.files),
        )
        self.made.append(_Made(table, written.table, stem=plan.name.rsplit("/", 1)[-1], root=plan.root))

    def _pick_source(self, random: np.random.Generator) -> _Made:
        roots = [item for item in self.made if item.table.is_root]
        derived = self.made[len(roots) :]
        if derived and random.random() < CHAINED_SHARE:
            return derived[random.integers(len(derived))]
        return roots[int(zipf(random, len(roots), 1, ROOT_SKEW)[0])]

    def _random(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, len(self.made)])


@dataclass(frozen=True, slots=True)
class _Plan:
    """Name and lineage of a table that is about to be written."""

    name: str  # without the ending of a single file
    sources: tuple[str, ...]
    origin: str
    steps: tuple[Step, ...]
    rows: int  # about how many
    root: str


def _check_least(least: int, **values: float) -> None:
    for name, value in values.items():
        if value < least:
            raise UserError(f"{name} must be at least {least}, not {value}")
