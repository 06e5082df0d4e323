"""Run a recipe on a parent in Spark, by Columns only: Spark parses no text (HAZARDS 32)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from r2d2.engine.second_reader.predicate_spark import to_spark
from r2d2.engine.second_reader.read import FILE, ROW, Read, Source, raw_text
from r2d2.engine.second_reader.types import INT96, Leaf, Node, Struct, spark_type
from r2d2.engine.second_reader.write import Form
from r2d2.engine.spark.ship_code import ship
from r2d2.errors import TableError
from r2d2.model.literal import Literal
from r2d2.model.predicate import And, Between, Compare, IsNull, Not, OneOf, Or, Predicate
from r2d2.model.recipe import Recipe
from r2d2.model.schema import Token, spell

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

MOST_BROADCAST_ROWS = 5_000_000


@dataclass(frozen=True, slots=True)
class Made:
    """Output of a recipe over all rows of a parent: the columns of the child, and a flag of the rows to keep."""

    frame: DataFrame
    columns: tuple[tuple[Column, Node], ...]  # in the order of the child's files
    partitions: tuple[Column, ...]  # as text, as in the folders' names
    keep: Column  # true or false


def follow_recipe(spark: SparkSession, recipe: Recipe, parent: Read, form: Form, *, fold_case: bool) -> Made:
    """Compute the child's columns from the parent's, each in the child's own type, and flag the rows to keep."""
    columns, partitions = make_columns(recipe, parent, form, fold_case=fold_case)
    frame, keep = _kept(spark, recipe, parent, fold_case)
    return Made(frame, columns, partitions, keep)


def make_columns(
    recipe: Recipe, parent: Read, form: Form, *, fold_case: bool
) -> tuple[tuple[tuple[Column, Node], ...], tuple[Column, ...]]:
    """The child's columns and its partition columns, computed from all rows of a parent."""
    sources = {_fold(output.column.token, fold_case): output.source for output in recipe.columns}
    maker = _Maker(parent, sources, fold_case)
    columns = tuple((maker.made((name,), node), node) for name, node in form.nodes)
    partitions = tuple(raw_text(maker.made((name,), Leaf(kind))) for name, kind in form.partitions)
    unused = sources.keys() - maker.used
    if unused:
        raise TableError(f"the recipe makes a column {spell(min(unused))} that the table does not have")
    return columns, partitions


def top_columns(recipe: Recipe) -> set[str]:
    """The names of the parent's top-level columns that the recipe reads."""
    return {token[0] for token in recipe.sources}


class _Maker:
    """Builder of the child's columns from their sources in the parent."""

    def __init__(self, parent: Read, sources: dict[Token, Token], fold_case: bool) -> None:
        self._parent = parent
        self._sources = sources
        self._fold_case = fold_case
        self.used: set[Token] = set()

    def made(self, token: Token, node: Node) -> Column:
        """The column of the child with this token."""
        key = _fold(token, self._fold_case)
        if key in self._sources:
            self.used.add(key)
            source = self._parent.source(self._sources[key], fold_case=self._fold_case)
            return converted(source, node, spell(token))
        if not isinstance(node, Struct):
            raise TableError(f"the recipe does not define column {spell(token)}")
        return self._struct(token, node)

    def _struct(self, token: Token, node: Struct) -> Column:
        """A struct built from its fields; NULL where the source struct is NULL."""
        from pyspark.sql import functions as F

        parts = [self.made((*token, name), part).alias(name) for name, part in node.fields]
        whole = F.struct(*parts)
        above = self._above(_fold(token, self._fold_case))
        if above is None:
            return whole
        return F.when(above.column.isNull(), F.lit(None).cast(spark_type(node))).otherwise(whole)

    def _above(self, token: Token) -> Source | None:
        """The parent's struct from which all fields of this one come; None if they come from several."""
        depth = len(token)
        under = {
            source[: len(source) - (len(key) - depth)] for key, source in self._sources.items() if key[:depth] == token
        }
        if len(under) != 1 or not (only := under.pop()):
            return None
        try:
            found = self._parent.source(only, fold_case=self._fold_case)
        except TableError:  # there is no such struct: its fields come from elsewhere
            return None
        return found if isinstance(found.node, Struct) else None


_CLOCKS = {Leaf("timestamp(ms)"), Leaf("timestamp(us)")}
_MOMENTS = {Leaf("timestamp(ms,UTC)"), Leaf("timestamp(us,UTC)"), INT96}


def converted(source: Source, wanted: Node, name: str) -> Column:
    """A column of the parent in the child's type. The later comparison tells whether each value survived."""
    if source.node == wanted:
        return source.column
    if _numbers(source.node) and _numbers(wanted):
        return source.column.cast(spark_type(wanted))
    if any({source.node, wanted} <= alike for alike in (_CLOCKS, _MOMENTS)):
        return source.column  # all are microseconds in Spark
    if wanted == Leaf("null"):
        from pyspark.sql import functions as F

        return F.when(source.column.isNotNull(), F.lit(1))  # a value other than NULL then shows up as a difference
    raise TableError(f"column {name} is {wanted}, and Spark cannot convert {source.node} to that exactly")


def _numbers(node: Node) -> bool:
    return isinstance(node, Leaf) and node.type.is_number and node != INT96


def _fold(token: Token, fold_case: bool) -> Token:
    return tuple(part.casefold() for part in token) if fold_case else token


def _kept(spark: SparkSession, recipe: Recipe, parent: Read, fold_case: bool) -> tuple[DataFrame, Column]:
    from pyspark.sql import functions as F

    if recipe.rows is not None:
        return _listed(spark, recipe, parent)
    if recipe.where is None:
        return parent.frame, F.lit(True)
    return parent.frame, keep_where(recipe.where, parent, fold_case)


def keep_where(predicate: Predicate, parent: Read, fold_case: bool) -> Column:
    """True for the rows of the parent that the predicate keeps, else false."""
    return to_spark(in_frame(predicate, parent, fold_case), parent.frame.schema)


def in_frame(predicate: Predicate, parent: Read, fold_case: bool) -> Predicate:
    """The predicate with the frame's column names, and constants in the frame's units."""
    match predicate:
        case And(parts):
            return And(tuple(in_frame(part, parent, fold_case) for part in parts))
        case Or(parts):
            return Or(tuple(in_frame(part, parent, fold_case) for part in parts))
        case Not(part):
            return Not(in_frame(part, parent, fold_case))
    source = parent.source(predicate.column, fold_case=fold_case)

    def literal(given: Literal) -> Literal:
        return _counted(given, source.node)

    match predicate:
        case IsNull():
            return replace(predicate, column=source.path)
        case Compare(_, operator, value):
            return Compare(source.path, operator, literal(value))
        case Between(_, low, high):
            return Between(source.path, literal(low), literal(high))
    return OneOf(source.path, tuple(map(literal, predicate.literals)))


def _counted(literal: Literal, node: Node) -> Literal:
    """Convert a literal: Spark reads nanoseconds as whole numbers, and INT96 as timestamps with zone."""
    if isinstance(node, Leaf) and node.type.family == "timestamp" and node.type.unit == "ns":
        return Literal("int", literal.value) if literal.kind == node.type.kind else literal
    if node == INT96 and literal.kind == "timestamp":
        return Literal("timestamp with zone", literal.value)
    return literal


def _listed(spark: SparkSession, recipe: Recipe, parent: Read) -> tuple[DataFrame, Column]:
    """Select listed rows, by file and row number."""
    from pyspark.sql import functions as F

    numbers = {file.below: number for number, file in enumerate(parent.shape.files)}
    rows = []
    for listed in recipe.rows or ():
        if listed.path not in numbers:
            raise TableError(f"the recipe lists rows of {listed.path!r}, which is not a file of the parent")
        rows.append((numbers[listed.path], bytearray(listed.bitmap)))
    bitmaps = spark.createDataFrame(rows, "file int, bitmap binary")
    chosen = bitmaps.mapInArrow(ship(spark, expand_bitmaps), "r2d2_chosen_file int, r2d2_chosen_row bigint")
    if sum(listed.rows for listed in recipe.rows or ()) <= MOST_BROADCAST_ROWS:
        chosen = F.broadcast(chosen)
    here = (F.col(FILE) == F.col("r2d2_chosen_file")) & (F.col(ROW) == F.col("r2d2_chosen_row"))
    return parent.frame.join(chosen, here, "left"), F.col("r2d2_chosen_row").isNotNull()


def expand_bitmaps(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Task: the numbers of the rows in some bitmaps, each once."""
    import numpy as np
    import pyarrow as pa
    from pyroaring import BitMap

    for batch in batches:
        for file, bitmap in zip(*(batch.column(place).to_pylist() for place in (0, 1)), strict=True):
            rows = np.asarray(BitMap.deserialize(bitmap).to_array(), dtype=np.int64)
            yield pa.record_batch(
                {
                    "r2d2_chosen_file": pa.array(np.full(len(rows), file, dtype=np.int32)),
                    "r2d2_chosen_row": pa.array(rows, pa.int64()),
                }
            )
