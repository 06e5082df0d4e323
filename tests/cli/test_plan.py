"""`r2d2 plan`: what may go, what that saves, and why the rest stays, in words, in JSON and as a curve."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import HOSTILE, Command, Scanned, write

pytestmark = pytest.mark.spark


def plan(r2d2: Command, scanned: Scanned, *more: str) -> Any:
    done = r2d2("plan", "--state", scanned.state, "--min-age", "0", "--json", *more)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_the_extract_goes_and_a_condition_brings_it_back(r2d2: Command, scanned: Scanned) -> None:
    found = plan(r2d2, scanned)
    line = next(line for line in found["deletions"] if line["table"] == "extract.parquet")
    assert line["parent"] in ("sales", "half")  # both hold it
    assert (line["recipe"], line["rows"]) == ("predicate", 10)
    assert "WHERE" in line["sql"] and line["risk"] == "medium"
    assert found["proven_optimal"] and found["saved"] == pytest.approx(sum(d["saved"] for d in found["deletions"]))


def test_one_of_equal_tables_stays(r2d2: Command, scanned: Scanned) -> None:
    equal = {f"{name}.parquet" for name in HOSTILE}
    gone = {line["table"] for line in plan(r2d2, scanned)["deletions"]}
    assert len(equal - gone) == 1


def test_nothing_goes_that_something_deleted_is_rebuilt_from(r2d2: Command, scanned: Scanned) -> None:
    lines = plan(r2d2, scanned)["deletions"]
    assert not {line["table"] for line in lines} & {line["parent"] for line in lines}


def test_each_kept_table_says_why(r2d2: Command, scanned: Scanned) -> None:
    found = plan(r2d2, scanned, "--protect", "extract*")
    because = "it is protected"
    assert {"table": "extract.parquet", "because": because, "reasons": [because]} in found["kept"]
    young = r2d2("plan", "--state", scanned.state, "--json")
    assert not json.loads(young.out)["deletions"]
    assert "days ago" in json.loads(young.out)["kept"][0]["because"]


def on_a_terminal(columns: int, *arguments: object) -> str:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "r2d2", *map(str, arguments)]
    with subprocess.Popen(command, stdout=theirs, env=os.environ | {"COLUMNS": str(columns)}):
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 65536):
                said += more
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    return said.decode()


@pytest.mark.parametrize(("columns", "all_of_it"), [(100, False), (160, True)])
def test_a_narrow_terminal_shows_fewer_columns(r2d2: Command, scanned: Scanned, columns: int, all_of_it: bool) -> None:
    assert r2d2("plan", "--state", scanned.state, "--min-age", "0").code == 0  # the recipes are known from here on
    said = on_a_terminal(columns, "plan", "--state", scanned.state, "--min-age", "0", "--quiet")
    assert ("about 10 s" in said, "shown from 140 columns on" in said) == (all_of_it, not all_of_it)
    assert "saved a month" in said and "risk" in said


def test_people_read_a_table_and_a_sum(r2d2: Command, scanned: Scanned) -> None:
    done = r2d2("plan", "--state", scanned.state, "--min-age", "0")
    assert done.code == 0
    assert "What may go" in done.out and "saved" in done.out and "Azure Data Lake" in done.out
    assert "\x1b[31m" not in done.out


def test_the_curve_covers_a_year(r2d2: Command, scanned: Scanned) -> None:
    points = plan(r2d2, scanned, "--curve")
    assert {point["months"] for point in points} == set(range(1, 13))
    shown = r2d2("plan", "--state", scanned.state, "--min-age", "0", "--curve")
    assert "5 privacy requests a week" in shown.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--prices", "ibm"), "there are no prices 'ibm'"),
        (("--access", "log.txt"), "cannot tell what kind of log"),
        (("--horizon", "0"), "--horizon must be"),
        (("--latency", "-1"), "--latency must be"),
    ],
)
def test_what_the_user_can_fix_is_said_in_a_sentence(
    r2d2: Command, scanned: Scanned, arguments: tuple[str, ...], says: str
) -> None:
    done = r2d2("plan", "--state", scanned.state, *arguments)
    assert done.code == 2 and says in done.err and "Traceback" not in done.err


def log_of(folder: Path, *names: str) -> Path:
    lines = "".join(f"{name},2026-01-{1 + n % 28:02}T00:00:00Z\n" for n, name in enumerate(names))
    (folder / "log.csv").write_text("table,time\n" + lines)
    return folder / "log.csv"


def test_the_share_of_the_log_that_matched_is_printed(r2d2: Command, scanned: Scanned, tmp_path: Path) -> None:
    log = log_of(tmp_path, "sales", "half/part-0.parquet", "elsewhere")
    found = plan(r2d2, scanned, "--access", str(log))
    expected = {"file": str(log), "lines": 3, "matched": 2, "not_scanned": 0, "unknown": ["elsewhere"]}
    assert found["access"] == expected | {"share": pytest.approx(2 / 3)}
    shown = r2d2("plan", "--state", scanned.state, "--min-age", "0", "--access", log)
    assert f"Access log {log}: 2 of 3 lines (66.7%) on tables of this lake" in shown.out
    assert f"1 name in {log} is no table of this lake, such as elsewhere" in shown.out
    assert plan(r2d2, scanned)["access"] is None


def test_a_log_in_another_naming_is_refused(r2d2: Command, scanned: Scanned, tmp_path: Path) -> None:
    log = log_of(tmp_path, "main.sales", "main.half", "main.extract", "main.late")
    done = r2d2("plan", "--state", scanned.state, "--min-age", "0", "--access", log)
    assert done.code == 2 and "'main.sales', 'main.half', 'main.extract'" in done.err
    assert "--access-names" in done.err and not done.out
    (tmp_path / "names.csv").write_text("name,table\nmain.sales,sales\nmain.half,half\nmain.extract,extract.parquet\n")
    found = plan(r2d2, scanned, "--access", str(log), "--access-names", str(tmp_path / "names.csv"))
    assert found["access"]["matched"] == 3 and found["access"]["unknown"] == ["main.late"]


def test_the_preferred_of_many_equal_tables_stays_though_others_were_tried_first(
    r2d2: Command, spark: Any, tmp_path: Path
) -> None:
    for name in ("a", "b", "c", "d", "e", "f", "z/gold"):
        write(tmp_path / "lake" / f"{name}.parquet", x=list(range(50)))
    write(tmp_path / "lake" / "part.parquet", x=list(range(5, 15)))
    here = Scanned(tmp_path / "lake", tmp_path / "state")
    assert r2d2("scan", here.lake, "--state", here.state).code == 0
    for preferred in ("z/gold.parquet", "e.parquet"):  # the second time recipes are known, but not from this one
        lines = plan(r2d2, here, "--prefer", preferred)["deletions"]
        assert {line["parent"] for line in lines} == {preferred} and len(lines) == 7
        equal = {line["table"]: line["equal_kept"] for line in lines}
        assert equal["part.parquet"] is None
        because = f"{preferred} matches --prefer, a.parquet does not"
        assert equal["a.parquet"] == {"table": preferred, "rule": "prefer", "because": because}
    shown = r2d2("plan", "--state", here.state, "--min-age", "0", "--prefer", "z")
    assert "Equal tables" in shown.out and "prefer: z/gold.parquet matches --prefer" in shown.out
    (line, *_) = plan(r2d2, here)["deletions"]
    assert line["equal_kept"]["rule"] == "alphabet" and line["parent"] == "a.parquet"


def test_the_figures_are_those_of_the_plan_that_was_written(r2d2: Command, spark: Any, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path / "lake" / f"{name}.parquet", x=list(range(50)))
    (tmp_path / "lake" / ".b.parquet.crc").write_bytes(b"a checksum")
    here = Scanned(tmp_path / "lake", tmp_path / "state")
    r2d2("scan", here.lake, "--state", here.state)
    found = plan(r2d2, here, "--out", str(tmp_path / "plan"))
    assert [line["table"] for line in found["left_out"]] == ["b.parquet"]
    assert [line["table"] for line in found["deletions"]] == ["c.parquet"]
    assert found["tables"] == found["plan"]["tables"] == 1 and found["bytes"] == found["plan"]["bytes"]
    shown = r2d2("plan", "--state", here.state, "--min-age", "0", "--out", tmp_path / "plan2")
    assert "1 of 3 tables may go" in shown.out and "1 more would pay and is left out, see below" in shown.out
    assert f"Plan written to {tmp_path / 'plan2'}: 1 table," in shown.out


def test_young_tables_are_counted_in_one_line_and_listed_if_asked(r2d2: Command, scanned: Scanned) -> None:
    short, full = (r2d2("plan", "--state", scanned.state, *more).out for more in ((), ("--verbose",)))
    assert "days ago" not in short and "extract.parquet" not in short
    assert "18 contained tables held back by --min-age 7 days; --verbose lists them" in short
    assert full.count("days ago") == 18 and "held back" not in full


@pytest.mark.parametrize(
    ("option", "file", "content", "says"),
    [
        ("--prices", "p.toml", 'name = "x"\nstorage_per_gib_month = "much"\n', "lacks"),
        ("--prices", "p.toml", "name = = 1\n", "line 1"),
        ("--access", "l.csv", "table,time\nsales,2026-01-01T00:00:00Z\nsales,soon\n", "line 3 of"),
        ("--latencies", "t.csv", "parent,child,seconds\na,b,soon\n", "line 2 of"),
    ],
)
def test_a_bad_file_is_told_before_spark_starts(
    scanned: Scanned, tmp_path: Path, option: str, file: str, content: str, says: str
) -> None:
    """In a process of its own, where Java cannot be found and recipes are not known yet."""
    from shutil import copytree, ignore_patterns

    copytree(scanned.state, tmp_path / "state", ignore=ignore_patterns("recipes"))
    (tmp_path / file).write_text(content)
    (tmp_path / "no-java").mkdir()
    command = [sys.executable, "-m", "r2d2", "plan", "--state", str(tmp_path / "state"), option, str(tmp_path / file)]
    without_java = os.environ | {"JAVA_HOME": str(tmp_path / "no-java"), "PATH": str(tmp_path / "no-java")}
    done = subprocess.run(command, capture_output=True, text=True, env=without_java, check=False)
    assert done.returncode == 2 and says in done.stderr and file in done.stderr
    assert "ava" not in done.stderr and "Traceback" not in done.stderr
