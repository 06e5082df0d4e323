"""Nothing that lies in the folder where a command is started is executed (HAZARDS 41)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from r2d2.lake.deadly_slices import deadly_slices
from tests.cli.conftest import write
from tests.engine.rows.test_content import write as write_table

R2D2 = Path(sys.executable).parent / "r2d2"
SMALL = ("--master", "local[2]", "--driver-memory", "1g", "--json")
IMPORTED = re.compile(rb"^\s*(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)

# posix is built in: it is there before anything can be imported, and cannot be trapped itself.
TRAP = "import posix\nposix.close(posix.open({mark!r}, posix.O_CREAT | posix.O_WRONLY))\nraise ImportError(__name__)\n"


def importable() -> set[str]:
    """The first name of every module that an installed package, r2d2 or Python may import, installed or not."""
    names = {*sys.stdlib_module_names, "sitecustomize", "usercustomize", "r2d2"}
    for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(Path("src").absolute())}:
        names |= {entry.name.partition(".")[0] for entry in Path(folder).iterdir()}
        for path in Path(folder).rglob("*.py"):
            if "tests" not in path.parts:
                names |= {name.decode() for name in IMPORTED.findall(path.read_bytes())}
    return {name for name in names if name.isidentifier()}


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a trap for every module, and a Spark of somebody else's beside it."""
    folder = tmp_path_factory.mktemp("trapped")
    work, sprung = folder / "work", folder / "sprung"
    work.mkdir()
    sprung.mkdir()
    for name in importable():
        (work / f"{name}.py").write_text(TRAP.format(mark=str(sprung / name)))
    script = f"#!/bin/sh\ntouch {sprung / 'spark-submit'}\nexit 1\n"
    for home in (folder, work):
        (home / "bin").mkdir()
        (home / "jars").mkdir()
        for command in ("spark-submit", "spark-class", "java", "python3"):
            (home / "bin" / command).write_text(script)
            (home / "bin" / command).chmod(0o755)
    return work


def sprung(trapped: Path) -> list[str]:
    return sorted(path.name for path in (trapped.parent / "sprung").iterdir())


def r2d2(folder: Path, *arguments: object) -> None:
    """Run a command in a folder; it works, and leaves nothing there but its state."""
    before = set(folder.iterdir())
    done = subprocess.run([R2D2, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr + str(sprung(folder))
    assert {path.name for path in set(folder.iterdir()) - before} <= {".r2d2", "plan.json"}


def test_there_is_a_trap_for_every_module_that_a_scan_imports(trapped: Path, spark: object) -> None:
    loaded = {name.partition(".")[0] for name, module in sys.modules.items() if getattr(module, "__spec__", None)}
    never_looked_for = {"tests", "benchmarks", "conftest", "__main__", "__mp_main__", "_cyutility"}
    traps = {path.stem for path in trapped.glob("*.py")}
    assert {"numpy", "pyarrow", "pyspark", "polars", "json", "r2d2", "sitecustomize"} <= traps
    assert {name for name in loaded if name.isidentifier()} <= traps | never_looked_for


@pytest.mark.spark
def test_no_command_executes_a_file_of_the_working_folder(trapped: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    write(lake / "sales" / "part-0.parquet", id=[1, 2, 3], name=["a", "b", None])
    write(lake / "copy.parquet", id=[3, 1], name=[None, "a"])
    for path in lake.rglob("*.parquet"):
        os.utime(path, (1_500_000_000, 1_500_000_000))  # old enough to go
    r2d2(trapped, "scan", lake, *SMALL)
    write(lake / "new.parquet", id=[2], name=["b"])
    r2d2(trapped, "update", *SMALL)
    r2d2(trapped, "find", lake / "new.parquet", *SMALL)
    r2d2(trapped, "plan", "--out", "plan.json", *SMALL)
    assert sprung(trapped) == []


def test_a_child_process_executes_no_file_of_the_working_folder(
    trapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_table(tmp_path, "good", range(3))
    monkeypatch.chdir(trapped)
    monkeypatch.setattr(sys, "path", ["", *sys.path, str(trapped)])
    assert deadly_slices([table.slices[0]], timeout_seconds=20) == {}
    assert sprung(trapped) == []


def test_a_working_folder_that_was_removed_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    state = tmp_path / "state"
    script = f'cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && exec "{R2D2}" edges --state "{state}"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "r2d2: the working folder has been removed\nHint: change to a folder that is there\n"
