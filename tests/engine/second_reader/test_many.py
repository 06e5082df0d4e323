"""Many tables in a few jobs give the answers that each alone gives."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from r2d2.engine.second_reader import many as many_tables
from r2d2.engine.second_reader import share as share_jobs
from r2d2.engine.second_reader.instructions import Instructions
from r2d2.engine.second_reader.many import Pair, expand_lists, parts_of
from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.engine.second_reader.shape import shape_of
from r2d2.errors import TableError
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare, Not, OneOf
from r2d2.model.recipe import ChosenRows, Recipe
from tests.engine.second_reader.test_rebuilder import Put, everything, output, put, tokens, whole


@dataclass(frozen=True)
class Asked:
    """What the rebuilder is asked, with what it takes to ask it the other way."""

    recipe: Any
    parent: Put
    child: Put
    into: str = ""
    one_file: bool = True

    @property
    def parents(self) -> tuple[Put, ...]:
        return (self.parent,)


@dataclass(frozen=True)
class Two:
    rebuilt: Put
    child: Put


@pytest.fixture(scope="module")
def rebuilder(spark: Any) -> SparkRebuilder:
    return SparkRebuilder(lambda: spark)


def jobs(spark: Any) -> int:
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def chosen(name: str, rows: Iterable[int]) -> ChosenRows:
    bitmap = BitMap(rows)
    return ChosenRows(name, len(bitmap), bitmap.serialize())


def asked(rebuilder: SparkRebuilder, recipe: Recipe, parent: Put, child: Put, into: Path) -> Asked:
    into.mkdir(parents=True)
    steps = rebuilder.instructions(recipe, parent=parent, child=child, parent_types={}, child_types={})
    return Asked(steps, parent, child, str(into))


def family(rebuilder: SparkRebuilder, folder: Path, number: int) -> list[Asked]:
    """A parent with every kind of recipe, and for each a child that it makes and one that it does not make."""
    chance, size = random.Random(number), 12
    values = [chance.choice([None, 0.0, -0.0, float("nan"), 1.5, float(number)]) for _ in range(size)]
    table = pa.table({"id": list(range(size)), "x": values, "s": [{"a": n % 3, "b": [str(n)]} for n in range(size)]})
    parent = put(folder / f"parent {number}%20[é]", table, files=2)
    columns = tuple(output(token) for token in tokens(table.schema))
    some = sorted(chance.sample(range(size), 4))
    lists = (
        chosen("part 0.parquet", [n for n in some if n < 6]),
        chosen("part 1.parquet", [n - 6 for n in some if n >= 6]),
    )
    few = OneOf(("id",), tuple(Literal("int", n) for n in some))
    first = Compare(("id",), "<", Literal("int", 5))
    kinds = {
        "whole": (Recipe(columns), table),
        "where": (Recipe(columns, where=few), table.take(some)),
        "not": (Recipe(columns, where=Not(first)), table.slice(5)),
        "listed": (Recipe(columns, rows=lists), table.take(some)),
        "narrow": (Recipe((output(("x",)), output(("id",))), where=few), table.select(["x", "id"]).take(some)),
        "wrong": (Recipe(columns, where=few), table.take([*some, some[0]])),
        "short": (Recipe(columns, rows=lists), table.take(some[1:])),
        "none": (Recipe(columns, where=Compare(("id",), "<", Literal("int", -1))), table.slice(0, 0)),
        "distinct": (Recipe((output(("s", "a")),), distinct=True), pa.table({"s": [{"a": 0}, {"a": 1}, {"a": 2}]})),
    }
    return [
        asked(rebuilder, recipe, parent, put(folder / f"{kind} {number}", child), folder / f"into-{number}-{kind}")
        for kind, (recipe, child) in kinds.items()
    ]


def alone(rebuilder: SparkRebuilder, one: Asked) -> Any:
    return rebuilder.verify(recipe=one.recipe, parent=one.parent, child=one.child)


def test_a_parent_that_grew_between_two_plans_rebuilds_the_children_of_both(
    rebuilder: SparkRebuilder, tmp_path: Path
) -> None:
    table = pa.table({"id": list(range(12))})
    grown = put(tmp_path / "parent", table, files=3)
    before = Put(grown.path, grown.files[:1])
    recipe = Recipe((output(("id",)),), where=Compare(("id",), ">=", Literal("int", 2)))
    children = [put(tmp_path / "first", table.slice(2, 2)), put(tmp_path / "second", table.slice(2))]
    several = [
        asked(rebuilder, recipe, parent, child, tmp_path / f"into {number}")
        for number, (parent, child) in enumerate(zip([before, grown], children, strict=True))
    ]
    for order in (several, several[::-1]):
        assert [one.differs for one in rebuilder.verify_many(order)] == ["", ""]
        assert [one.content.rows for one in rebuilder.verify_many(order)] == [len_of(one.child) for one in order]
    written = rebuilder.rebuild_many(several)
    rebuilt = [Put(one.into, files) for one, files in zip(several, written, strict=True)]
    assert rebuilder.measure_many(rebuilt) == rebuilder.measure_many(children)


def len_of(table: Put) -> int:
    return sum(pq.read_metadata(Path(table.path, name)).num_rows for name in table.files)


def test_many_tables_get_the_answers_that_each_alone_gets(
    rebuilder: SparkRebuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = [one for number in range(2) for one in family(rebuilder, tmp_path, number)]
    expected = [alone(rebuilder, one) for one in several]
    assert sum(bool(one.differs) for one in expected) == 4  # two of each family
    failed: list[Any] = []
    halved = share_jobs._halved
    monkeypatch.setattr(share_jobs, "_halved", lambda *given: failed.append(len(given[0])) or halved(*given))
    assert rebuilder.verify_many(several) == expected
    right = [one for one, compared in zip(several, expected, strict=True) if not compared.differs]
    written = rebuilder.rebuild_many(right)
    rebuilt = [Put(one.into, files) for one, files in zip(right, written, strict=True)]
    assert all(len(one.files) == len(os.listdir(one.path)) == 1 for one in rebuilt)
    measured = rebuilder.measure_many([one.child for one in right])
    assert rebuilder.measure_many(rebuilt) == measured == [rebuilder.measure(one.child) for one in right]
    assert rebuilder.measure_many(rebuilt) == [one.content for one in expected if not one.differs]
    pairs = [Two(one, other.child) for one, other in zip(rebuilt, right, strict=True)]
    assert rebuilder.compare_many(pairs) == [rebuilder.compare(rebuilt=p.rebuilt, child=p.child) for p in pairs]
    crossed = [Two(pairs[0].rebuilt, pairs[1].child), Two(pairs[1].rebuilt, pairs[0].child)]
    assert all(one.differs for one in rebuilder.compare_many(crossed))  # type: ignore[union-attr]
    assert len(failed) == 7, failed  # each question was one bundle, and none had to be halved


def test_every_type_is_read_and_written_together(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    table = everything()
    halves = [table.slice(0, 5), table.slice(5)]
    several = []
    for number, half in enumerate(halves):
        parent, child = put(tmp_path / f"p{number}", half), put(tmp_path / f"c{number}", half.take([0, 1, 2]))
        columns = whole(half).columns
        recipe = Recipe(columns, rows=(chosen("part 0.parquet", [0, 1, 2]),))
        several.append(asked(rebuilder, recipe, parent, child, tmp_path / f"i{number}"))
    assert rebuilder.verify_many(several) == [alone(rebuilder, one) for one in several]
    written = rebuilder.rebuild_many(several)
    pairs = [Two(Put(one.into, files), one.child) for one, files in zip(several, written, strict=True)]
    assert [one.differs for one in rebuilder.compare_many(pairs)] == ["", ""]  # type: ignore[union-attr]


def test_many_tables_are_read_over_spark_connect_with_the_same_answers(
    rebuilder: SparkRebuilder, remote: str, tmp_path: Path
) -> None:
    from r2d2.engine.spark.session import open_session
    from r2d2.settings import Settings

    several = family(rebuilder, tmp_path, 0)[:5]
    here = rebuilder.verify_many(several)
    with open_session(Settings(remote=remote)) as session:
        shapes, spark = share_jobs.Shapes(), session
        pairs = [
            Pair(shapes.of(one.child), shapes.of(one.parent), Instructions.parse(one.recipe), one.into)
            for one in several
        ]
        there = SparkRebuilder(lambda: spark)
        found = [content for _, content in there._tallied(pairs)]  # in shared jobs: asked alone, each would do, too
        written = there._rebuilt(pairs)
    assert found == [one.content for one in here]  # type: ignore[union-attr]
    rebuilt = [Put(one.into, files) for one, files in zip(several, written, strict=True)]
    assert rebuilder.measure_many(rebuilt) == found


@pytest.mark.parametrize("name", ["[1]", "*", "%20", "{a,b}", "a\\b", "?", "a#b", " x ", "a\nb", "表", "a=b", "\"'`"])
def test_whatever_a_table_is_called_its_rows_are_its_own(rebuilder: SparkRebuilder, tmp_path: Path, name: str) -> None:
    table = put(tmp_path / name, pa.table({"a": [1, 2, 3]}), files=2)
    other = put(tmp_path / "1", pa.table({"a": [4, 5, 6, 7]}))
    shapes = [shape_of(one.path, one.files) for one in (table, other)]
    tallies = many_tables.tally_pairs(rebuilder._session(), [Pair(there=shape) for shape in shapes])
    assert [one.read_there for one in tallies] == [3, 4]


def damaged(path: str) -> None:
    """Other bytes in the first page; the footer stays whole."""
    with open(path, "r+b") as file:
        file.seek(4)
        file.write(b"\xff" * 30)


def test_a_damaged_table_fails_alone(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    several = [put(tmp_path / f"t{number}", pa.table({"n": [number, None]})) for number in range(9)]
    damaged(f"{several[4].path}/part 0.parquet")
    os.truncate(f"{several[7].path}/part 0.parquet", 10)
    answers = rebuilder.measure_many(several)
    assert [number for number, one in enumerate(answers) if isinstance(one, TableError)] == [4, 7]
    assert answers[0] == rebuilder.measure(several[0])


def test_a_file_that_was_not_read_to_its_end_is_refused(
    rebuilder: SparkRebuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names in the listing and in the rows differ: then rows are nobody's, and no table may seem smaller."""
    several = [put(tmp_path / f"t{number}", pa.table({"n": [number, None]})) for number in range(3)]
    whole_answers = rebuilder.measure_many(several)
    monkeypatch.setattr("r2d2.engine.second_reader.read._plain_name", lambda uri: uri + "x")
    shapes = [shape_of(table.path, table.files) for table in several]
    with pytest.raises(TableError, match="names a file differently"):
        many_tables.tally_pairs(rebuilder._session(), [Pair(there=shape) for shape in shapes])
    assert rebuilder.measure_many(several) == whole_answers  # each was asked alone


def test_what_is_partitioned_or_large_goes_alone(
    rebuilder: SparkRebuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in (1, 2):
        (tmp_path / "parted" / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"n": [day]}), tmp_path / "parted" / f"day={day}" / "a.parquet")
    parted = Put(str(tmp_path / "parted"), ("day=1/a.parquet", "day=2/a.parquet"))
    hiding = put(tmp_path / "hiding", pa.table({"_metadata": [1]}))
    plain = [put(tmp_path / f"t{number}", pa.table({"n": [number]})) for number in range(2)]
    shared: list[int] = []
    tally = many_tables.tally_pairs
    monkeypatch.setattr(
        "r2d2.engine.second_reader.rebuilder.tally_pairs",
        lambda spark, pairs: shared.append(len(pairs)) or tally(spark, pairs),
    )
    tables = [plain[0], parted, hiding, plain[1]]
    assert rebuilder.measure_many(tables) == [rebuilder.measure(table) for table in tables]
    assert shared == [2]
    monkeypatch.setattr(share_jobs, "BYTES_ALONE", 0)
    assert rebuilder.measure_many(plain) == [rebuilder.measure(table) for table in plain]
    assert shared == [2]


def test_forty_tables_take_as_many_jobs_as_ten(rebuilder: SparkRebuilder, spark: Any, tmp_path: Path) -> None:
    taken = []
    for number in (10, 40):
        several = []
        for place in range(number):
            table = pa.table({"id": list(range(8)), "name": [f"{place} {n}" for n in range(8)]})
            parent = put(tmp_path / f"{number}" / f"parent{place}", table)
            columns = tuple(output(token) for token in tokens(table.schema))[: 1 + place % 2]
            recipe = Recipe(columns, where=Compare(("id",), "<", Literal("int", place % 8)))
            child = table.select(table.column_names[: 1 + place % 2]).slice(0, place % 8)
            put_there = put(tmp_path / f"{number}" / f"child{place}", child)
            several.append(asked(rebuilder, recipe, parent, put_there, tmp_path / f"{number}" / f"into{place}"))
        counts = [jobs(spark)]
        assert all(not one.differs for one in rebuilder.verify_many(several))  # type: ignore[union-attr]
        counts.append(jobs(spark))
        written = rebuilder.rebuild_many(several)
        counts.append(jobs(spark))
        rebuilt = [Put(one.into, files) for one, files in zip(several, written, strict=True)]
        assert not any(isinstance(one, TableError) for one in rebuilder.measure_many(rebuilt))
        counts.append(jobs(spark))
        pairs = [Two(one, other.child) for one, other in zip(rebuilt, several, strict=True)]
        assert all(not one.differs for one in rebuilder.compare_many(pairs))  # type: ignore[union-attr]
        counts.append(jobs(spark))
        taken.append([after - before for before, after in pairwise(counts)])
    assert taken[0] == taken[1]
    assert max(taken[0]) <= 3


def test_rows_that_several_list_are_told_once_with_all_of_them() -> None:
    lists = {3: [0, 5, 9], 4: [5], 7: [9, 5, 70_000]}
    bitmaps = [BitMap(rows).serialize() for rows in lists.values()]
    batch = pa.record_batch(
        {"file": pa.array([1], pa.int32()), "pairs": pa.array([list(lists)]), "bitmaps": pa.array([bitmaps])}
    )
    (found,) = expand_lists([batch])
    told = {row["chosen_row"]: sorted(row["chosen"]) for row in found.to_pylist()}
    assert told == {row: [pair for pair in lists if row in lists[pair]] for row in (0, 5, 9, 70_000)}
    assert found.num_rows == len(told)


def test_a_part_has_so_many_sources_and_no_more(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    several, shapes = family(rebuilder, tmp_path, 0), share_jobs.Shapes()
    one = several[1]
    given, source = Instructions.parse(one.recipe), shapes.of(one.parent)
    others = [source]
    for number in range(many_tables.SOURCES_PER_PART):
        table = put(tmp_path / f"more{number}", pq.read_table(f"{one.parent.path}/part 0.parquet"))
        others.append(shape_of(table.path, table.files))
    pairs = [Pair(source=shape, given=given) for shape in others for _ in range(2)]
    parts = parts_of(pairs)
    assert [len({shape.files[0].path for _, shape, _ in part.members}) for part in parts] == [64, 1]
    assert sorted(number for part in parts for number, _, _ in part.members) == list(range(len(pairs)))
