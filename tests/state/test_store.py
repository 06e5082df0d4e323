"""What a scan found comes back as it was; whatever stops a save, the scan before it stays."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from r2d2.errors import StateError
from r2d2.model.scan import Scan
from r2d2.model.scan_settings import ScanSettings
from r2d2.state.store import FORMAT, StateStore
from tests.state.scans import content, everything_in, plain_scan, save, scans


def refused(action: Any) -> str:
    with pytest.raises(StateError) as caught:
        action()
    assert caught.value.exit_code == 2 and caught.value.hint
    return str(caught.value)


# ---- round trip ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settled", [True, False])
def test_whether_a_file_is_settled_comes_back_too(settled: bool, tmp_path: Path) -> None:
    """Versions compare without it."""
    scan = plain_scan()
    file = scan.tables[0].files[0]
    table = replace(scan.tables[0], files=(replace(file, version=file.version._replace(settled=settled)),))
    save(tmp_path, replace(scan, tables=(table, *scan.tables[1:])))
    assert StateStore(tmp_path).load().tables[0].files[0].version.settled is settled


@settings(max_examples=30)
@given(scans())
def test_a_scan_comes_back_as_it_was_saved(scan: Scan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        saved = save(Path(folder) / "state", scan)
        loaded = StateStore(Path(folder) / "state").load()
    assert content(loaded) == content(saved)
    for part in ("profiles", "tables", "graph", "settings", "in_force"):  # 1 is not 1.0, and a list no tuple
        assert repr(getattr(loaded, part)) == repr(getattr(saved, part))


def test_what_is_worked_out_of_a_scan_comes_back_too(tmp_path: Path) -> None:
    saved = save(tmp_path / "state", plain_scan(4))
    loaded = StateStore(tmp_path / "state").load()
    assert [t.version for t in loaded.tables] == [t.version for t in saved.tables]
    assert loaded.schema_graph is not None and saved.schema_graph is not None
    assert loaded.schema_graph.family_of == saved.schema_graph.family_of
    assert loaded.schema_graph.edge_count == saved.schema_graph.edge_count == 12


def test_the_state_may_lie_anywhere(tmp_path: Path) -> None:
    for name in ("deep/er", "year=2024/day=__HIVE_DEFAULT_PARTITION__", "a b*[1]?", "ü#%41", "_hidden", ".dots"):
        assert StateStore(tmp_path / name).folder == tmp_path / name
        saved = save(tmp_path / name, plain_scan())
        assert content(StateStore(tmp_path / name).load()) == content(saved)


def test_seven_hundred_thousand_edges_are_small_and_fast(tmp_path: Path) -> None:
    scan = plain_scan(840)
    assert scan.graph is not None and len(scan.graph) == 840 * 839
    started = time.perf_counter()
    saved = save(tmp_path / "state", scan)
    loaded = StateStore(tmp_path / "state").load()
    seconds = time.perf_counter() - started
    assert content(loaded) == content(saved)
    assert (StateStore(tmp_path / "state").newest / "edges.parquet").stat().st_size < 4 * len(scan.graph)
    assert seconds < 10


# ---- for others to read ----------------------------------------------------------------------------------------------


def test_duckdb_reads_tables_columns_and_edges(tmp_path: Path) -> None:
    import duckdb

    scan = save(tmp_path / "state", plain_scan())
    with duckdb.connect() as database:
        for name in ("tables", "columns", "edges"):
            database.read_parquet(str(StateStore(tmp_path / "state").newest / f"{name}.parquet")).create_view(name)
        found = database.execute("""
            SELECT p.name, c.name FROM edges e
            JOIN tables p ON p."table" = e.parent
            JOIN tables c ON c."table" = e.child
        """).fetchall()
        columns = database.execute("""
            SELECT t.name, c."column", c.type, c.nulls, c.low, c.high
            FROM columns c JOIN tables t USING ("table") WHERE t.name = 'folder/t1' ORDER BY 2
        """).fetchall()
    assert scan.graph is not None and sorted(found) == sorted(scan.graph.edges()) != []
    assert columns == [
        ("folder/t1", "id", "int64", 0, "0", "9"),
        ("folder/t1", "price.net", "decimal(9,2)", 1, "0.50", "1.50"),
    ]


def test_pandas_reads_tables_files_and_edges(tmp_path: Path) -> None:
    import pandas as pd

    scan = save(tmp_path / "state", plain_scan())
    newest = StateStore(tmp_path / "state").newest
    tables, files, edges = (pd.read_parquet(newest / f"{name}.parquet") for name in ("tables", "files", "edges"))
    names = tables.set_index("table")["name"]
    found = zip(edges["parent"].map(names), edges["child"].map(names), strict=True)
    assert scan.graph is not None and sorted(found) == sorted(scan.graph.edges())
    assert files.merge(tables, on="table")["path"].tolist() == [t.files[0].path for t in scan.tables]


# ---- which run counts ------------------------------------------------------------------------------------------------


def test_the_newest_runs_are_kept_and_no_more(tmp_path: Path) -> None:
    names = [save(tmp_path, plain_scan(mark=mark), keep=3).run for mark in range(7)]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == sorted(names[-3:])
    assert content(StateStore(tmp_path).load()) == content(replace(plain_scan(mark=6), run=names[-1]))
    last = save(tmp_path, plain_scan(), keep=1).run
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [last]


def test_no_scan_yet_is_told(tmp_path: Path) -> None:
    store = StateStore(tmp_path / "state")
    assert "there is no scan in" in refused(store.load) and "r2d2 scan" in refused(store.load)
    assert store.load_if_any() is None
    assert not (tmp_path / "state").exists()  # reading makes nothing
    with store.locked():
        assert store.load_if_any() is None
    assert "there is no scan" in refused(lambda: store.newest)


# ---- stopped in the middle -------------------------------------------------------------------------------------------


def test_an_error_in_the_middle_of_a_save_leaves_the_last_scan(tmp_path: Path) -> None:
    before = save(tmp_path, plain_scan())
    broken = plain_scan(mark=1)
    bad = replace(broken.profiles[1], rows="many")  # type: ignore[arg-type]
    with pytest.raises(Exception):
        save(tmp_path, replace(broken, profiles=(broken.profiles[0], bad, broken.profiles[2])))
    assert content(StateStore(tmp_path).load()) == content(before)
    after = save(tmp_path, plain_scan(mark=2))
    assert content(StateStore(tmp_path).load()) == content(after)
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {before.run, after.run}  # no leftovers


def die_at(call: int) -> None:
    """Kill this process at its n-th call that opens, makes, renames or removes a file."""
    left = [call]

    def watch(event: str, arguments: object) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "shutil.rmtree"):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def in_a_child(function: Any, *arguments: Any) -> Any:
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    return child


def save_and_die(folder: Path, mark: int, call: int) -> None:
    die_at(call)
    save(folder, plain_scan(mark=mark), keep=1)


@pytest.mark.slow
def test_a_kill_at_any_call_leaves_the_last_scan_or_the_new_one(tmp_path: Path) -> None:
    old = save(tmp_path, plain_scan(mark=0))
    new = plain_scan(mark=1)
    seen = set()
    for call in range(1, 200):
        folder = Path(shutil.copytree(tmp_path, f"{tmp_path}-{call}"))
        child = in_a_child(save_and_die, folder, 1, call)
        child.join()
        found = StateStore(folder).load()
        is_old = found.run == old.run
        assert content(found) == content(old if is_old else replace(new, run=found.run)), f"killed at call {call}"
        seen.add(is_old)
        after = save(folder, plain_scan(mark=2), keep=1)  # what was left stands in nobody's way, and goes
        assert content(StateStore(folder).load()) == content(after)
        assert [path.name for path in (folder / "runs").iterdir()] == [after.run]
        shutil.rmtree(folder)
        if child.exitcode == 0:
            break
    assert child.exitcode == 0 and call > 15 and seen == {True, False}


def make_and_die(folder: Path, call: int) -> None:
    die_at(call)
    save(folder, plain_scan())


@pytest.mark.slow
def test_a_kill_while_the_folder_is_made_leaves_one_that_can_be_used(tmp_path: Path) -> None:
    for call in range(1, 200):
        folder = tmp_path / str(call)
        child = in_a_child(make_and_die, folder, call)
        child.join()
        found = StateStore(folder).load_if_any()
        assert found is None or content(found) == content(replace(plain_scan(), run=found.run))
        save(folder, plain_scan())
        assert len(StateStore(folder).key()) == 32
        if child.exitcode == 0:
            break
    assert child.exitcode == 0 and call > 10


def save_for_ever(folder: Path) -> None:
    for mark in range(10**9):
        save(folder, plain_scan(mark=mark))


@pytest.mark.slow
def test_a_kill_at_any_time_leaves_a_whole_scan(tmp_path: Path) -> None:
    save(tmp_path, plain_scan())
    dice = random.Random(7)
    for _ in range(12):
        child = in_a_child(save_for_ever, tmp_path)
        time.sleep(dice.uniform(0.02, 0.15))
        child.kill()
        child.join()
        loaded = StateStore(tmp_path).load()
        mark = loaded.tables[0].size_bytes - 100
        assert content(loaded) == content(replace(plain_scan(mark=mark), run=loaded.run))


@pytest.mark.slow
def test_a_full_disk_is_told_and_leaves_the_last_scan(tmp_path: Path) -> None:
    before = save(tmp_path / "state", plain_scan())
    code = """
import resource, sys
from tests.state.scans import plain_scan, save
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # no file may grow beyond this
try:
    save(Path(sys.argv[1]), plain_scan(50))
except Exception as error:
    print(type(error).__name__, error)
"""
    root = Path(__file__).parent.parent.parent
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "state"], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("StateError cannot write the state folder") and "File too large" in done.stdout
    assert content(StateStore(tmp_path / "state").load()) == content(before)


# ---- two at once -----------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    saved = save(tmp_path, plain_scan())
    with StateStore(tmp_path).locked():
        message = refused(lambda: save(tmp_path, plain_scan(mark=1)))
        assert "another r2d2 is writing" in message and "--state" in message
        assert content(StateStore(tmp_path).load()) == content(saved)
    save(tmp_path, plain_scan(mark=1))


def hold(folder: Path, ready: Any) -> None:
    with StateStore(folder).locked():
        ready.set()
        time.sleep(60)


def test_a_writer_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    ready = multiprocessing.get_context("fork").Event()
    child = in_a_child(hold, tmp_path, ready)
    try:
        assert ready.wait(30)
        refused(lambda: save(tmp_path, plain_scan()))
    finally:
        child.kill()
        child.join()
    save(tmp_path, plain_scan())


# ---- not ours, not this version, not whole ---------------------------------------------------------------------------


def actions(folder: Path) -> list[Any]:
    store = StateStore(folder)
    return [store.load, store.load_if_any, lambda: store.newest, lambda: save(folder, plain_scan())]


@pytest.mark.parametrize("number", [0, FORMAT + 1, "1.0", None])
def test_the_state_of_another_version_is_refused_and_left_alone(number: Any, tmp_path: Path) -> None:
    save(tmp_path, plain_scan())
    (tmp_path / "format.json").write_text(json.dumps({"format": number}))
    before = everything_in(tmp_path)
    for action in actions(tmp_path):
        message = refused(action)
        assert f"format {number}" in message and f"format {FORMAT}" in message and "--state" in message
    assert everything_in(tmp_path) == before


def test_a_state_that_the_version_before_wrote_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """Its files are the work of that version; a lake of two tables, of which one holds the other."""
    shutil.copytree(Path(__file__).parent / "old" / "format-4", tmp_path / "state")
    before = everything_in(tmp_path / "state")
    for action in actions(tmp_path / "state"):
        message = refused(action)
        assert "is of format 4; this version writes format 5" in message
        assert "scan the lake again into a new folder with --state DIR" in message
    assert everything_in(tmp_path / "state") == before


@pytest.mark.parametrize("name", ["edges", "ruled_out"])
def test_columns_that_are_mapped_are_refused_and_those_that_are_not_are_edges_as_usual(
    name: str, tmp_path: Path
) -> None:
    saved = save(tmp_path, plain_scan())
    path = StateStore(tmp_path).newest / f"{name}.parquet"
    edges = pq.read_table(path)
    for mapping, known in ((0, True), (1, False)):
        numbers = pa.array([mapping] * edges.num_rows, pa.uint32())
        pq.write_table(edges.append_column("mapping", numbers), path)
        if known or not edges.num_rows:
            assert content(StateStore(tmp_path).load()) == content(saved)
        else:
            assert "mapped" in refused(StateStore(tmp_path).load)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\x00", b"1", b"null"])
def test_a_damaged_format_is_told(content: bytes, tmp_path: Path) -> None:
    save(tmp_path, plain_scan())
    (tmp_path / "format.json").write_bytes(content)
    for action in actions(tmp_path):
        assert "format.json is damaged" in refused(action)


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("do not touch")
    for action in actions(tmp_path):
        assert "is not a state folder" in refused(action)
    assert everything_in(tmp_path) == {"thesis.txt": b"do not touch"}


def test_a_file_in_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("hello")
    for action in actions(tmp_path / "state"):
        refused(action)
    assert (tmp_path / "state").read_text() == "hello"


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    saved = save(tmp_path, plain_scan())
    assert content(StateStore(tmp_path).load()) == content(saved)


RUN_FILES = ("run", "tables", "files", "columns", "edges", "ruled_out", "family_edges", "problems")


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "garbage", "other"])
@pytest.mark.parametrize("name", RUN_FILES)
def test_a_damaged_run_is_told_and_not_half_read(name: str, damage: str, tmp_path: Path) -> None:
    save(tmp_path, plain_scan())
    path = StateStore(tmp_path).newest / f"{name}.{'json' if name == 'run' else 'parquet'}"
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        other = (
            b'["a list"]'
            if name == "run"
            else (path.parent / ("files" if name == "tables" else "tables")).with_suffix(".parquet").read_bytes()
        )
        path.write_bytes(
            {"empty": b"", "cut": content[: len(content) // 2], "garbage": b"\xff\x00" * 99, "other": other}[damage]
        )
    for action in (StateStore(tmp_path).load, StateStore(tmp_path).load_if_any):
        assert "cannot be read" in refused(action)


@pytest.mark.parametrize("key", ["roots", "settings", "funnel", "schema_operations", "step", "dropped", "overlaps"])
@pytest.mark.parametrize("value", [None, 5, "text", [5], {"x": 1}], ids=str)
def test_a_summary_with_odd_parts_is_told_or_harmless(key: str, value: object, tmp_path: Path) -> None:
    save(tmp_path, plain_scan())
    path = StateStore(tmp_path).newest / "run.json"
    summary = json.loads(path.read_text())
    path.write_text(json.dumps(summary | {key: value}))
    try:
        StateStore(tmp_path).load()
    except StateError as error:
        assert "cannot be read" in str(error)


@pytest.mark.parametrize("name", [field.name for field in fields(ScanSettings)])
@pytest.mark.parametrize("value", [None, "7", 7.5, [5], {}], ids=str)
def test_a_scan_that_does_not_say_what_shaped_it_is_refused(name: str, value: object, tmp_path: Path) -> None:
    save(tmp_path, plain_scan())
    path = StateStore(tmp_path).newest / "run.json"
    summary = json.loads(path.read_text())
    stored = {key: kept for key, kept in summary["settings"].items() if key != name}
    if value is not None:
        stored[name] = value
    path.write_text(json.dumps(summary | {"settings": stored}))
    good = type(value) is type(vars(ScanSettings())[name])
    if good:
        assert getattr(StateStore(tmp_path).load().settings, name) == value
    else:
        assert name in refused(StateStore(tmp_path).load)


@pytest.mark.parametrize("pointer", [b"gone", b"\xff\xfe", b"a\x00b", b"../..", b"/etc"])
def test_a_pointer_to_nothing_is_told(pointer: bytes, tmp_path: Path) -> None:
    save(tmp_path, plain_scan())
    (tmp_path / "current").write_bytes(pointer)
    message = refused(StateStore(tmp_path).load)
    assert "cannot be read" in message or "damaged" in message


# ---- the key ---------------------------------------------------------------------------------------------------------


def test_the_key_is_private_stable_and_each_states_own(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        save(tmp_path / "a", plain_scan())
        save(tmp_path / "b", plain_scan())
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a" / "key").stat().st_mode) == 0o600
    key = StateStore(tmp_path / "a").key()
    assert len(key) == 32 and key != StateStore(tmp_path / "b").key()
    save(tmp_path / "a", plain_scan(mark=1))
    assert StateStore(tmp_path / "a").key() == key
    assert key.hex() not in (StateStore(tmp_path / "a").newest / "run.json").read_text()


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_folder_made_for_a_scan_that_failed_goes_again(tmp_path: Path, failure: type[BaseException]) -> None:
    with pytest.raises(failure), StateStore(tmp_path / "a" / "b").locked():
        raise failure
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_there_stays_and_so_does_what_was_in_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError), StateStore(tmp_path).locked():
        raise ValueError
    assert tmp_path.is_dir() and not list(tmp_path.iterdir())
    before = save(tmp_path, plain_scan(mark=1), keep=1)
    with pytest.raises(ValueError), StateStore(tmp_path).locked():
        raise ValueError
    assert StateStore(tmp_path).load().run == before.run


@pytest.mark.parametrize("content", [None, b"", b"no key", b"00", b"\xff"])
def test_a_key_that_cannot_be_read_is_told(content: bytes | None, tmp_path: Path) -> None:
    save(tmp_path, plain_scan())
    key = tmp_path / "key"
    key.unlink() if content is None else key.write_bytes(content)
    assert "the key of the state" in refused(StateStore(tmp_path).key)


def test_of_many_first_writers_at_once_one_sets_the_key_for_good(tmp_path: Path) -> None:
    writers = 8
    for round_ in range(60):
        store, start, over = StateStore(tmp_path / str(round_)), threading.Barrier(writers), threading.Barrier(writers)
        keys: list[tuple[bytes, bytes]] = []

        def write(store: StateStore = store, start: Any = start, over: Any = over, keys: Any = keys) -> None:
            start.wait(30)
            try:
                with store.locked():
                    first = store.key()
                    over.wait(30)
                    keys.append((first, store.key()))
            except StateError as error:
                assert "another r2d2 is writing" in str(error), error
                over.wait(30)

        threads = [threading.Thread(target=write) for _ in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(keys) == 1 and keys[0][0] == keys[0][1]


def test_a_folder_made_for_a_scan_is_removed_even_if_its_key_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in refused(lambda: StateStore(tmp_path / "new" / "state").locked().__enter__())
    assert list(tmp_path.iterdir()) == []


def modes_in(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def test_a_state_is_closed_to_others_whatever_the_umask(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    mask = os.umask(0)
    try:
        save(tmp_path / "new" / "state", plain_scan())
        save(tmp_path / "mine", plain_scan())
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new" / "state").stat().st_mode) == 0o700
    modes = modes_in(tmp_path / "mine")  # a folder that was there is left as it was: what holds values is closed itself
    (run,) = (path for path in modes if path.startswith("runs/") and path.count("/") == 1)
    assert modes["runs"] == modes[run] == 0o700 and modes["key"] == 0o600


def test_a_state_that_its_owner_has_opened_stays_open(tmp_path: Path) -> None:
    save(tmp_path / "state", plain_scan())
    for folder in (tmp_path / "state", tmp_path / "state" / "runs"):
        folder.chmod(0o750)
    save(tmp_path / "state", plain_scan())
    newest = StateStore(tmp_path / "state").newest
    for folder in (tmp_path / "state", tmp_path / "state" / "runs", newest):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o750
