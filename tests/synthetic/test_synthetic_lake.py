"""Whole lakes: the same for a seed, explained by their lineage, within memory, in the layouts real lakes have."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
import pytest

from r2d2.errors import R2D2Error, UserError
from r2d2.synthetic import (
    GeneratedLake,
    find_tables,
    generate_lake,
    lake_truth,
    read_rows,
    rows_of,
)
from r2d2.synthetic import tpch as tpch_module
from r2d2.synthetic.builtin import BUILTIN_ROOTS
from r2d2.synthetic.layout import Layout, write_table
from r2d2.synthetic.names import FOLDERS
from r2d2.synthetic.steps_json import kind_name
from r2d2.synthetic.store import open_table
from r2d2.synthetic.stream import Stream, stream_of
from r2d2.synthetic.transform import apply_steps
from tests.support.family_lake import generate_family_lake
from tests.support.lineage import read_lineage
from tests.support.oddities import write_oddities

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> GeneratedLake:
    return generate_lake(tmp_path_factory.mktemp("lake"), tables=80, rows=500, seed=5)


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def bag(location: Path) -> Counter[tuple[object, ...]]:
    return Counter(read_rows(location).rows)


def test_the_same_seed_makes_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate_lake(tmp_path / name, tables=15, rows=300, seed=seed)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert digests(tmp_path / "a") != digests(tmp_path / "c")


@pytest.mark.parametrize("given", [False, True])
def test_the_batch_size_changes_no_byte(given: bool, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": range(3000), "k": [f"k{i % 3}" for i in range(3000)]}), tmp_path / "root.parquet")
    roots = tmp_path / "root.parquet" if given else "builtin"
    small = generate_lake(tmp_path / "small", tables=15, rows=300, seed=9, roots=roots, batch_rows=17)
    large = generate_lake(tmp_path / "large", tables=15, rows=300, seed=9, roots=roots, batch_rows=10_000)
    assert small.tables == large.tables
    assert digests(small.path) == digests(large.path)


def test_more_tables_leave_the_first_ones_as_they_were(tmp_path: Path) -> None:
    few = generate_lake(tmp_path / "few", tables=9, rows=200, seed=3)
    many = generate_lake(tmp_path / "many", tables=14, rows=200, seed=3)
    assert many.tables[:9] == few.tables


def test_the_lineage_names_every_table_with_its_rows_bytes_and_files(lake: GeneratedLake) -> None:
    assert [table.name for table in lake.tables] == list(dict.fromkeys(table.name for table in lake.tables))
    assert sorted(table.name for table in lake.tables) == find_tables(lake.path)
    for table in lake.tables:
        location = lake.path / table.name
        files = [location] if location.is_file() else [path for path in location.rglob("*") if path.is_file()]
        assert table.files == len(files)
        assert table.size_bytes == sum(path.stat().st_size for path in files)
        assert table.rows == sum(pq.read_metadata(path).num_rows for path in files)


def test_the_lineage_survives_its_file_and_lies_beside_the_lake(lake: GeneratedLake) -> None:
    assert read_lineage(lake.lineage_path) == lake
    assert lake.lineage_path.parent == lake.path.parent


def test_doing_the_steps_of_the_lineage_again_gives_every_table(lake: GeneratedLake) -> None:
    for table in read_lineage(lake.lineage_path).tables:
        if not table.is_root:
            source = open_table(lake.path / table.sources[0]).stream(batch_rows=100)
            again = apply_steps(table.steps, source, batch_rows=100).to_table()
            again = again.select(sorted(again.column_names))
            made = open_table(lake.path / table.name).stream(batch_rows=100).to_table()
            assert Counter(rows_of(again).rows) == Counter(rows_of(made.select(again.column_names)).rows), table


def test_a_lake_has_all_layouts_folders_kinds_and_chains(lake: GeneratedLake) -> None:
    assert {table.layout.kind for table in lake.tables} == {"file", "folder", "hive"}
    assert {table.name.rpartition("/")[0] for table in lake.tables} >= set(FOLDERS) - {""}
    kinds = {kind_name(step) for table in lake.tables for step in table.steps}
    assert kinds >= {
        "copy",
        "select_where",
        "add_rows",
        "add_column",
        "add_noise",
        "shuffle_rows",
        "widen_types",
    }
    derived = {table.name for table in lake.tables if not table.is_root}
    assert any(table.sources[0] in derived for table in lake.tables if not table.is_root)
    assert any(len(table.steps) > 2 for table in lake.tables)


def test_the_truth_of_a_lake_has_edges_that_hold_and_edges_that_do_not(lake: GeneratedLake) -> None:
    edges = lake_truth(lake.path, all_pairs=True)
    assert {(edge.contained, edge.bag) for edge in edges} == {(True, True), (True, False), (False, False)}
    copies = {t.name: t.sources[0] for t in lake.tables if {kind_name(s) for s in t.steps} == {"copy"}}
    both_ways = {(edge.parent, edge.child) for edge in edges if edge.bag}
    assert copies
    assert all({(copy, source), (source, copy)} <= both_ways for copy, source in copies.items())


def test_the_roots_hold_every_kind_of_value_and_no_nasty_one() -> None:
    checks = (
        *(pt.is_integer, pt.is_floating, pt.is_decimal, pt.is_string, pt.is_date, pt.is_boolean),
        *(pt.is_struct, pt.is_list, lambda kind: pt.is_timestamp(kind) and kind.tz is None),
        lambda kind: pt.is_timestamp(kind) and kind.tz is not None,
    )
    tables = [Stream(root.schema(), root.batches(biggest=20_000, seed=1)).to_table() for root in BUILTIN_ROOTS]
    types = [field.type for table in tables for field in table.schema]
    assert all(any(check(kind) for kind in types) for check in checks)
    for table in tables:
        table.validate(full=True)
        for column in table.columns:
            if pt.is_floating(column.type):
                values = column.drop_null().to_numpy()
                assert np.isfinite(values).all()
                assert not (np.signbit(values) & (values == 0)).any()


def test_the_biggest_root_has_the_rows_asked_for(tmp_path: Path) -> None:
    made = generate_lake(tmp_path, tables=6, rows=12_345, seed=0)
    assert max(table.rows for table in made.tables) == 12_345


def test_nasty_lakes_hold_nan_negative_zero_and_odd_names(tmp_path: Path) -> None:
    root = write_oddities(tmp_path / "oddities.parquet", rows=40, seed=2)
    made = generate_lake(tmp_path / "out", tables=40, rows=400, seed=2, roots=root)
    odd = read_rows(made.path / made.tables[0].name)
    assert {("a.b",), ("a", "b"), ("text",), ("Text",)} <= set(odd.columns)
    doubles = {row[odd.columns.index(("double",))] for row in odd.rows}
    assert {("not a number",), ("negative zero",)} <= doubles
    assert lake_truth(made.path)


def test_any_mix_of_tiny_lakes_can_be_made(tmp_path: Path) -> None:
    for seed in range(12):
        rows, tables = (0, 1, 2, 3, 40)[seed % 5], (1, 3, 12, 25)[seed % 4]
        odd = write_oddities(tmp_path / f"{seed}.parquet", rows=rows, seed=seed)
        roots = odd if seed % 2 else "builtin"
        made = generate_lake(tmp_path / str(seed), tables=tables, rows=rows, seed=seed, roots=roots)
        assert len(made.tables) == tables
        assert sorted(table.name for table in made.tables) == find_tables(made.path)


def arrow_peak_bytes(out: Path, *, rows: int) -> int:
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        generate_lake(out, tables=12, rows=rows, seed=1, batch_rows=1024)
        return int(pool.max_memory())
    finally:
        pa.set_memory_pool(before)


def test_four_times_the_rows_take_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("r2d2.synthetic.draw_layout.ROW_GROUP_ROWS", (5_000,))
    small = arrow_peak_bytes(tmp_path / "small", rows=40_000)
    assert arrow_peak_bytes(tmp_path / "large", rows=160_000) < 1.5 * small


def test_the_roots_can_be_files_and_folders_of_parquet(tmp_path: Path) -> None:
    words = pa.table(
        {
            "x": [1, 2, 3],
            "w": pa.array(["a", "b", "a"]).dictionary_encode(),
            "v": pa.array(["p", None, "q"], pa.string_view()),
        }
    )
    pq.write_table(words, tmp_path / "My words (1).parquet")
    (tmp_path / "parts/year=2024").mkdir(parents=True)
    pq.write_table(words, tmp_path / "parts/year=2024/a.parquet")
    pq.write_table(words.append_column("late", pa.array([1.5, 2.5, None])), tmp_path / "parts/year=2024/b.parquet")
    roots = [tmp_path / "My words (1).parquet", tmp_path / "parts"]
    made = generate_lake(tmp_path / "out", tables=12, rows=0, seed=1, roots=roots)
    first, second = made.tables[:2]
    assert "My_words_1" in first.name
    assert bag(made.path / first.name) == bag(roots[0])
    assert bag(made.path / second.name) == bag(roots[1])
    assert (first.origin, second.origin) == tuple(map(str, roots))


def test_one_root_can_be_given_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "one.parquet")
    made = generate_lake(tmp_path / "out", tables=3, rows=0, seed=1, roots=str(tmp_path / "one.parquet"))
    assert [table.is_root for table in made.tables] == [True, False, False]


def test_tpch_tables_are_roots_and_leave_nothing_else_behind(tmp_path: Path) -> None:
    made = generate_lake(tmp_path, tables=10, rows=600, seed=1, roots="tpch")
    assert [table.name.removesuffix(".parquet") for table in made.tables[:8]] == [
        f"tpch/{table}" for table in tpch_module.TABLES
    ]
    assert 500 < made.tables[0].rows < 700
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake", "lineage.json"]


def test_the_tpch_scale_can_be_set(tmp_path: Path) -> None:
    made = generate_lake(tmp_path, tables=1, rows=1, seed=1, roots="tpch", scale_factor=0.0005)
    assert 2500 < made.tables[0].rows < 3500


def test_without_the_tpch_command_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(UserError, match="not installed") as error:
        generate_lake(tmp_path / "out", tables=1, rows=10, seed=1, roots="tpch")
    assert "r2d2-lake[tpch]" in error.value.hint
    generate_lake(tmp_path / "out", tables=1, rows=10, seed=1)  # nothing is in the way of the second try


def test_a_failing_tpch_command_is_told_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "tpchgen-cli"
    command.write_text("#!/bin/sh\necho 'disk is full' >&2\nexit 3\n")
    command.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(R2D2Error, match="exit code 3: disk is full"):
        generate_lake(tmp_path / "out", tables=1, rows=10, seed=1, roots="tpch")


BAD_REQUESTS: dict[str, dict[str, Any]] = {
    "tables must be at least 1": {"tables": 0},
    "rows must be at least 0": {"rows": -1},
    "seed must be at least 0": {"seed": -1},
    "no such root": {"roots": "nowhere.parquet"},
    "no root was given": {"roots": []},
    "mix of transformations": {"mix": {"explode": 1.0}},
    "scale factor must be above 0": {"roots": "tpch", "scale_factor": 0.0},
}


@pytest.mark.parametrize("message", BAD_REQUESTS)
def test_a_bad_request_is_refused_in_words(message: str, tmp_path: Path) -> None:
    request: dict[str, Any] = {"tables": 2, "rows": 10, "seed": 1} | BAD_REQUESTS[message]
    with pytest.raises(UserError, match=message):
        generate_lake(tmp_path / "out", **request)


def test_a_root_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(UserError, match=r"cannot read .*broken\.parquet"):
        generate_lake(tmp_path / "out", tables=2, rows=10, seed=1, roots=[tmp_path / "broken.parquet"])


def test_a_lake_is_never_written_over(tmp_path: Path) -> None:
    generate_lake(tmp_path, tables=2, rows=10, seed=1)
    before = digests(tmp_path)
    with pytest.raises(UserError, match="holds a generated lake already"):
        generate_lake(tmp_path, tables=2, rows=10, seed=2)
    assert digests(tmp_path) == before


@pytest.mark.parametrize("below", ["mine.parquet", "mine/part-0.parquet"])
def test_no_lake_is_generated_among_tables(tmp_path: Path, below: str) -> None:
    (tmp_path / below).parent.mkdir(exist_ok=True)
    (tmp_path / below).write_bytes(b"")
    before = digests(tmp_path)
    with pytest.raises(UserError, match="holds tables already"):
        generate_lake(tmp_path, tables=2, rows=10, seed=1)
    assert digests(tmp_path) == before


def test_progress_is_told_after_each_table(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    generate_lake(tmp_path, tables=8, rows=20, seed=1, progress=lambda *made: told.append(made))
    assert told == [(number, 8) for number in range(1, 9)]


@pytest.mark.parametrize("kind", ["file", "folder", "hive"])
@pytest.mark.parametrize("rows", [0, 1, 10, 25])
def test_a_written_table_has_its_rows_in_files_and_row_groups_of_bounded_size(
    kind: Literal["file", "folder", "hive"], rows: int, tmp_path: Path
) -> None:
    keys = [None if i % 5 == 4 else f"k/{i % 5}" for i in range(rows)]
    table = pa.table({"key": pa.array(keys, pa.string()), "x": pa.array(range(rows), pa.int64())})
    layout = Layout(kind, 10, 4, "snappy", "key" if kind == "hive" else None)
    written = write_table(stream_of(table, batch_rows=7), tmp_path / "t", layout)
    files = [pq.read_metadata(file.path) for file in written.table.files]
    assert files
    assert all(meta.row_group(i).num_rows <= 4 for meta in files for i in range(meta.num_row_groups))
    assert kind != "folder" or all(meta.num_rows <= 10 for meta in files)
    assert bag(tmp_path / "t") == Counter(rows_of(table).rows)
    assert Counter(rows_of(written.table.stream(batch_rows=3).to_table().select(["key", "x"])).rows) == bag(
        tmp_path / "t"
    )


def test_a_hive_table_with_many_values_keeps_few_files_open(tmp_path: Path) -> None:
    table = pa.table({"key": [i % 50 for i in range(200)], "x": range(200)})
    write_table(stream_of(table), tmp_path / "t", Layout("hive", 0, 100, "snappy", "key"))
    assert bag(tmp_path / "t") == Counter(rows_of(table).rows)


@pytest.mark.parametrize("layout", ["file", "folder"])
def test_a_family_lake_has_few_schemas_and_edges_in_every_group(
    layout: Literal["file", "folder"], tmp_path: Path
) -> None:
    made = generate_family_lake(tmp_path, tables=120, seed=1, schemas=3, group=10, layout=layout)
    assert sorted(table.name for table in made.tables) == find_tables(made.path)
    assert read_lineage(made.lineage_path) == made
    schemas = {read_rows(made.path / table.name).columns for table in made.tables}
    assert len(schemas) == 6  # each family's own, and that without the id
    edges = lake_truth(made.path, all_pairs=True)
    groups = {name: int(name.removesuffix(".parquet")[-6:]) // 10 for name in (table.name for table in made.tables)}
    full = [edge for edge in edges if edge.child_rows > 3 and edge.contained]
    assert {groups[edge.parent] for edge in full} == set(range(12))
    assert all(groups[edge.parent] == groups[edge.child] for edge in full)
    assert len(edges) > 5 * len(full)


def test_a_family_lake_is_the_same_for_its_seed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        generate_family_lake(tmp_path / name, tables=30, seed=4)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    with pytest.raises(UserError, match="at least one"):
        generate_family_lake(tmp_path / "c", tables=0, seed=4)
