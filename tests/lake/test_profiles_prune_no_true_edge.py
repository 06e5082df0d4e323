"""Whatever wrote the files, a pair that holds is never pruned (HAZARDS 27)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.lake.merge import merge_files
from r2d2.lake.parquet import read_footer
from r2d2.lake.table_profile import table_profile
from r2d2.model.profile import TableProfile
from r2d2.model.table import DataFile, Table
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.prune_by_minmax import prune_by_minmax
from r2d2.synthetic.truth import brute_force_edges
from r2d2.synthetic.truth_rows import read_rows
from tests.random_tables import PLAIN_WRITERS, SPARK_LACKS, VALUES, Writer, pairs


def profile(folder: Path) -> TableProfile:
    files = sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
    listed = tuple(DataFile(str(path), path.stat().st_size, 0, (0, number)) for number, path in enumerate(files))
    table = Table(folder.name, "parquet", str(folder), listed)
    return table_profile(table, merge_files(read_footer(str(path)) for path in files))[1]


def assert_no_true_edge_is_dropped(folders: Sequence[Path]) -> None:
    profiles = [profile(folder) for folder in folders]
    kept = set(prune_by_minmax(build_schema_graph(profiles), profiles=profiles).edges())
    true = {(edge.parent, edge.child) for edge in brute_force_edges({f.name: read_rows(f) for f in folders})}
    assert true <= kept, f"lost {true - kept}"


@settings(max_examples=400)
@given(pairs(), st.sampled_from(PLAIN_WRITERS), st.sampled_from(PLAIN_WRITERS))
def test_no_true_edge_is_pruned(pair: tuple[pa.Table, pa.Table], write_parent: Writer, write_child: Writer) -> None:
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / "parent", Path(name) / "child"]
        for folder, table, write in zip(folders, pair, (write_parent, write_child), strict=True):
            folder.mkdir()
            middle = table.num_rows // 2
            write(table.slice(0, middle), folder / "part-0.parquet")
            write(table.slice(middle), folder / "part-1.parquet")
        assert_no_true_edge_is_dropped(folders)


@settings(max_examples=12)
@given(st.lists(pairs([kind for kind in VALUES if kind not in SPARK_LACKS]), min_size=3, max_size=3), st.booleans())
def test_no_true_edge_is_pruned_that_spark_wrote(
    spark: Any, several: list[tuple[pa.Table, pa.Table]], both: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        for number, pair in enumerate(several):
            folders = [Path(name) / f"parent{number}", Path(name) / f"child{number}"]
            spark.createDataFrame(pair[0]).write.parquet(str(folders[0]))
            if both:
                spark.createDataFrame(pair[1]).write.parquet(str(folders[1]))
            else:
                folders[1].mkdir()
                PLAIN_WRITERS[number](pair[1], folders[1] / "part-0.parquet")
            assert_no_true_edge_is_dropped(folders)


@pytest.mark.parametrize("write_parent", PLAIN_WRITERS)
@pytest.mark.parametrize("write_child", PLAIN_WRITERS)
def test_a_cut_text_bound_is_not_taken_for_exact(write_parent: Writer, write_child: Writer, tmp_path: Path) -> None:
    for folder, write in (("parent", write_parent), ("child", write_child)):
        (tmp_path / folder).mkdir()
        write(pa.table({"c0": ["z" * 64 + "x" * 300]}), tmp_path / folder / "part-0.parquet")
    assert_no_true_edge_is_dropped([tmp_path / "parent", tmp_path / "child"])
