"""Lineage of a generated lake: its tables and the steps that made each; written to `lineage.json` beside the lake."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from r2d2.synthetic.layout import Layout
from r2d2.synthetic.steps_json import Json, step_to_json
from r2d2.synthetic.transform import Step

LINEAGE_FORMAT = "r2d2-lineage/1"


@dataclass(frozen=True, slots=True)
class GeneratedTable:
    """One table and its lineage. The lineage does not tell what contains the table: see `truth`."""

    name: str  # path below the lake root, with /
    sources: tuple[str, ...]  # names of the tables it was made from; a root has none
    origin: str  # of a root: "builtin", "tpch" or a path; else ""
    steps: tuple[Step, ...]
    layout: Layout
    rows: int
    size_bytes: int
    files: int

    @property
    def is_root(self) -> bool:
        """Whether the table is a root."""
        return not self.sources


@dataclass(frozen=True, slots=True)
class GeneratedLake:
    """The lake folder, its lineage file, and the tables in the order they were made."""

    path: Path
    lineage_path: Path
    seed: int
    tables: tuple[GeneratedTable, ...]

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(table.rows for table in self.tables)

    @property
    def size_bytes(self) -> int:
        """Bytes of all tables."""
        return sum(table.size_bytes for table in self.tables)


def write_lineage(lake: GeneratedLake) -> None:
    """Write `lineage.json`; equal for equal lakes, whatever their folder."""
    tables = [_table_to_json(table) for table in lake.tables]
    data = {"format": LINEAGE_FORMAT, "lake": lake.path.name, "seed": lake.seed, "tables": tables}
    lake.lineage_path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _table_to_json(table: GeneratedTable) -> Json:
    return {
        "name": table.name,
        "root": table.is_root,
        "sources": list(table.sources),
        "origin": table.origin,
        "steps": [step_to_json(step) for step in table.steps],
        "layout": asdict(table.layout),
        "rows": table.rows,
        "bytes": table.size_bytes,
        "files": table.files,
    }
