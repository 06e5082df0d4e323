"""One small lake, scanned once, for all tests of what the commands print; and the command line, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.cli.main import cli, run

HOSTILE = (
    "=HYPERLINK(1)",
    "+cmd",
    "-dash",
    "@sum",
    "\x1b[31mred",
    "a\tb",
    "\tlead",
    "a\nb",
    "\r=1+1",
    "a\rb",
    "[red]x[bold]",
    "[",
    ":heart:",
    "ü ⊆ 表",
    "q\"u'o,t;e",
    "<img src=x onerror=alert(1)>",
    "\u202egnp",
)


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def r2d2(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command as the program does."""

    def call(*arguments: str | Path) -> Done:
        capsys.readouterr()
        code = run(lambda: cli.main(args=[str(a) for a in arguments], prog_name="r2d2", standalone_mode=False))
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return call


def write(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def write_lake(lake: Path) -> None:
    ids = list(range(100))
    names = [f"name {number}" for number in ids]
    write(lake / "sales" / "part-0.parquet", id=ids[:50], name=names[:50])
    write(lake / "sales" / "part-1.parquet", id=ids[50:], name=names[50:])
    write(lake / "extract.parquet", id=ids[10:20], name=names[10:20])
    write(lake / "late.parquet", id=[50, 200], name=["name 50", "name 200"])
    write(lake / "almost.parquet", id=ids[10:20], name=["name 9", *names[11:20]])
    write(lake / "weather" / "rain.parquet", day=["monday"], rain=[0.5])
    (lake / "half").mkdir()
    os.link(lake / "sales" / "part-0.parquet", lake / "half" / "part-0.parquet")
    for name in HOSTILE:
        write(lake / f"{name}.parquet", **{"c\x1b[2J": [1, 2], "=x": ["a", "b"]})


@dataclass(frozen=True)
class Scanned:
    """A lake and the state that a scan of it left."""

    lake: Path
    state: Path


@pytest.fixture(scope="session")
def scanned(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Scanned:
    from r2d2.app.scan import scan_lake
    from r2d2.app.workspace import Workspace
    from r2d2.settings import Settings

    folder = tmp_path_factory.mktemp("cli")
    write_lake(folder / "lake")
    scan_lake(Workspace(Settings(state=str(folder / "state")), spark=spark), [str(folder / "lake")])
    return Scanned(folder / "lake", folder / "state")
