"""A Java process that is killed between two questions is nobody's fault: each says so in one sentence, and logs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.engine.spark.session import open_session
from r2d2.model.rebuild import Compare, Rebuild, Verify
from r2d2.model.recipe import OutputColumn, Recipe, SortKey
from r2d2.model.schema import Column
from r2d2.settings import Settings
from tests.engine.second_reader.test_rebuilder import put
from tests.support.cluster import processes_of

ROOT = Path(__file__).parents[3]


@pytest.mark.spark
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_every_question_says_that_java_has_ended(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.spark.test_java_killed", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        start_new_session=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 8
    for line in lines:
        assert line.endswith("EngineEnded: Spark's Java process ended before its work was done"), line


def ask(folder: Path) -> None:
    """Kill Java after some instructions were made; then print what each question to the rebuilder comes to."""
    table = pa.table({"k": [3, 1, 2]})
    parent, child = put(folder / "parent", table), put(folder / "child", table)
    columns = (OutputColumn(Column(("k",), "int64"), ("k",)),)
    recipe, once = Recipe(columns, order=(SortKey(("k",)),)), Recipe(columns, distinct=True)
    with open_session(Settings(driver_memory="1g", master="local[1]"), works=True) as spark:

        def instructions(recipe: Recipe) -> object:
            return rebuilder.instructions(recipe, parent=parent, child=child, parent_types={}, child_types={})

        rebuilder = SparkRebuilder(lambda: spark)
        steps: dict = instructions(recipe)  # type: ignore[type-arg, assignment]
        rebuilder = SparkRebuilder(lambda: spark)
        for number, words in processes_of(os.getpid()).items():
            if "org.apache.spark.deploy.SparkSubmit" in words:
                os.kill(number, signal.SIGKILL)
        into = str(folder / "into")
        questions = {
            "instructions": lambda: instructions(recipe),
            "instructions for rows once": lambda: instructions(once),
            "verify": lambda: rebuilder.verify(recipe=steps, parent=parent, child=child),
            "verify_many": lambda: rebuilder.verify_many([Verify(steps, (parent,), child)] * 2),
            "measure_many": lambda: rebuilder.measure_many([parent, child]),
            "compare_many": lambda: rebuilder.compare_many([Compare(parent, child)] * 2),
            "rebuild": lambda: rebuilder.rebuild(recipe=steps, parent=parent, into=into, one_file=True),
            "rebuild_many": lambda: rebuilder.rebuild_many([Rebuild(steps, (parent,), into, True)] * 2),
        }
        for name, question in questions.items():
            try:
                print(name, question())
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error.args[0] if error.args else ''}")


if __name__ == "__main__":
    ask(Path(sys.argv[1]))
