"""Measuring, comparing and rebuilding by values, against plain Python on nasty tables."""

from __future__ import annotations

import datetime
import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.second_reader.read import spark_errors
from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.engine.second_reader.shape import shape_of
from r2d2.errors import TableError
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare, IsNull, Not
from r2d2.model.recipe import ChosenRows, OutputColumn, Recipe
from r2d2.model.schema import Column
from r2d2.synthetic.oracle.canonical import canonical_values
from tests.support.random_tables import VALUES

UTC = datetime.UTC
EXTRA: dict[pa.DataType, list[Any]] = {
    pa.uint8(): [0, 255],
    pa.uint32(): [0, 2**32 - 1],
    pa.timestamp("ns"): [0, 1, -1, 10**18 + 7],
    pa.timestamp("ns", "UTC"): [0, 1],
    pa.timestamp("ms"): [0, -1, 10**12],
    pa.timestamp("ms", "UTC"): [0, -1],
    pa.timestamp("us", "Europe/Paris"): [0, -1],
    pa.time32("ms"): [0, 1],
    pa.time64("us"): [0, 1],
    pa.time64("ns"): [0, 1],
    pa.duration("us"): [0, -5],
    pa.null(): [None],
    pa.binary(2): [b"ab", b"\x00\xff"],
    pa.date64(): [datetime.date(1970, 1, 2)],
    pa.dictionary(pa.int32(), pa.string()): ["a", "b", ""],
    pa.map_(pa.string(), pa.float64()): [[("a", -0.0), ("b", math.nan)], [("b", math.nan), ("a", -0.0)], [("a", 0.0)], []],
    pa.list_(pa.struct([("x", pa.uint64()), ("y", pa.list_(pa.float32()))])): [
        [{"x": 2**64 - 1, "y": [-0.0]}],
        [{"x": 2**64 - 1, "y": [0.0]}],
        [{"x": None, "y": None}],
        [],
    ],
    pa.struct([("a.b", pa.struct([("c`d", pa.int32())])), ("m", pa.map_(pa.int32(), pa.string()))]): [
        {"a.b": {"c`d": 1}, "m": [(1, "x"), (2, None)]},
        {"a.b": {"c`d": 1}, "m": [(2, None), (1, "x")]},
        {"a.b": None, "m": []},
    ],
    pa.decimal128(7, 7): [Decimal("0.0000001"), Decimal("0E-7"), Decimal("-0.1234567")],
}  # fmt: skip


@dataclass(frozen=True)
class Put:
    path: str
    files: tuple[str, ...]


@pytest.fixture(scope="module")
def rebuilder(spark: Any) -> SparkRebuilder:
    return SparkRebuilder(lambda: spark)


def put(folder: Path, table: pa.Table, files: int = 1, **how: Any) -> Put:
    """Write a table as some files."""
    folder.mkdir(parents=True)
    step = -(-table.num_rows // files) or 1
    names = []
    for number in range(files):
        names.append(f"part {number}.parquet")
        pq.write_table(table.slice(number * step, step), folder / names[-1], **how)
    return Put(str(folder), tuple(names))


def rows_of(table: pa.Table) -> Counter[Any]:
    columns = [canonical_values(table.column(name).combine_chunks()) for name in table.column_names]
    return Counter(zip(*columns, strict=True)) if columns else Counter()


def same_schema(one: Put, other: Put) -> bool:
    return shape_of(one.path, one.files).signature == shape_of(other.path, other.files).signature


def everything() -> pa.Table:
    """A table of every type, with NULLs and copies."""
    columns = {}
    for number, (kind, values) in enumerate({**VALUES, **EXTRA}.items()):
        some = [values[place % len(values)] for place in range(6)]
        columns[f"c{number} {str(kind)[:9]}"] = pa.array([*some, None, some[0], None], kind)
    return pa.table(columns)


def whole(table: pa.Table, *, where: Any = None, distinct: bool = False) -> Recipe:
    """A recipe that takes each column as it is; the types in it are for people."""
    return Recipe(tuple(output(token) for token in tokens(table.schema)), where=where, distinct=distinct)


def output(token: tuple[str, ...], type_name: str = "int64") -> OutputColumn:
    return OutputColumn(Column(token, type_name), token)


def tokens(fields: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from tokens(field.type, (*above, field.name))
        else:
            yield (*above, field.name)


ALL = VALUES | EXTRA


@st.composite
def nearly_equal(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    """A table of any types, and one that is the same in another order, lacks a row, has one twice, or is another."""
    kinds = draw(st.lists(st.sampled_from(list(ALL)), min_size=1, max_size=5))
    table, fresh = draw(some_rows(kinds)), draw(some_rows(kinds))
    places = list(draw(st.permutations(range(table.num_rows))))
    change = draw(st.sampled_from(["none", "drop", "copy", "fresh"]))
    if change == "fresh" or not places:
        return table, fresh
    places = places[1:] if change == "drop" else [*places, places[0]] if change == "copy" else places
    return table, table.take(pa.array(places, pa.int64()))


@st.composite
def some_rows(draw: st.DrawFn, kinds: list[pa.DataType]) -> pa.Table:
    rows = draw(st.integers(0, 6))
    values = [draw(st.lists(st.none() | st.sampled_from(ALL[k]), min_size=rows, max_size=rows)) for k in kinds]
    arrays = [pa.array(some, kind) for some, kind in zip(values, kinds, strict=True)]
    return pa.table(dict(zip((f"c{number}" for number in range(len(kinds))), arrays, strict=True)))


@settings(max_examples=int(os.environ.get("REBUILDER_EXAMPLES", "12")))
@given(nearly_equal(), st.data())
def test_tables_are_the_same_exactly_if_python_says_so(
    rebuilder: SparkRebuilder, tmp_path_factory: pytest.TempPathFactory, both: Any, data: st.DataObject
) -> None:
    table, other = both
    folder = tmp_path_factory.mktemp("pair")
    order = data.draw(st.permutations(range(table.num_rows)))
    files = data.draw(st.integers(1, 3))
    one = put(folder / "one", table)
    shuffled = put(folder / "shuffled", table.take(pa.array(order, pa.int64())), files=files)
    two = put(folder / "two", other)
    rows = rows_of(table)
    measured = rebuilder.measure_many([one, shuffled, two])
    assert (measured[0].rows, measured[0].distinct_rows) == (rows.total(), len(rows))
    assert measured[0] == measured[1]
    same = same_schema(one, two) and rows == rows_of(other)
    assert (measured[0] == measured[2]) == same
    compared = rebuilder.compare(rebuilt=one, child=two)
    assert (compared.differs == "") == same
    assert compared.content == measured[0]


def test_every_type_is_measured_compared_and_rebuilt_exactly(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    table = everything()
    parent = put(tmp_path / "parent [1]* %20é", pa.concat_tables([table, table]), files=2)
    child = put(tmp_path / "child", table.slice(2, 5))
    keep = Compare(("c3 int64",), ">=", Literal("int", 0))
    made = child_of(tmp_path / "made", table, lambda row: row["c3 int64"] is not None and row["c3 int64"] >= 0, times=2)
    steps = rebuilder.instructions(whole(table, where=keep), parent=parent, child=made, parent_types={}, child_types={})
    assert rebuilder.verify(recipe=steps, parent=parent, child=made).differs == ""
    assert "rows" in rebuilder.verify(recipe=steps, parent=parent, child=child).differs
    into = tmp_path / "into"
    into.mkdir()
    written = rebuilder.rebuild(recipe=steps, parent=parent, into=str(into), one_file=False)
    rebuilt = Put(str(into), written)
    compared = rebuilder.compare(rebuilt=rebuilt, child=made)
    assert compared.differs == "" and compared.content == rebuilder.measure(made)
    assert sorted(os.listdir(into)) == sorted(written)
    assert pq.read_schema(into / written[0]).equals(
        pq.read_schema(Path(made.path) / made.files[0]), check_metadata=True
    )
    assert rows_of(pq.read_table(into / written[0])) == rows_of(pq.read_table(Path(made.path) / made.files[0]))


def child_of(folder: Path, table: pa.Table, keeps: Any, times: int = 1) -> Put:
    places = [place for place, row in enumerate(table.select(["c3 int64"]).to_pylist()) if keeps(row)]
    return put(folder, pa.concat_tables([table.take(places)] * times))


def bitmap(rows: list[int]) -> bytes:
    from pyroaring import BitMap

    return BitMap(rows).serialize()


def rebuilt_from(rebuilder: SparkRebuilder, recipe: Recipe, parent: Put, child: Put, into: Path, **types: Any) -> Put:
    """Follow a recipe, see that it gives the child, and write it."""
    given = {"parent_types": {}, "child_types": {}} | types
    steps = rebuilder.instructions(recipe, parent=parent, child=child, **given)
    compared = rebuilder.verify(recipe=steps, parent=parent, child=child)
    assert compared.differs == ""
    into.mkdir()
    rebuilt = Put(str(into), rebuilder.rebuild(recipe=steps, parent=parent, into=str(into), one_file=False))
    assert rebuilder.measure(rebuilt) == compared.content == rebuilder.measure(child)
    assert rebuilder.compare(rebuilt=rebuilt, child=child).differs == ""
    return rebuilt


def test_each_kind_of_recipe_is_followed(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    floats = [0.0, -0.0, math.nan, 0.0, None, math.nan]
    struct = pa.array([{"a": 1, "b": None}, None, {"a": None, "b": 2}, {"a": 1, "b": None}, None, None])
    table = pa.table(
        {"n": [1, 2, 3, 1, None, 3], "x": floats, "s": struct, "at": pa.array(range(6), pa.timestamp("ns"))}
    )
    parent = put(tmp_path / "parent", table, files=2)
    distinct = put(tmp_path / "distinct", table.select(["x"]).take([0, 1, 2, 4]))
    rebuilt_from(rebuilder, Recipe((output(("x",)),), distinct=True), parent, distinct, tmp_path / "a")
    listed = put(tmp_path / "listed", table.take([1, 2, 5]))
    chosen = (ChosenRows("part 0.parquet", 2, bitmap([1, 2])), ChosenRows("part 1.parquet", 1, bitmap([2])))
    columns = tuple(output(token) for token in tokens(table.schema))
    rebuilt_from(rebuilder, Recipe(columns, rows=chosen), parent, listed, tmp_path / "b")
    nulls = put(tmp_path / "nulls", table.filter(pa.compute.is_valid(table["n"])))
    rebuilt_from(rebuilder, Recipe(columns, where=Not(IsNull(("n",)))), parent, nulls, tmp_path / "c")
    late = put(tmp_path / "late", table.slice(2, 4))
    rebuilt_from(
        rebuilder, Recipe(columns, where=Compare(("at",), ">", Literal("timestamp", 1))), parent, late, tmp_path / "d"
    )
    part = pa.table(
        {"s": pa.array([{"b": None}, None, {"b": 2}, {"b": None}, None, None]), "m": table["n"].cast(pa.int16())}
    )
    renamed = put(tmp_path / "renamed", part)
    two = (output(("s", "b")), OutputColumn(Column(("m",), "int16"), ("n",)))
    rebuilt_from(rebuilder, Recipe(two), parent, renamed, tmp_path / "e")
    wrong = put(tmp_path / "wrong", part.set_column(1, "m", pa.array([1, 2, 3, 1, None, 4], pa.int16())))
    steps = rebuilder.instructions(Recipe(two), parent=parent, child=wrong, parent_types={}, child_types={})
    assert "1 row that" in rebuilder.verify(recipe=steps, parent=parent, child=wrong).differs


def test_partitions_come_back_in_their_own_folders(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    days = [datetime.date(2024, 1, 1 + n // 3) for n in range(6)]
    flat = put(
        tmp_path / "flat", pa.table({"n": list(range(6)), "day": days, "p": ["001", "", None, "a/b", "001", ""]})
    )
    folders = {"p=001": [0, 4], "p=": [1, 5], "p=__HIVE_DEFAULT_PARTITION__": [2], "p=a%2Fb": [3]}
    files = []
    for folder, rows in folders.items():
        for n in rows:
            place = tmp_path / "parts" / f"day={days[n]}" / folder
            place.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"n": [n]}), place / f"part-{n}.parquet")
            files.append(str((place / f"part-{n}.parquet").relative_to(tmp_path / "parts")))
    parts = Put(str(tmp_path / "parts"), tuple(files))
    types = {"day": "date", "p": "string"}
    recipe = Recipe(tuple(output((name,)) for name in ("n", "day", "p")))
    rebuilt = rebuilt_from(rebuilder, recipe, flat, parts, tmp_path / "a", child_types=types)
    assert {os.path.dirname(path) for path in rebuilt.files} == {os.path.dirname(path) for path in files}
    rebuilt_from(rebuilder, recipe, parts, flat, tmp_path / "b", parent_types=types)
    fewer = Put(parts.path, tuple(path for path in parts.files if "p=001" not in path))
    steps = rebuilder.instructions(recipe, parent=flat, child=fewer, parent_types={}, child_types=types)
    assert rebuilder.verify(recipe=steps, parent=flat, child=fewer).differs
    (tmp_path / "c").mkdir()
    with pytest.raises(TableError, match="partition that the table does not have"):
        rebuilder.rebuild(recipe=steps, parent=flat, into=str(tmp_path / "c"), one_file=False)


def refusal(rebuilder: SparkRebuilder, folder: Path, table: pa.Table, **types: Any) -> str:
    parent, child = put(folder / "parent", table), put(folder / "child", table)
    given = {"parent_types": {}, "child_types": {}} | types
    with pytest.raises(TableError) as refused:
        rebuilder.instructions(whole(table), parent=parent, child=child, **given)
    return str(refused.value)


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (pa.string(), ["a", "b", "a"]),
        (pa.float64(), [math.nan, 1.0, math.nan]),
        (pa.float32(), [-0.0, -1.0, 0.0]),
        (pa.list_(pa.int32()), [[1, None], [2], [1, None]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("inside", [False, True])
def test_the_entries_of_a_repeated_key_are_told_apart_by_their_order(
    rebuilder: SparkRebuilder, tmp_path: Path, kind: pa.DataType, keys: list[Any], inside: bool
) -> None:
    def placed(name: str, entries: list[Any]) -> Put:
        type_ = pa.map_(kind, pa.int32())
        column = pa.array([[entries]], pa.list_(type_)) if inside else pa.array([entries], type_)
        return put(tmp_path / name, pa.table({"m": column}))

    entries = [(key, place) for place, key in enumerate(keys)]
    first = placed("first", entries)
    last_wins = placed("last wins", entries[::-1])
    elsewhere = placed("elsewhere", [entries[1], entries[0], entries[2]])
    assert rebuilder.compare(rebuilt=first, child=elsewhere).differs == ""
    assert "1 row that" in rebuilder.compare(rebuilt=first, child=last_wins).differs
    assert rebuilder.measure(first).digest != rebuilder.measure(last_wins).digest


def test_what_cannot_come_back_exactly_is_refused_before_anything_is_done(
    rebuilder: SparkRebuilder, tmp_path: Path
) -> None:
    assert "float16" in refusal(rebuilder, tmp_path / "a", pa.table({"h": pa.array([0.5], pa.float16())}))
    wide = pa.table({"d": pa.array([Decimal(1)], pa.decimal256(60, 2))})
    assert "decimal(60,2)" in refusal(rebuilder, tmp_path / "b", wide)
    moments = pa.table({"old": pa.array([1_000, 2_001], pa.timestamp("ns"))})
    for name, rows, fits in (("fine", moments.slice(0, 1), True), ("finer", moments, False)):
        old = put(tmp_path / name, rows, use_deprecated_int96_timestamps=True)
        recipe = Recipe((output(("old",)),))
        if fits:
            rebuilt = rebuilt_from(rebuilder, recipe, old, old, tmp_path / "int96")
            leaf = pq.read_metadata(Path(rebuilt.path) / rebuilt.files[0]).schema.column(0)
            assert leaf.physical_type == "INT96"
        else:
            with pytest.raises(TableError, match="finer than Spark reads"):
                rebuilder.instructions(recipe, parent=old, child=old, parent_types={}, child_types={})
    (tmp_path / "zero" / "n=01").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "zero" / "n=01" / "part-0.parquet")
    zero = Put(str(tmp_path / "zero"), ("n=01/part-0.parquet",))
    flat = put(tmp_path / "flat", pa.table({"a": [1], "n": [1]}))
    with pytest.raises(TableError, match="another name"):
        recipe = Recipe((output(("a",)), output(("n",))))
        rebuilder.instructions(recipe, parent=flat, child=zero, parent_types={}, child_types={"n": "int64"})
    two = put(tmp_path / "two", pa.table({"a": [1]}))
    pq.write_table(pa.table({"a": ["1"]}), Path(two.path) / "other.parquet")
    with pytest.raises(TableError, match="int64 in one of its files and string in another"):
        rebuilder.measure(Put(two.path, (*two.files, "other.parquet")))


@pytest.mark.parametrize(
    "hostile",
    [
        {"spark.sql.session.timeZone": "America/Caracas", "spark.sql.ansi.enabled": "false"},
        {"spark.sql.session.timeZone": "Asia/Kathmandu", "spark.sql.ansi.enabled": "true"},
        {
            "spark.sql.caseSensitive": "false",
            "spark.sql.files.ignoreCorruptFiles": "true",
            "spark.sql.files.ignoreMissingFiles": "true",
            "spark.sql.parquet.mergeSchema": "true",
            "spark.sql.parquet.binaryAsString": "true",
            "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
            "spark.sql.parquet.enableVectorizedReader": "false",
            "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
            "spark.sql.sources.partitionColumnTypeInference.enabled": "true",
        },
        {"spark.sql.adaptive.enabled": "true", "spark.sql.codegen.wholeStage": "true"},
    ],
    ids=lambda settings: next(iter(settings.values())),
)
def test_no_setting_of_the_session_changes_an_answer(
    rebuilder: SparkRebuilder, spark: Any, tmp_path: Path, hostile: dict[str, str]
) -> None:
    table = everything()
    parent = put(tmp_path / "parent", pa.concat_tables([table, table]), files=2)
    child = put(tmp_path / "child", table.filter(pa.compute.greater_equal(table["c3 int64"], 0)))
    recipe = whole(table, where=Compare(("c3 int64",), ">=", Literal("int", 0)), distinct=False)
    steps = rebuilder.instructions(recipe, parent=parent, child=child, parent_types={}, child_types={})
    calm = rebuilder.verify(recipe=steps, parent=parent, child=child)
    assert calm.differs and calm.content == rebuilder.measure(child)  # the child has each row once
    session = spark.newSession()
    for name, value in hostile.items():
        session.conf.set(name, value)
    other = SparkRebuilder(lambda: session)
    assert other.verify(recipe=steps, parent=parent, child=child) == calm
    broken = put(tmp_path / "broken", table)
    content = bytearray((Path(broken.path) / broken.files[0]).read_bytes())
    content[4:400] = bytes(396)
    (Path(broken.path) / broken.files[0]).write_bytes(content)
    with pytest.raises(TableError):
        other.measure(broken)


def test_a_setting_that_no_read_can_pin_is_refused(spark: Any, tmp_path: Path) -> None:
    old = put(
        tmp_path / "old", pa.table({"a": pa.array([0], pa.timestamp("us"))}), use_deprecated_int96_timestamps=True
    )
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.int96TimestampConversion", "true")
    with pytest.raises(TableError, match="int96TimestampConversion"):
        SparkRebuilder(lambda: session).measure(old)


@pytest.mark.parametrize("parent_unit", ["ms", "us"])
def test_moments_are_made_of_moments_in_the_older_form_and_back(
    rebuilder: SparkRebuilder, tmp_path: Path, parent_unit: str
) -> None:
    at = pa.array([0, -1, 1_700_000_000_000, None], pa.timestamp("ms", "UTC"))
    new = put(tmp_path / "new", pa.table({"at": at.cast(pa.timestamp(parent_unit, "UTC"))}))
    old = put(tmp_path / "old", pa.table({"at": at.cast(pa.timestamp("us"))}), use_deprecated_int96_timestamps=True)
    recipe = Recipe((output(("at",)),))
    rebuilt = rebuilt_from(rebuilder, recipe, new, old, tmp_path / "int96")
    assert pq.read_metadata(Path(rebuilt.path) / rebuilt.files[0]).schema.column(0).physical_type == "INT96"
    rebuilt_from(rebuilder, recipe, old, new, tmp_path / "int64")
    clock = put(tmp_path / "clock", pa.table({"at": at.cast(pa.timestamp("us"))}))
    for parent, child in ((clock, old), (old, clock)):
        with pytest.raises(TableError, match="and Spark cannot convert"):
            rebuilder.instructions(recipe, parent=parent, child=child, parent_types={}, child_types={})


def test_columns_that_differ_in_case_only_are_told_apart_or_refused(spark: Any, tmp_path: Path) -> None:
    table = put(tmp_path / "t", pa.table({"a": [1, 2], "A": [3, 4]}))
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")
    assert SparkRebuilder(lambda: session).measure(table).rows == 2
    session.conf.set("spark.sql.caseSensitive", "false")
    with pytest.raises(TableError):
        SparkRebuilder(lambda: session).measure(table)


@pytest.mark.parametrize("name", ["[1]", "*", "%20", "{a,b}", "a\\b", "?", "a#b", " x ", "a\nb", "表", "a=b", "\"'`"])
def test_a_name_that_looks_like_a_pattern_is_a_name(rebuilder: SparkRebuilder, tmp_path: Path, name: str) -> None:
    table = put(tmp_path / name, pa.table({"a": [1, 2, 3]}), files=2)
    put(tmp_path / "1", pa.table({"a": [4, 5, 6]}))
    assert rebuilder.measure(table).rows == 3


def test_it_runs_over_spark_connect_with_the_same_answers(
    rebuilder: SparkRebuilder, remote: str, tmp_path: Path
) -> None:
    from r2d2.engine.spark.session import open_session
    from r2d2.settings import Settings

    table = everything().select([0, 5, 6, 9, 10, 16, 18, 30])
    parent = put(tmp_path / "parent", table, files=2)
    child = put(tmp_path / "child", table)
    here = rebuilder.measure(child)
    with open_session(Settings(remote=remote)) as session:
        there = SparkRebuilder(lambda: session)
        assert there.measure(child) == here
        rebuilt_from(there, whole(table), parent, child, tmp_path / "rebuilt")
    assert rebuilder.measure(child) == here  # and the other kind of session still works


def test_names_are_matched_without_case_only_if_that_was_asked_for(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    parent = put(tmp_path / "parent", pa.table({"ID": [1, 2, 3], "Name": ["a", "b", None]}))
    child = put(tmp_path / "child", pa.table({"Id": [2, 3], "name": ["b", None]}))
    recipe = Recipe((output(("id",)), output(("name",))), where=Compare(("id",), ">", Literal("int", 1)))
    rebuilt_from(rebuilder, recipe, parent, child, tmp_path / "rebuilt", fold_case=True)
    with pytest.raises(TableError):
        rebuilder.instructions(recipe, parent=parent, child=child, parent_types={}, child_types={})


def test_what_spark_stumbled_over_is_named_by_its_innermost_cause() -> None:
    from pyspark.errors import PySparkException

    said = "An error occurred while calling o136.collectToPython.\n: org.apache.spark.SparkException: Job aborted"
    cause = "\n\tat x.y(Z.java)\nCaused by: org.apache.spark.SparkException: more\nCaused by: {}\n\tat a.b(C.java:1)\n"
    inner = "org.apache.hadoop.fs.ChecksumException: Checksum error: file:/t/part-0.parquet at 512"
    for text, told in (
        (said + cause.format(inner), "(ChecksumException: Checksum error"),
        (said, "(An error occurred"),
    ):
        with pytest.raises(TableError) as caught, spark_errors():
            raise PySparkException(text)
        assert told in str(caught.value) and "\n" not in str(caught.value).partition("\nHint")[0]
