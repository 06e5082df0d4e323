"""The lakes that benchmarks share, made once from TPC-H roots and kept in a folder that git ignores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from r2d2.synthetic import GeneratedLake, generate_lake
from tests.support.lineage import read_lineage

FOLDER = Path(os.environ.get("R2D2_BENCH_LAKES", Path(__file__).parent / "lakes-cache"))


@dataclass(frozen=True)
class LakeSize:
    """How a lake is generated."""

    name: str
    tables: int
    scale_factor: float
    seed: int


S = LakeSize("S", tables=300, scale_factor=0.0125, seed=11)
M = LakeSize("M", tables=140, scale_factor=0.25, seed=5)


def lake(size: LakeSize) -> GeneratedLake:
    """The lake of this size, generated if it is not there yet."""
    folder = FOLDER / size.name
    if (folder / "lineage.json").exists():
        return read_lineage(folder / "lineage.json")
    print(f"generating lake {size.name}: {size.tables} tables from TPC-H, scale factor {size.scale_factor}", flush=True)
    return generate_lake(
        folder, tables=size.tables, rows=1, seed=size.seed, roots="tpch", scale_factor=size.scale_factor
    )
