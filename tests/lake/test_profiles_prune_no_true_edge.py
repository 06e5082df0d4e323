"""Whatever wrote the files, a pair that holds is never pruned (HAZARDS 27)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.formats.merge import FilesProfile, merge_files
from r2d2.formats.parquet.footer import read_footer
from r2d2.lake.table_profile import table_profile
from r2d2.model.containment import EXACT_BAG, EXACT_SET
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.table import DataFile, Table
from r2d2.model.versions import FileVersion
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.prune_by_minmax import prune_by_minmax
from r2d2.synthetic.oracle.truth import brute_force_edges
from r2d2.synthetic.oracle.truth_rows import read_rows
from tests.support.random_tables import BYTES, CUTS, LETTERS, PLAIN_WRITERS, SPARK_LACKS, VALUES, Writer, pairs


def profile(folder: Path) -> TableProfile:
    files = sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
    listed = tuple(
        DataFile(str(path), path.stat().st_size, 0, FileVersion(str(number), "")) for number, path in enumerate(files)
    )
    table = Table(folder.name, "parquet", str(folder), listed)
    return table_profile(table, merge_files(read_footer(str(path)) for path in files))[1]


@settings(max_examples=200)
@given(pairs(), st.sampled_from(PLAIN_WRITERS), st.lists(st.booleans(), min_size=4, max_size=4), st.booleans())
def test_no_true_edge_is_pruned_where_rows_are_unknown(
    pair: tuple[pa.Table, pa.Table], write: Writer, unknown: list[bool], bag: bool
) -> None:
    """Unknown counts of any file, beside bounds and nulls of all kinds."""
    with tempfile.TemporaryDirectory() as name:
        profiles, rows = [], {}
        for number, (table, label) in enumerate(zip(pair, ("parent", "child"), strict=True)):
            (folder := Path(name) / label).mkdir()
            middle = table.num_rows // 2
            files = []
            for half, some in enumerate((table.slice(0, middle), table.slice(middle))):
                write(some, path := folder / f"part-{half}.parquet")
                known = read_footer(str(path))
                files.append(without_rows(known) if unknown[2 * number + half] else known)
            listed = tuple(DataFile(f.files[0].path, 1, 0, FileVersion(str(n), "")) for n, f in enumerate(files))
            found = table_profile(Table(label, "parquet", str(folder), listed), merge_files(files))[1]
            assert (found.rows is None) == any(unknown[2 * number : 2 * number + 2])
            profiles.append(found)
            rows[label] = read_rows(folder)
        containment = EXACT_BAG if bag else EXACT_SET
        graph = build_schema_graph(profiles, containment)
        kept = set(prune_by_minmax(graph, profiles=profiles, containment=containment).edges())
        true = {(edge.parent, edge.child) for edge in brute_force_edges(rows) if edge.bag or not bag}
        assert true <= kept, f"lost {true - kept}"


def without_rows(profile: FilesProfile) -> FilesProfile:
    """The profile of a format that counts no rows before it reads them."""
    files = tuple(replace(file, parts=((None, 1),)) for file in profile.files)
    return replace(profile, files=files)


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


# ---- text and binary at the lengths where writers cut ----------------------------------------------------------------

LENGTHS = sorted({0, 1, 2, 3, 300} | {cut + more for cut in CUTS for more in range(-5, 6) if cut + more > 0})


def long_texts() -> list[str]:
    """Every letter to every length, alone, behind a letter that can be raised by one, and before one."""
    made = [
        lead + letter * (length // len(letter.encode())) + tail
        for letter in LETTERS
        for length in LENGTHS
        for lead in ("", "v")
        for tail in ("", "a")
    ]
    return list(dict.fromkeys(made))


def long_bytes() -> list[bytes]:
    made = [
        lead + piece * (length // len(piece)) + tail
        for piece in BYTES
        for length in LENGTHS
        for lead in (b"", b"v")
        for tail in (b"", b"\0")
    ]
    return list(dict.fromkeys(made))


def one_column_each(values: Sequence[Any], first: Any) -> pa.Table:
    """A table with a column for each value, in which *first* comes first: it is one bound, the value is the other."""
    return pa.table({f"c{number}": [first, value] for number, value in enumerate(values)})


@pytest.mark.slow
@pytest.mark.parametrize("write", PLAIN_WRITERS)
@pytest.mark.parametrize("values", [long_texts(), long_bytes()], ids=["text", "binary"])
def test_a_bound_of_any_length_holds_and_an_exact_one_is_in_the_column(
    write: Writer, values: Sequence[Any], tmp_path: Path
) -> None:
    """Each value as the maximum, beside the smallest, and as the minimum, beside a great one."""
    small, great = ("", "\U0010ffff" * 1100) if isinstance(values[0], str) else (b"", b"\xff" * 4400)
    path = tmp_path / "t.parquet"
    for other in (small, great):
        for first in range(0, len(values), 20):  # fastparquet writes beyond its buffer if a footer exceeds 500 kB
            some = values[first : first + 20]
            write(one_column_each(some, other), path)
            columns = read_footer(str(path)).columns
            assert len(columns) == len(some)
            for number, value in enumerate(some):
                assert_holds(columns[f"c{number}",].stats, [other, value])


def assert_holds(stats: ColumnStats, column: list[Any]) -> None:
    stored = [value.encode() if isinstance(value, str) else value for value in column]
    if stats.low is not None:
        assert stats.low <= min(stored) and (not stats.low_exact or stats.low in stored), (stats.low, stored)
    if stats.high is not None:
        assert max(stored) <= stats.high and (not stats.high_exact or stats.high in stored), (stats.high, stored)


@pytest.mark.parametrize("write_parent", PLAIN_WRITERS)
@pytest.mark.parametrize("write_child", PLAIN_WRITERS)
@pytest.mark.parametrize(
    "value", ["z" * 64 + "x" * 300, "v" + "漢" * 120, b"v" + b"\xff" * 300], ids=["z and x", "three bytes each", "0xff"]
)
def test_a_cut_text_bound_is_not_taken_for_exact(
    write_parent: Writer, write_child: Writer, value: Any, tmp_path: Path
) -> None:
    for folder, write in (("parent", write_parent), ("child", write_child)):
        (tmp_path / folder).mkdir()
        write(pa.table({"c0": [value, value[:1]]}), tmp_path / folder / "part-0.parquet")
    assert_no_true_edge_is_dropped([tmp_path / "parent", tmp_path / "child"])


def test_spark_told_to_cut_at_any_length_states_no_exact_text_bound(spark: Any, tmp_path: Path) -> None:
    """Its footers have no exactness flags, and parquet.statistics.truncate.length may be anything."""
    frame = spark.createDataFrame([(text,) for text in ("abcdefgh", "v" + "é" * 300)], "c0 string")
    frame.coalesce(1).write.option("parquet.statistics.truncate.length", "4").parquet(str(tmp_path / "parent"))
    frame.coalesce(1).write.parquet(str(tmp_path / "child"))
    assert profile(tmp_path / "parent").stats[0].low == b"abcd", "Spark did not cut"
    assert_no_true_edge_is_dropped([tmp_path / "parent", tmp_path / "child"])
