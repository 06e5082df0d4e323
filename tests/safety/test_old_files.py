"""Plans and journals that an older version wrote are refused by every command, before anything is touched.

The files in `old/` were made by the version before: a plan (version 1), the journal of its apply and drill (format 1),
the table in quarantine and its parent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from r2d2.model.rebuild import Content
from r2d2.safety.doctor import BAD, doctor
from r2d2.safety.errors import JournalDamaged, Refused
from r2d2.safety.locked_lake import hold, posix_files, read_registry
from r2d2.safety.paths import JOURNAL, QUARANTINE
from r2d2.safety.plan import VERSION, Entry, Plan, read_plan, recipe_digest, seal, write_plan
from r2d2.safety.snapshots import see_table

OLD = Path(__file__).parent / "old"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The lake as the older version left it: `some` is in quarantine and drilled."""
    root = tmp_path / "lake"
    records = [json.loads(line)["record"] for line in (OLD / "journal.jsonl").read_text().splitlines()]
    assert [record["kind"] for record in records] == ["Opened", "PlanStarted", "MoveIntended", "Committed", "Drilled"]
    put(root / JOURNAL, OLD / "journal.jsonl")
    put(root / QUARANTINE / records[2]["slot"] / "part-0.parquet", OLD / "some.parquet")
    put(root / "all" / "part-0.parquet", OLD / "all.parquet")
    return root


def put(path: Path, source: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source.read_bytes())


def all_of(root: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(root.rglob("*"))}


def r2d2(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "r2d2", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "400"}, timeout=120)


def plan_for(lake: Path, tmp_path: Path) -> Path:
    """A plan of this version for what is left in the lake."""
    put(lake / "copy" / "part-0.parquet", OLD / "all.parquet")
    with posix_files(str(lake)) as files:
        child, parent = (see_table(files, name, name) for name in ("copy", "all"))
    entries = (Entry(child, (parent,), {}, recipe_digest({}), Content(40, 40, "x")),)
    plan = seal(Plan(VERSION, "new", "2026-11-18T00:00:00+00:00", os.path.realpath(lake), 2, 2000, entries, ""))
    write_plan(plan, str(tmp_path / "new.json"))
    return tmp_path / "new.json"


def test_an_old_plan_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"of version 1, and .* uses plans of version 2") as refused:
        read_plan(str(OLD / "plan.json"))
    assert refused.value.hint == "make a new plan"
    for more in (("--dry-run",), ("--yes-delete", "1")):
        done = r2d2("apply", OLD / "plan.json", "--state", tmp_path, *more)
        assert done.returncode == 2 and "make a new plan" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_old_journal_stops_every_command_and_nothing_is_touched(lake: Path, tmp_path: Path) -> None:
    plan = plan_for(lake, tmp_path)
    before, here = all_of(lake), ("--lake", lake)
    for command in (
        ("apply", plan, "--yes-delete", "1", "--quiet-period", "0"),
        ("apply", plan, "--dry-run"),
        ("restore", "--all", *here),
        ("restore", "some", "--to", tmp_path / "elsewhere", *here),
        ("purge", "--retention", "0", *here),
        ("drill", *here),
        ("forget", "some", "--yes-forget", "1", "--approved-by", "Ann", *here),
        ("status", *here),
        ("doctor", *here),
    ):
        done = r2d2(*command)
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode != 0 and "of format 1, and this version of R2D2 uses format 2" in said, (command, said)
        assert "--dry-run" in command or "restore every table with the version that wrote it" in said, (command, said)
        assert "Traceback" not in said and all_of(lake) == before, command


def test_an_old_journal_is_no_damaged_one(lake: Path) -> None:
    with posix_files(str(lake)) as files:
        for reading in (read_registry, lambda files: hold(files).__enter__()):
            with pytest.raises(JournalDamaged, match="is of format 1"):
                reading(files)
        (finding,) = doctor(files)
    assert (finding.severity, finding.what) == (BAD, "journal") and "version that wrote it" in finding.hint
