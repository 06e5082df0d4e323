"""`import r2d2` in a notebook: a borrowed session is left alone, results are plain, nothing is read twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import r2d2
from r2d2.engine.run.child_process import ChildProcess
from r2d2.engine.spark import session as session_module
from r2d2.errors import StateError, UserError
from r2d2.model.evidence import Verdict
from r2d2.report.edges import EDGE_FIELDS, EdgeRow, EdgeTable

SCRIPT = "<script>alert(1)"


def write(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def scanned(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[r2d2.Lake, Path, dict[str, str]]:
    """A scanned lake, its state, and the session's settings before the scan."""
    folder = tmp_path_factory.mktemp("api")
    write(folder / "lake" / "all.parquet", id=list(range(20)), t=["x"] * 20)
    write(folder / "lake" / f"{SCRIPT}.parquet", id=[3, 4], t=["x", "x"])
    write(folder / "lake" / "other.parquet", z=[1])
    (folder / "lake" / "cut.parquet").write_bytes(b"PAR1")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        before = dict(spark.conf.getAll)
        lake = r2d2.scan(folder / "lake", spark=spark, state=folder / "state", include="*")
        assert dict(spark.conf.getAll) == before
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.unset("spark.sql.ansi.enabled")
    return lake, folder / "state", before


def test_a_borrowed_session_is_neither_stopped_nor_changed(
    spark: Any, scanned: tuple[r2d2.Lake, Path, dict[str, str]]
) -> None:
    assert spark.range(5).count() == 5
    assert scanned[2]["spark.sql.session.timeZone"] == "Asia/Tokyo"


def test_a_lake_names_its_tables_and_problems(scanned: tuple[r2d2.Lake, Path, dict[str, str]]) -> None:
    lake = scanned[0]
    assert set(lake.tables) == {"all.parquet", "other.parquet", f"{SCRIPT}.parquet"}
    assert [problem.where for problem in lake.problems] == ["cut.parquet"]


def test_edges_are_a_sequence_of_plain_rows(scanned: tuple[r2d2.Lake, Path, dict[str, str]]) -> None:
    edges = scanned[0].edges()
    (row,) = edges
    assert len(edges) == 1
    assert (row.parent, row.child, row.verdict) == ("all.parquet", f"{SCRIPT}.parquet", Verdict.PROVEN)


def test_edges_become_a_data_frame(scanned: tuple[r2d2.Lake, Path, dict[str, str]]) -> None:
    frame = scanned[0].edges().to_pandas()
    assert list(frame.columns) == list(EDGE_FIELDS)
    assert frame["verdict"].tolist() == ["PROVEN"] and frame["child_rows"].tolist() == [2]
    assert frame.equals(scanned[0].to_pandas())
    assert list(EdgeTable(()).to_pandas().columns) == list(EDGE_FIELDS)


def test_html_is_escaped(scanned: tuple[r2d2.Lake, Path, dict[str, str]]) -> None:
    for shown in (scanned[0]._repr_html_(), scanned[0].edges()._repr_html_()):
        assert "<script" not in shown and "&lt;script&gt;alert(1)" in shown and shown.startswith("<table>")


@pytest.mark.parametrize("payload", ["<img src=x onerror=alert(1)>", "</td><script>", '"><svg onload=1>', "&lt;", "'"])
def test_no_field_reaches_html_as_markup(payload: str) -> None:
    row = EdgeRow(payload, payload, Verdict.PROVEN, 1.0, True, 0, 1, 1, payload)
    shown = EdgeTable((row,))._repr_html_()
    assert payload not in shown and shown.count("<td>") == len(EDGE_FIELDS)


def test_pairs_are_explained(scanned: tuple[r2d2.Lake, Path, dict[str, str]]) -> None:
    answer = scanned[0].explain("other.parquet", "all.parquet")
    assert answer.verdict is Verdict.IMPOSSIBLE and "no column" in answer.because
    with pytest.raises(UserError, match="was left out"):
        scanned[0].explain("all.parquet", "cut.parquet")


def test_the_state_opens_to_the_same_lake(scanned: tuple[r2d2.Lake, Path, dict[str, str]], tmp_path: Path) -> None:
    assert asdict(r2d2.open_state(scanned[1]).scan) == asdict(scanned[0].scan)
    assert r2d2.open_state(str(scanned[1])).edges() == scanned[0].edges()
    with pytest.raises(StateError):
        r2d2.open_state(tmp_path)


def test_a_wrong_setting_is_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'folder_tabel'"):
        r2d2.scan(tmp_path, folder_tabel="x")


# ---- a scan reads all metadata again -----------------------------------------------------------------------------------


class Started(Exception):
    """Spark was asked for, or the process that reads footers while it starts."""


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise Started

    monkeypatch.setattr(session_module, "open_session", refuse)
    monkeypatch.setattr(ChildProcess, "run", refuse)


@pytest.fixture(scope="module")
def once(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables without a common column, scanned: all there is to read is their metadata."""
    folder = tmp_path_factory.mktemp("quiet")
    for name in "abc":
        write(folder / "now" / "lake" / name / "part-0.parquet", **{name: [1, 2]})
    r2d2.scan(folder / "now" / "lake", spark=spark, state=folder / "now" / "state")
    shutil.copytree(folder / "now", folder / "kept")
    return folder


@pytest.fixture
def quiet_lake(once: Path) -> Path:
    """That lake and its state as they were then, times and all."""
    shutil.rmtree(once / "now")
    return Path(shutil.copytree(once / "kept", once / "now"))


def touch(lake: Path) -> None:
    os.utime(lake / "b" / "part-0.parquet", ns=(1, 1))


def rewrite(lake: Path) -> None:
    write(lake / "b" / "part-0.parquet", b=[7, 8])


def add_file(lake: Path) -> None:
    write(lake / "b" / "part-1.parquet", b=[9])


def add_table(lake: Path) -> None:
    write(lake / "d" / "part-0.parquet", d=[9])


def test_a_scan_reads_every_footer_even_of_a_lake_that_is_known_and_has_not_changed(
    quiet_lake: Path, no_spark: None
) -> None:
    with pytest.raises(Started):
        r2d2.scan(quiet_lake / "lake", state=quiet_lake / "state")
    assert r2d2.open_state(quiet_lake / "state").tables == ("a", "b", "c")  # what was known is still there


def add_folder(lake: Path) -> None:
    write(lake / "b" / "Year=1" / "part-0.parquet", b=[9])
    (lake / "b" / "part-0.parquet").unlink()


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        (touch, {}),
        (rewrite, {}),
        (add_file, {}),
        (add_table, {}),
        (add_folder, {}),
        (add_folder, {"ignore_case": True}),
        (add_folder, {"partition_types": "string"}),
    ],
)
def test_what_was_known_of_a_lake_changes_nothing_that_a_scan_says(
    quiet_lake: Path, spark: Any, change: Any, setting: dict[str, Any]
) -> None:
    change(quiet_lake / "lake")
    after = r2d2.scan(quiet_lake / "lake", spark=spark, state=quiet_lake / "state", **setting).scan
    fresh = r2d2.scan(quiet_lake / "lake", spark=spark, state=quiet_lake / "empty", **setting).scan
    assert (after.tables, after.profiles, after.problems) == (fresh.tables, fresh.profiles, fresh.problems)
    assert r2d2.open_state(quiet_lake / "state").scan.profiles == after.profiles
    if change is add_folder:
        types = {column.token: column.type_name for column in after.profiles[1].schema.columns}
        folder = "year" if "ignore_case" in setting else "Year"
        assert types[(folder,)] == ("string" if "partition_types" in setting else "int64")


def test_what_is_read_again_is_right_and_only_that_changes(quiet_lake: Path, spark: Any) -> None:
    before = r2d2.open_state(quiet_lake / "state").scan
    rewrite(quiet_lake / "lake")
    (quiet_lake / "lake" / "a" / "part-0.parquet").unlink()
    (quiet_lake / "lake" / "a").rmdir()
    after = r2d2.scan(quiet_lake / "lake", spark=spark, state=quiet_lake / "state").scan
    assert [table.name for table in after.tables] == ["b", "c"]
    assert after.profiles[0].stats[0][1:3] == (7, 8)
    assert after.profiles[1] == before.profiles[2] and after.tables[1].version == before.tables[2].version


def test_a_table_is_found_in_the_lake(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "lake" / "all.parquet", id=[1, 2, 3, 4], name=["a", "b", "c", "d"])
    write(tmp_path / "lake" / "<b>most.parquet", id=[1, 2, 3], name=["a", "b", "c"])
    write(tmp_path / "lake" / "one.parquet", id=[2], name=["b"])
    state = tmp_path / "state"
    r2d2.scan(tmp_path / "lake", spark=spark, state=state)
    found = r2d2.find(write(tmp_path / "<mine>.parquet", id=[3, 2], name=["c", "b"]), state, spark=spark)
    assert found.is_there and not found.equal
    assert {one.table for one in found.contained_in} == {"all.parquet", "<b>most.parquet"}
    assert [(one.table, one.containment) for one in found.contains] == [("one.parquet", 1.0)]
    assert [one.table for one in r2d2.find(tmp_path / "lake" / "one.parquet", state).equal] == []  # itself is no copy
    copy = r2d2.find(write(tmp_path / "copy.parquet", id=[2], name=["b"]), str(state))
    assert [one.table for one in copy.equal] == ["one.parquet"] and len(copy.contained_in) == 2
    partly = r2d2.find(write(tmp_path / "partly.parquet", id=[4, 9], name=["d", "x"]), state, nearest=1)
    assert not partly.is_there and [(one.table, one.missing_rows) for one in partly.nearest] == [("all.parquet", 1)]
    frame = found.to_pandas()
    assert sorted(frame["how"]) == ["contained_in", "contained_in", "contains", "nearest"]
    assert set(frame[frame["how"] == "contains"]["table"]) == {"one.parquet"}
    assert "<b>most" not in found._repr_html_() and "&lt;b&gt;most" in found._repr_html_()
    with pytest.raises(UserError, match="no such file"):
        r2d2.find(tmp_path / "nowhere.parquet", state)


def test_what_can_be_used_is_listed_without_loading_it() -> None:
    assert set(r2d2.__all__) <= set(dir(r2d2))
    code = "import sys, r2d2; print('scan' in dir(r2d2), 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_a_lake_says_in_one_line_what_it_is(scanned: tuple[r2d2.Lake, Path, dict[str, str]]) -> None:
    lake = scanned[0]
    shown = repr(lake)
    assert shown.startswith(f"<Lake: {len(lake.tables)} tables, ") and "\n" not in shown
    assert f", {len(lake.edges())} edge; state {lake.scan.in_force['state']}>" in shown
