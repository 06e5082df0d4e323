"""Deleting in a process of its own, broken off in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.conftest import Command
from tests.cli.test_apply import AT_ONCE, Lake, apply, plan, put, rows_of, scanned

WAIT_SECONDS = 240


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_apply_that_is_broken_off_is_undone_by_itself_or_by_the_next_command(
    r2d2: Command, spark: Any, tmp_path: Path, how: signal.Signals
) -> None:
    table = pa.table({"id": list(range(100)), "name": [f"n{number}" for number in range(100)]})
    put(table, tmp_path / "lake" / "big.parquet")
    put(table.slice(10, 30), tmp_path / "lake" / "one.parquet")
    lake: Lake = scanned(spark, tmp_path)
    before = rows_of(lake.table("one.parquet"))
    out, _ = plan(r2d2, lake)
    command = [
        sys.executable,
        "-m",
        "r2d2",
        "apply",
        str(out),
        "--yes-delete",
        "1",
        "--state",
        str(lake.state),
        *AT_ONCE,
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        wait_until_moved(lake, process)  # and are being compared
        process.send_signal(how)
        _, said = process.communicate(timeout=WAIT_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    if how == signal.SIGINT:
        assert process.returncode == 130 and "nothing is lost" in said
    standing = json.loads(r2d2("status", "--state", lake.state, "--json").out)
    if how == signal.SIGKILL:
        assert [one["did"] for one in standing["recovered"]] == ["the deletion was undone"]
    assert [one["state"] for one in standing["tables"]] == ["undone"]
    assert rows_of(lake.table("one.parquet")) == before
    assert r2d2("doctor", "--state", lake.state).code == 0


def test_where_spark_does_not_start_the_plan_is_not_used_up(r2d2: Command, spark: Any, tmp_path: Path) -> None:
    table = pa.table({"id": list(range(100))})
    put(table, tmp_path / "lake" / "big.parquet")
    put(table.slice(10, 30), tmp_path / "lake" / "one.parquet")
    lake: Lake = scanned(spark, tmp_path)
    out, _ = plan(r2d2, lake)
    command = [sys.executable, "-m", "r2d2", "apply", str(out), "--yes-delete", "1", "--state", str(lake.state)]
    done = subprocess.run([*command, *AT_ONCE, "--master", "nonsense://here"], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert json.loads(r2d2("status", "--state", lake.state, "--json").out)["tables"] == []
    assert apply(r2d2, lake, out).code == 0


def wait_until_moved(lake: Lake, process: subprocess.Popen[str]) -> None:
    quarantine = lake.path / ".r2d2-safety" / "quarantine"
    for _ in range(WAIT_SECONDS * 20):
        if quarantine.is_dir() and any(quarantine.iterdir()):
            return
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        time.sleep(0.05)
    raise AssertionError("nothing was moved")
