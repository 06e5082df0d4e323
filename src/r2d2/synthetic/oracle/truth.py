"""Ground truth by brute force: every pair of tables, every row (section 6.2).

It does not know how the lake was made. Slow and plain on purpose: the product is tested against it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from r2d2.errors import UserError
from r2d2.synthetic.oracle.canonical import Canonical
from r2d2.synthetic.oracle.truth_rows import TableRows, Token, find_tables, read_rows, table_files

MOST_CELLS = 20_000_000
TRUTH_FORMAT = "r2d2-truth/1"


@dataclass(frozen=True, slots=True)
class TrueEdge:
    """Counts of the child's rows that the parent lacks; the parent has all of the child's columns."""

    parent: str
    child: str
    child_rows: int
    parent_rows: int
    missing_rows: int  # rows of the child that are not in the parent, copies counted
    missing_copies: int  # rows of the child beyond the number that the parent has of each

    @property
    def contained(self) -> bool:
        """Whether every row of the child is in the parent, whatever its number of copies."""
        return self.missing_rows == 0

    @property
    def bag(self) -> bool:
        """Whether the parent has every row of the child at least as often."""
        return self.missing_copies == 0

    @property
    def containment(self) -> float:
        """CM(child, parent): the share of the child's rows found in the parent; 1 for an empty child."""
        return 1 - self.missing_rows / self.child_rows if self.child_rows else 1.0


def brute_force_edges(tables: Mapping[str, TableRows], *, all_pairs: bool = False) -> list[TrueEdge]:
    """The edges parent -> child with every row of the child in the parent, by parent and child name.

    With *all_pairs*, every pair whose schemas allow it, contained or not.
    """
    children: dict[tuple[Token, ...], list[str]] = defaultdict(list)
    for name, table in tables.items():
        children[tuple(sorted(table.columns))].append(name)
    bags = {name: _projected(table, tuple(sorted(table.columns))) for name, table in tables.items()}
    edges = []
    for parent, table in tables.items():
        for columns, names in children.items():
            if set(columns) <= set(table.columns) and names != [parent]:
                held = _projected(table, columns)
                edges += [_compared(parent, held, child, bags[child]) for child in names if child != parent]
    chosen = [edge for edge in edges if all_pairs or edge.contained]
    return sorted(chosen, key=lambda edge: (edge.parent, edge.child))


def lake_truth(
    lake: Path,
    *,
    tables: Collection[str] | None = None,
    all_pairs: bool = False,
    most_cells: int = MOST_CELLS,
) -> list[TrueEdge]:
    """The true edges of a lake on disk; its tables are found by file names unless *tables* names them."""
    names = find_tables(lake) if tables is None else sorted(tables)
    _refuse_if_too_big(lake, names, most_cells)
    # Each distinct value gets a number; rows of numbers are equal where rows of values are, and much smaller.
    numbers: dict[Canonical, int] = {}

    def number(value: Canonical) -> int:
        return numbers.setdefault(value, len(numbers))

    rows = {name: read_rows(lake / name, rename=number) for name in names}
    return brute_force_edges(rows, all_pairs=all_pairs)


def write_truth(edges: Collection[TrueEdge], path: Path) -> None:
    """Write the edges as JSON, with the words of `r2d2 edges --json`."""
    data = {"format": TRUTH_FORMAT, "edges": [_to_json(edge) for edge in edges]}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _projected(table: TableRows, columns: tuple[Token, ...]) -> Counter[tuple[Canonical, ...]]:
    places = [table.columns.index(column) for column in columns]
    return Counter(tuple([row[place] for place in places]) for row in table.rows)


def _compared(
    parent: str, held: Counter[tuple[Canonical, ...]], child: str, wanted: Counter[tuple[Canonical, ...]]
) -> TrueEdge:
    return TrueEdge(
        parent=parent,
        child=child,
        child_rows=wanted.total(),
        parent_rows=held.total(),
        missing_rows=sum(count for row, count in wanted.items() if row not in held),
        missing_copies=sum(max(0, count - held[row]) for row, count in wanted.items()),
    )


def _refuse_if_too_big(lake: Path, names: Collection[str], most_cells: int) -> None:
    cells = 0
    for name in names:
        for path in table_files(lake / name):
            footer = pq.read_metadata(path)
            cells += footer.num_rows * footer.num_columns
    if cells > most_cells:
        raise UserError(
            f"the ground truth of {lake} would compare {cells:,} values; the limit is {most_cells:,}",
            hint="generate fewer or smaller tables, or raise the limit and wait",
        )


def _to_json(edge: TrueEdge) -> dict[str, str | int | float | bool]:
    return {
        "parent": edge.parent,
        "child": edge.child,
        "containment": edge.containment,
        "contained": edge.contained,
        "bag": edge.bag,
        "missing_rows": edge.missing_rows,
        "missing_copies": edge.missing_copies,
        "child_rows": edge.child_rows,
        "parent_rows": edge.parent_rows,
    }
