"""Our code reaches workers that do not have it, and is the driver's whatever else they have."""

from __future__ import annotations

import json
import os
import subprocess
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

from r2d2.engine.spark.ship_code import SHIPPED, packed_source, ship, with_code
from r2d2.lake.read_metadata import read_bundle
from tests.test_architecture import SOURCE, imports, modules

LOAD_AND_CALL = (
    "import json, pickle, sys; print(*map(json.dumps, pickle.load(open(sys.argv[1], 'rb'))(eval(sys.argv[2]))))"
)


def run_in(python: str, folder: Path, code: str, *arguments: object, path: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHONPATH": path}
    command = [python, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def bundle(tmp_path: Path) -> list[Any]:
    pq.write_table(pa.table({"x": [1, 2, None], "s": ["a", "b", "c"]}), tmp_path / "t.parquet")
    return [{"kind": "metadata", "table": 0, "format": "parquet", "paths": [str(tmp_path / "t.parquet")]}]


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", ["lacks r2d2", "has another r2d2", "has loaded another r2d2"])
def test_a_task_runs_where_our_code_is_not(elsewhere: str, bare_python: str, bundle: list[Any], tmp_path: Path) -> None:
    task = partial(read_bundle, timeout_seconds=30)
    (tmp_path / "task").write_bytes(cloudpickle.dumps(with_code(task)))
    other = tmp_path / "other"
    (other / "r2d2" / "lake").mkdir(parents=True)
    for name in ("__init__.py", "lake/__init__.py", "lake/read_metadata.py"):
        (other / "r2d2" / name).write_text("OTHER = True\n")
    before = "import r2d2.lake.read_metadata; " if elsewhere == "has loaded another r2d2" else ""
    path = "" if elsewhere == "lacks r2d2" else str(other)
    out = run_in(bare_python, tmp_path, before + LOAD_AND_CALL, tmp_path / "task", repr(bundle), path=path)
    assert [json.loads(out)] == list(task(bundle))


def test_without_it_a_task_does_not(bare_python: str, bundle: list[Any], tmp_path: Path) -> None:
    (tmp_path / "task").write_bytes(cloudpickle.dumps(partial(read_bundle, timeout_seconds=30)))
    with pytest.raises(AssertionError, match="No module named 'r2d2'"):
        run_in(bare_python, tmp_path, LOAD_AND_CALL, tmp_path / "task", repr(bundle))


def test_a_worker_that_serves_two_versions_runs_each_with_its_own_code(bare_python: str, tmp_path: Path) -> None:
    code = """
import json, pickle, sys, zlib
install = pickle.load(open(sys.argv[1], "rb"))
def version(number):
    install(number, zlib.compress(json.dumps({"r2d2": [True, ""], "r2d2.x": [False, f"number = {number}"]}).encode()))
    from r2d2.x import number
    return number
print([version(number) for number in ("1", "2", "2", "1")])
"""
    from r2d2.engine.spark import ship_code

    cloudpickle.register_pickle_by_value(ship_code)
    (tmp_path / "install").write_bytes(cloudpickle.dumps(ship_code.install))
    assert run_in(bare_python, tmp_path, code, tmp_path / "install").strip() == "[1, 2, 2, 1]"


def test_archives_on_a_workers_path_are_not_read_again_at_every_task(bare_python: str, tmp_path: Path) -> None:
    code = """
import importlib, json, os, pickle, sys, zipfile, zlib
with zipfile.ZipFile("lib.zip", "w") as archive:
    archive.writestr("inside.py", "there = True")
sys.path.insert(0, os.path.abspath("lib.zip"))
import inside
pickle.load(open(sys.argv[1], "rb"))("1", zlib.compress(json.dumps({"r2d2": [True, ""]}).encode()))
with zipfile.ZipFile("lib.zip", "a") as archive:
    archive.writestr("later.py", "there = True")
importlib.invalidate_caches()
forgets_cheaply = sys.version_info >= (3, 13)
print(forgets_cheaply or sys.path_importer_cache[os.path.abspath("lib.zip")].find_spec("later") is None)
"""
    from r2d2.engine.spark import ship_code

    cloudpickle.register_pickle_by_value(ship_code)
    (tmp_path / "install").write_bytes(cloudpickle.dumps(ship_code.install))
    assert run_in(bare_python, tmp_path, code, tmp_path / "install").strip() == "True"


# The package itself imports the public functions only when somebody asks for them.
ONLY_FOR_THE_DRIVER = {"r2d2", "r2d2.engine.spark.session"}


def test_what_travels_imports_nothing_else_of_ours() -> None:
    names = shipped_names()
    for path in modules():
        name = ".".join(("r2d2", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        if name in names - ONLY_FOR_THE_DRIVER:
            ours = {other for other in imports(path) if other.startswith("r2d2.")} - {"r2d2.__version__"}
            assert ours <= names, f"{name} imports what does not travel"


def test_little_travels() -> None:
    assert {name.split(".")[1] for name in shipped_names() - {"r2d2"}} == set(SHIPPED)


def shipped_names() -> set[str]:
    return set(json.loads(zlib.decompress(packed_source()[1])))


def test_on_this_machine_nothing_has_to_travel(spark: Any) -> None:
    assert ship(spark, len) is len
