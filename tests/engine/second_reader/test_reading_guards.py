"""Each guard of reading earns its place: with it the harm does not happen, without it it does.

These are the guards outside `r2d2.safety`, with real Spark. A scenario returns whether the harm happened.
docs/safety.md lists every guard with its hazard and its test.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.app.recipe_jobs import infer_recipes
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.engine.second_reader import read as read_exactly
from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.errors import R2D2Error
from r2d2.model.recipe import Recipe
from r2d2.safety.errors import Busy
from r2d2.settings import Settings
from tests.engine.second_reader.test_rebuilder import Put, output, put, whole

Scenario = Callable[[Any, Path], bool]


def session_with(spark: Any, **settings: str) -> SparkRebuilder:
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(f"spark.sql.{name.replace('__', '.')}", value)
    return SparkRebuilder(lambda: session)


def is_measured(rebuilder: SparkRebuilder, table: Put) -> bool:
    with suppress(R2D2Error):
        rebuilder.measure(table)
        return True
    return False


def a_table_whose_name_is_a_pattern(spark: Any, folder: Path) -> bool:
    """Is the table t[1] taken for its neighbour t1, which has as many rows?"""
    odd = put(folder / "t[1]", pa.table({"a": [1, 2, 3]}))
    neighbour = put(folder / "t1", pa.table({"a": [4, 5, 6]}))
    rebuilder = SparkRebuilder(lambda: spark)
    with suppress(R2D2Error):
        return rebuilder.measure(odd) == rebuilder.measure(neighbour)
    return False


def a_file_that_spark_skips(spark: Any, folder: Path) -> bool:
    """Nothing is pinned here, and the session passes over what is damaged: are the other rows taken for all?"""
    table = put(folder / "t", pa.table({"a": list(range(5000))}), files=2)
    damaged = Path(table.path) / table.files[0]
    damaged.write_bytes(damaged.read_bytes()[:4] + bytes(4000) + damaged.read_bytes()[4004:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_exactly, "_PINNED", {})
        return is_measured(session_with(spark, files__ignoreCorruptFiles="true"), table)


def a_session_that_reads_dates_otherwise(spark: Any, folder: Path) -> bool:
    """Does a setting of the session change the rows?"""
    table = put(folder / "t", pa.table({"a": [date(1000, 1, 1)]}))
    odd = session_with(spark, parquet__datetimeRebaseModeInRead="LEGACY")
    return odd.measure(table) != SparkRebuilder(lambda: spark).measure(table)


def a_session_that_moves_old_timestamps(spark: Any, folder: Path) -> bool:
    table = put(folder / "t", pa.table({"a": pa.array([0], pa.timestamp("us"))}), use_deprecated_int96_timestamps=True)
    return is_measured(session_with(spark, parquet__int96TimestampConversion="true"), table)


def files_of_two_types(spark: Any, folder: Path) -> bool:
    """Is a table accepted whose files would come back in other types?"""
    table = put(folder / "t", pa.table({"a": pa.array([1], pa.int32())}))
    pq.write_table(pa.table({"a": pa.array([2], pa.int64())}), Path(table.path) / "other.parquet")
    return is_measured(SparkRebuilder(lambda: spark), Put(table.path, (*table.files, "other.parquet")))


def is_accepted(spark: Any, recipe: Recipe, parent: Put, child: Put, **types: str) -> bool:
    with suppress(R2D2Error):
        rebuilder = SparkRebuilder(lambda: spark)
        rebuilder.instructions(recipe, parent=parent, child=child, parent_types={}, child_types=types)
        return True
    return False


def a_folder_called_001(spark: Any, folder: Path) -> bool:
    """Is a table accepted whose folder n=001 would come back as n=1?"""
    parent = put(folder / "parent", pa.table({"a": [1], "n": [1]}))
    (folder / "child" / "n=001").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), folder / "child" / "n=001" / "f")
    child = Put(str(folder / "child"), ("n=001/f",))
    return is_accepted(spark, Recipe((output(("a",)), output(("n",)))), parent, child, n="int64")


def a_type_that_does_not_come_back(spark: Any, folder: Path) -> bool:
    """Is a table accepted whose type cannot be written again?"""
    table = pa.table({"a": pa.array([1], pa.timestamp("ns"))})
    parent, child = put(folder / "parent", table), put(folder / "child", table)
    with pytest.MonkeyPatch.context() as patch:  # as if Spark wrote nanoseconds as microseconds
        patch.setattr("r2d2.engine.second_reader.write._writer", _writing_microseconds)
        return is_accepted(spark, whole(table), parent, child)


def _writing_microseconds(target: Any, form: Any) -> Any:
    return pq.ParquetWriter(target, form.schema, coerce_timestamps="us", allow_truncated_timestamps=True)


def nanoseconds_that_spark_does_not_show(spark: Any, folder: Path) -> bool:
    table = pa.table({"a": pa.array([1], pa.timestamp("ns"))})
    options = {"use_deprecated_int96_timestamps": True}
    return is_accepted(spark, whole(table), put(folder / "p", table, **options), put(folder / "c", table, **options))


def equal_values_of_another_type(spark: Any, folder: Path) -> bool:
    """Is a child of 32-bit numbers said to be what the recipe makes of 64-bit ones?"""
    wide, narrow = (pa.table({"a": pa.array([1, 2], kind)}) for kind in (pa.int64(), pa.int32()))
    parent, child, other = put(folder / "p", wide), put(folder / "c", wide), put(folder / "o", narrow)
    rebuilder = SparkRebuilder(lambda: spark)
    steps = rebuilder.instructions(whole(wide), parent=parent, child=child, parent_types={}, child_types={})
    return not rebuilder.verify(recipe=steps, parent=parent, child=other).differs


def a_sample_taken_for_a_proof(spark: Any, folder: Path) -> bool:
    """Does an edge that nobody proved get a recipe, which is what it takes to get into a plan?"""
    (folder / "lake").mkdir()
    for name, rows in (("all", 50), ("some", 9)):
        pq.write_table(pa.table({"a": list(range(rows))}), folder / "lake" / f"{name}.parquet")
    settings = Settings(state=str(folder / "state"), verify=False)
    scan = scan_lake(Workspace(settings, spark=spark), [str(folder / "lake")])
    found = infer_recipes(Workspace(settings, spark=spark), scan, only=[("all.parquet", "some.parquet")])
    return any(isinstance(one, Recipe) for one in found.values())


def two_commands_at_once(spark: Any, folder: Path) -> bool:
    from r2d2.safety.posix import PosixFiles

    one, other = PosixFiles(str(folder)), PosixFiles(str(folder))
    try:
        with one.lock("lock", "one"), other.lock("lock", "other"):
            return True
    except Busy:
        return False
    finally:
        one.close()
        other.close()


def _always(*given: Any, **named: Any) -> bool:
    return True


def _nothing_wrong(*given: Any, **named: Any) -> str:
    return ""


def _nothing(*given: Any, **named: Any) -> None:
    return None


# By the name of the guard: where it is, what it is when it is switched off, and the scenario.
GUARDS: dict[str, tuple[str, Any, Scenario]] = {
    "_escaped": ("r2d2.engine.second_reader.read", lambda path: path, a_table_whose_name_is_a_pattern),
    "refuse_other_count": ("r2d2.engine.second_reader.rebuilder", _nothing, a_file_that_spark_skips),
    "_PINNED": ("r2d2.engine.second_reader.read", {}, a_session_that_reads_dates_otherwise),
    "refuse_settings": ("r2d2.engine.second_reader.read", _nothing, a_session_that_moves_old_timestamps),
    "refuse_two_types": ("r2d2.engine.second_reader.shape", _nothing, files_of_two_types),
    "refuse_other_spelling": ("r2d2.engine.second_reader.rebuilder", _nothing, a_folder_called_001),
    "refuse_inexact_form": ("r2d2.engine.second_reader.rebuilder", _nothing, a_type_that_does_not_come_back),
    "hidden_nanoseconds": (
        "r2d2.engine.second_reader.rebuilder",
        lambda work: iter(()),
        nanoseconds_that_spark_does_not_show,
    ),
    "_other_schema": ("r2d2.engine.second_reader.rebuilder", _nothing_wrong, equal_values_of_another_type),
    "_not_proven": ("r2d2.steps.infer_recipes", _nothing_wrong, a_sample_taken_for_a_proof),
    "_try_lock": ("r2d2.safety.posix", _always, two_commands_at_once),
}


@pytest.mark.parametrize("guard", GUARDS)
def test_with_the_guard_the_harm_does_not_happen(spark: Any, tmp_path: Path, guard: str) -> None:
    assert not GUARDS[guard][2](spark, tmp_path)


@pytest.mark.parametrize("guard", GUARDS)
def test_without_the_guard_it_does(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str) -> None:
    where, instead, scenario = GUARDS[guard]
    monkeypatch.setattr(import_module(where), guard, instead)
    assert scenario(spark, tmp_path)


def test_every_guard_is_in_the_docs_with_its_test() -> None:
    page = (Path(__file__).parents[3] / "docs" / "safety.md").read_text()
    section = page.partition("### Guards of reading")[2]
    listed = dict(re.findall(r"^\| `(\w+)` \|.*\| `(\w+)` \|$", section, flags=re.MULTILINE))
    assert listed == {guard: scenario.__name__ for guard, (_, _, scenario) in GUARDS.items()}


def test_every_hazard_that_can_lose_data_has_a_guard_that_was_switched_off() -> None:
    """Numbers 1 to 24 of the hazards; 22 and 23 are also a matter of syncs, which tests/safety/test_power_loss.py forgets."""
    page = (Path(__file__).parents[3] / "docs" / "safety.md").read_text()
    section = page.partition("## Guards of safe deletion")[2]
    numbers: set[int] = set()
    for named in re.findall(r"^\| `\w+` \| ([\d, –]+) \|", section, flags=re.MULTILINE):
        for part in named.split(","):
            first, _, last = part.strip().partition("–")
            numbers.update(range(int(first), int(last or first) + 1))
    assert numbers >= set(range(1, 25)), sorted(set(range(1, 25)) - numbers)
