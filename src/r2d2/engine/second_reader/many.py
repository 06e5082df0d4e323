"""Compare or rebuild any number of small tables in a handful of Spark jobs.

Tables of one schema form one *part*: one frame that reads all their files. Each row knows its file and its place in
it. From these follow the pairs that it belongs to: all pairs of its file, those whose predicate keeps it, and those
that list it. The rest is the same for all parts, so that they share the jobs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from r2d2.engine.second_reader.canonical_text import row_text
from r2d2.engine.second_reader.instructions import Instructions
from r2d2.engine.second_reader.read import FILE, ROW, Read, read_together, spark_errors
from r2d2.engine.second_reader.recipe import keep_where, make_columns
from r2d2.engine.second_reader.shape import Shape
from r2d2.engine.second_reader.sort_keys import sort_keys
from r2d2.engine.second_reader.tally import BYTES_PER_TASK, Tally, tally_by_pair
from r2d2.engine.second_reader.types import Node
from r2d2.engine.spark.ship_code import ship
from r2d2.errors import TableError
from r2d2.model.counted import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

SOURCES_PER_PART = 64  # each row is matched with its source among them
FILES_PER_TASK = 200
_PAIRS = "array<int>"


@dataclass(frozen=True, slots=True)
class Pair:
    """A table on disk, and a source whose rows, or a recipe's output from them, should be equal to it."""

    there: Shape | None = None
    source: Shape | None = None
    given: Instructions | None = None  # None: the rows of the source as they are
    into: str = ""  # the folder for the output, if it is written

    @property
    def size_bytes(self) -> int:
        """Bytes to read."""
        return sum(shape.size_bytes for shape in (self.there, self.source) if shape is not None)


def can_share(pair: Pair) -> bool:
    """Whether the tables of a pair can be read with others: partitioned tables are read one by one."""
    shapes = [shape for shape in (pair.there, pair.source) if shape is not None]
    if any(shape.partitions or any(name.lower() == "_metadata" for name, _ in shape.nodes) for shape in shapes):
        return False
    return pair.given is None or not pair.given.form.partitions


@dataclass(slots=True)
class Part:
    """Tables of one schema that are read as one frame."""

    number: int
    made: bool  # by recipes, or by the other table of a pair
    members: list[tuple[int, Shape, Instructions | None]] = field(default_factory=list)

    @property
    def given(self) -> Instructions | None:
        """Instructions for its rows; equal for all members, except for the selection of rows."""
        return self.members[0][2]


def tally_pairs(spark: SparkSession, pairs: Sequence[Pair]) -> list[Tally]:
    """Compare each pair; TableError if any file was not read to its end."""
    from pyspark.sql import functions as F

    parts = parts_of(pairs)
    with spark_errors():
        frames = []
        names = _Names()
        for part in parts:
            read, columns, kept = _open(spark, part, names)
            one = (F.lit(int(part.made)).cast("bigint"), F.lit(int(not part.made)).cast("bigint"))
            distinct = part.given is not None and part.given.recipe.distinct
            frames.append(
                read.frame.select(
                    *_place(part, kept), row_text(columns).alias("text"),
                    one[0].alias("made"), one[1].alias("there"), F.lit(distinct).alias("distinct"),
                )
            )  # fmt: skip
        tasks = _tasks(pairs)
        rows = names.told(spark, reduce(lambda one, other: one.unionAll(other), frames).coalesce(tasks), counted=True)
        texts = F.when(F.col("pair") >= 0, F.col("text")).alias("text")
        rows = _spread(rows.select("pair", texts, "made", "there", "distinct"), tasks)
        tallies = tally_by_pair(spark, rows, sum(pair.size_bytes for pair in pairs))
    for number, stated in enumerate(names.rows):
        tally = tallies.get(-1 - number)
        read_rows = tally.read_made + tally.read_there if tally else 0
        if read_rows != stated:
            raise TableError(f"Spark read {counted(read_rows, 'rows')} of a file whose footer states {stated:,}")
    return [tallies.get(number, Tally.nothing()) for number in range(len(pairs))]


def made_rows(spark: SparkSession, pairs: Sequence[Pair]) -> tuple[DataFrame, list[Part]]:
    """The output of all recipes: the pair, the part's number, and the row, in the column g0, g1 … of its part.

    Rows of a pair are together, in the order of its recipe, or else in the parent's order.
    """
    from pyspark.sql import functions as F

    parts = [part for part in parts_of(pairs) if part.made]
    with spark_errors():
        frames, names = [], _Names()
        for part in parts:
            read, columns, kept = _open(spark, part, names)
            row = F.struct(*(column.alias(f"o{place}") for place, (column, _) in enumerate(columns)))
            frames.append(read.frame.select(*_place(part, kept), row.alias(f"g{part.number}")))
        rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
        content = [f"g{part.number}" for part in parts]
        tasks = _tasks(pairs)
        told = names.told(spark, rows.coalesce(tasks), counted=False).select("pair", "part", "file", ROW, *content)
        keys = [key for part in parts for key in _part_keys(part)]  # NULL in the rows of all other parts
        ordered = _spread(told, tasks).sortWithinPartitions("pair", *keys, "file", ROW)
        return ordered.select("pair", "part", *content), parts


def _part_keys(part: Part) -> list[Column]:
    from pyspark.sql import functions as F

    row = F.col(f"g{part.number}")
    return sort_keys(part.given, lambda place: row.getField(f"o{place}")) if part.given is not None else []


def parts_of(pairs: Sequence[Pair]) -> list[Part]:
    """The tables of all pairs, grouped into frames."""
    found: dict[tuple[object, int], Part] = {}
    sources: defaultdict[object, dict[str, int]] = defaultdict(dict)
    for number, pair in enumerate(pairs):
        for made, shape, given in ((False, pair.there, None), (True, pair.source, pair.given)):
            if shape is not None:
                like = made, shape.nodes, _manner(given)
                place = sources[like].setdefault(shape.files[0].path, len(sources[like])) if given else 0
                part = found.setdefault((like, place // SOURCES_PER_PART), Part(len(found), made))
                part.members.append((number, shape, given))
    return list(found.values())


def _manner(given: Instructions | None) -> object:
    """The parts of the instructions that define columns and order; the selection of rows differs by pair."""
    recipe = given and given.recipe
    return given and recipe and (recipe.columns, recipe.distinct, recipe.order, given.form.nodes, given.fold_case)


def _open(spark: SparkSession, part: Part, names: _Names) -> tuple[Read, Sequence[tuple[Column, Node]], Column]:
    """Read a part and note its files; return the frame, its columns, and the pairs that keep a row by predicate."""
    given, shape = part.given, part.members[0][1]
    paths = {file.path: file for _, other, _ in part.members for file in other.files}
    files = dict(sorted(paths.items()))  # numbered in order of their paths
    only = None
    if given is not None:
        only = {name for _, other, how in part.members if how is not None for name in how.columns_read(other)}
    read, listed = read_together(spark, replace(shape, files=tuple(files.values())), only=only)
    name_of = dict(zip(files, listed, strict=True))
    names.note(part, name_of)
    if given is None:
        return read, read.row, _kept([])
    columns, _ = make_columns(given.recipe, read, given.form, fold_case=given.fold_case)
    return read, columns, _kept(list(_by_predicate(part, read, name_of)))


def _by_predicate(part: Part, read: Read, name_of: Mapping[str, str]) -> Iterator[tuple[list[str], list[Column]]]:
    """Groups of files with the same pairs, and for each pair a column: its number if its predicate holds, else NULL.

    Each file is in exactly one group, whichever pairs share it: a parent that grew has some files in more pairs.
    """
    from pyspark.sql import functions as F

    numbers: dict[int, Column] = {}
    pairs_of: defaultdict[str, list[int]] = defaultdict(list)
    for number, shape, given in part.members:
        if given is not None and given.recipe.where is not None:
            numbers[number] = F.when(keep_where(given.recipe.where, read, given.fold_case), F.lit(number))
            for file in shape.files:
                pairs_of[name_of[file.path]].append(number)
    groups: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, pairs in pairs_of.items():
        groups[tuple(pairs)].append(name)
    for pairs_of_files, files in groups.items():
        yield files, [numbers[pair] for pair in pairs_of_files]


def _kept(groups: list[tuple[list[str], list[Column]]]) -> Column:
    from pyspark.sql import functions as F

    nobody = F.lit(None).cast(_PAIRS)
    if not groups:
        return nobody
    (files, pairs), *others = groups
    chain = F.when(F.col(FILE).isin(files), F.array_compact(F.array(*pairs)))
    for files, pairs in others:
        chain = chain.when(F.col(FILE).isin(files), F.array_compact(F.array(*pairs)))
    return chain.otherwise(nobody)


def _place(part: Part, kept: Column) -> list[Column]:
    from pyspark.sql import functions as F

    return [F.lit(part.number).alias("part"), F.col(FILE), F.col(ROW), kept.alias("kept")]


def _spread(rows: DataFrame, tasks: int) -> DataFrame:
    """Bring the rows of a pair together, so that later steps need not shuffle them again."""
    return rows if tasks == 1 else rows.repartition(tasks, "pair")


def _tasks(pairs: Sequence[Pair]) -> int:
    """Number of tasks; few, since each task unpacks the whole plan with all predicates."""
    shapes = [shape for pair in pairs for shape in (pair.there, pair.source) if shape is not None]
    files = {file.path for shape in shapes for file in shape.files}
    return 1 + len(files) // FILES_PER_TASK + sum(pair.size_bytes for pair in pairs) // BYTES_PER_TASK


class _Names:
    """Numbers of all files of all parts, and the pairs that their rows belong to."""

    def __init__(self) -> None:
        self.rows: list[int] = []  # by file, as its footer states
        self._files: list[tuple[int, str, int, list[int]]] = []
        self._lists: list[tuple[int, list[int], list[bytearray]]] = []

    def note(self, part: Part, name_of: Mapping[str, str]) -> None:
        """Add the files of a part."""
        everybody: defaultdict[str, list[int]] = defaultdict(list)
        listed: defaultdict[str, list[tuple[int, bytes]]] = defaultdict(list)
        rows: dict[str, int] = {}
        for pair, shape, given in part.members:
            rows.update({file.path: file.rows for file in shape.files})
            if given is None or (given.recipe.where is None and given.recipe.rows is None):
                for file in shape.files:
                    everybody[file.path].append(pair)
            elif given.recipe.rows is not None:
                for path, bitmap in rows_listed(given, shape):
                    listed[path].append((pair, bitmap))
        for path, name in name_of.items():
            if listed[path]:
                pairs, bitmaps = zip(*listed[path], strict=True)
                self._lists.append((len(self.rows), list(pairs), [bytearray(bitmap) for bitmap in bitmaps]))
            self._files.append((part.number, name, len(self.rows), everybody[path]))
            self.rows.append(rows[path])

    def told(self, spark: SparkSession, rows: DataFrame, *, counted: bool) -> DataFrame:
        """Repeat each row for every pair it belongs to; if *counted*, once more as pair -1 - file, to count files."""
        from pyspark.sql import functions as F

        files = spark.createDataFrame(self._files, f"part int, {FILE} string, file int, everybody {_PAIRS}")
        rows = rows.join(F.broadcast(files), ["part", FILE], "left")
        stray = F.raise_error(F.lit("Spark names a file differently in its rows and in its listing")).cast("int")
        rows = rows.withColumn("file", F.coalesce(F.col("file"), stray))
        belongs = [F.col("everybody"), F.col("kept")]
        if self._lists:
            lists = spark.createDataFrame(self._lists, f"file int, pairs {_PAIRS}, bitmaps array<binary>")
            chosen = lists.mapInArrow(ship(spark, expand_lists), f"chosen_file int, chosen_row bigint, chosen {_PAIRS}")
            here = (F.col("file") == F.col("chosen_file")) & (F.col(ROW) == F.col("chosen_row"))
            rows = rows.join(F.broadcast(chosen), here, "left")
            belongs.append(F.col("chosen"))
        nobody = F.array().cast(_PAIRS)
        known = [F.coalesce(pairs, nobody) for pairs in belongs]
        itself = [F.array((-1 - F.col("file")).cast("int"))] if counted else []
        return rows.withColumn("pair", F.explode(F.concat(*itself, *known)))


def rows_listed(given: Instructions, shape: Shape) -> list[tuple[str, bytes]]:
    """The files whose rows a recipe lists, each with its bitmap."""
    paths = {file.below: file.path for file in shape.files}
    for chosen in given.recipe.rows or ():
        if chosen.path not in paths:
            raise TableError(f"the recipe lists rows of {chosen.path!r}, which is not a file of the parent")
    return [(paths[chosen.path], chosen.bitmap) for chosen in given.recipe.rows or ()]


def expand_lists(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Task: for each file the listed rows, each once, with all pairs that list it."""

    import numpy as np
    import pyarrow as pa
    from pyroaring import BitMap

    for batch in batches:
        for file, pairs, bitmaps in zip(*(batch.column(place).to_pylist() for place in range(3)), strict=True):
            lists = [np.asarray(BitMap.deserialize(bitmap).to_array(), dtype=np.int64) for bitmap in bitmaps]
            rows = np.concatenate(lists)
            whose = np.repeat(np.array(pairs, dtype=np.int32), [len(one) for one in lists])
            order = np.argsort(rows, kind="stable")
            distinct, first = np.unique(rows[order], return_index=True)
            offsets = pa.array(np.append(first, len(rows)), pa.int32())
            yield pa.record_batch(
                {
                    "chosen_file": pa.array(np.full(len(distinct), file, dtype=np.int32)),
                    "chosen_row": pa.array(distinct, pa.int64()),
                    "chosen": pa.ListArray.from_arrays(offsets, pa.array(whose[order], pa.int32())),
                }
            )
