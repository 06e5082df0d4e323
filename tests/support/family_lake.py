"""Lakes of very many tiny tables with few schemas: the shape that makes pairs explode (HAZARDS 29)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from r2d2.errors import UserError
from r2d2.synthetic.conditions import Between
from r2d2.synthetic.lake import new_lake_folder
from r2d2.synthetic.layout import Layout, write_table
from r2d2.synthetic.lineage import GeneratedLake, GeneratedTable, write_lineage
from r2d2.synthetic.stream import stream_of
from r2d2.synthetic.transform import AddNoise, Copy, SelectWhere, Step, apply_steps
from r2d2.synthetic.values import COUNTRIES, FIRST_DAY, Draw

TABLES_PER_FOLDER = 1000


def generate_family_lake(
    out: Path,
    *,
    tables: int,
    seed: int,
    rows: int = 50,
    schemas: int = 5,
    group: int = 10,
    layout: Literal["file", "folder"] = "file",
) -> GeneratedLake:
    """Make a lake of *tables* tables of at most *rows* rows, and its lineage, as `generate_lake` does.

    Each *group* of tables is one base and what was made of it: copies, ranges, projections, noise. Groups
    share *schemas* schemas and their ranges of values overlap, so most pairs of a family look possible and
    few are true: the true edges grow with the number of tables, the candidates with its square.
    """
    if min(tables, schemas, group, rows) < 1 or seed < 0:
        raise UserError("a family lake needs at least one table, row, schema and group, and a seed from 0 on")
    lake_folder = new_lake_folder(out)
    shape = Layout(layout, rows_per_file=rows, row_group_rows=rows, compression="snappy")
    made: list[GeneratedTable] = []
    for name, base, sources, steps in _planned(tables, seed, rows, schemas, group, layout):
        stream = apply_steps(steps, stream_of(base), batch_rows=rows)
        written = write_table(stream, lake_folder / name, shape)
        origin = "" if sources else "builtin"
        size = written.size_bytes
        made.append(GeneratedTable(name, sources, origin, steps, shape, written.table.rows, size, 1))
    lake = GeneratedLake(lake_folder, out / "lineage.json", seed, tuple(made))
    write_lineage(lake)
    return lake


def _planned(
    tables: int, seed: int, rows: int, schemas: int, group: int, layout: str
) -> Iterator[tuple[str, pa.Table, tuple[str, ...], tuple[Step, ...]]]:
    """Name, base, sources and steps of each table, in order."""
    for number in range(tables):
        first, member = number - number % group, number % group
        family = number // group % schemas
        if not member:
            random = np.random.default_rng([seed, number])
            base = _base(Draw(random, first=0, size=rows, of=rows), family)
        sources = () if not member else (_name(first, family, layout),)
        yield _name(number, family, layout), base, sources, _steps(base, member, random)


def _name(number: int, family: int, layout: str) -> str:
    suffix = ".parquet" if layout == "file" else ""
    return f"family-{family:02}/{number // TABLES_PER_FOLDER:03}/table_{number:06}{suffix}"


def _base(draw: Draw, family: int) -> pa.Table:
    days = FIRST_DAY + draw.random.integers(0, 300, draw.size)
    return pa.table(
        {
            "id": draw.integers(0, 20 * draw.size, pa.int64()),
            "amount": draw.normals(100.0, 30.0, pa.float64()),
            "country": draw.words(COUNTRIES, nulls=0.05),
            "day": draw.dates(days),
            f"measure_{family}": draw.integers(0, 1000, pa.int32()),
        }
    )


def _steps(base: pa.Table, member: int, random: np.random.Generator) -> tuple[Step, ...]:
    """What the member of a group is made by; the first is the base itself."""
    if not member:
        return ()
    kind = (member - 1) % 4
    columns: tuple[str, ...] = tuple(base.column_names)
    if kind == 0:
        return (Copy(),)
    if kind == 1:
        return (AddNoise("amount", scale=5.0, share=0.2, seed=int(random.integers(2**53))),)
    ids = np.sort(base["id"].to_numpy())[np.sort(random.integers(0, base.num_rows, 2))]
    within = Between("id", str(ids[0]), str(ids[1]))
    return (SelectWhere(columns if kind == 2 else columns[1:], (within,)),)
