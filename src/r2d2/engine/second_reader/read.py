"""Read tables with Spark's own Parquet reader: exactly the listed files, each column in its own type, no row lost.

The schema is built from the footers, so that Spark infers nothing. Columns get plain names (d0, d1 … from the files,
p0 … from folders), so that names of users' columns cannot clash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar
from urllib.parse import unquote

from r2d2.engine.second_reader.shape import Shape
from r2d2.engine.second_reader.types import INT96, Leaf, Node, Struct, leaves_of, spark_type
from r2d2.engine.spark.failures import java_in_words
from r2d2.engine.spark.jobs import run_job
from r2d2.errors import R2D2Error, TableError
from r2d2.model.schema import Token

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

T = TypeVar("T")
FILE, ROW = "r2d2_file", "r2d2_row"  # the number of the file in the shape, and of the row in the file

_SCHEME = "^file:/+"
FEW_FILES = 200  # up to here one task collects their names without a shuffle

# Cluster settings that would change the rows read are pinned with each read (HAZARDS 7, 10) …
_PINNED = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "recursiveFileLookup": "false",
}
# … and refused where a read cannot pin them: setting, harmful value, affected tables
_REFUSED: tuple[tuple[str, str, Callable[[Shape], bool]], ...] = (
    ("spark.sql.parquet.int96TimestampConversion", "true", lambda shape: shape.has_int96),
    ("spark.sql.parquet.int96AsTimestamp", "false", lambda shape: shape.has_int96),
)

_OUR_OWN = re.compile(r"^r2d2\.errors\.TableError: (.+)$", re.MULTILINE)
_CAUSE = re.compile(r"^Caused by: (?:[\w$]+\.)*([\w$]+: .+)$", re.MULTILINE)
_SPARKS_OWN = ("pyspark", "py4j", "grpc")  # modules whose errors are Spark's


@dataclass(frozen=True, slots=True)
class Source:
    """A column of a table as read: its name in the frame, and its type."""

    path: tuple[str, ...]  # its place in the frame
    node: Node

    @property
    def column(self) -> Column:
        """The column."""
        from pyspark.sql import functions as F

        return F.col(".".join("`" + part.replace("`", "``") + "`" for part in self.path))


@dataclass(frozen=True, slots=True)
class Read:
    """A table in Spark. Nothing is read until a job runs."""

    frame: DataFrame
    shape: Shape
    columns: Mapping[str, Source]  # the top-level columns that were asked for, by their own names
    partitions: Mapping[str, Source]

    @property
    def row(self) -> list[tuple[Column, Node]]:
        """All columns of a row, partition columns last."""
        return [(source.column, source.node) for source in (*self.columns.values(), *self.partitions.values())]

    def source(self, token: Token, *, fold_case: bool = False) -> Source:
        """The column with a token, which may be a struct."""
        found = self._top(token[0], fold_case)
        for part in token[1:]:
            inner = found.node.fields if isinstance(found.node, Struct) else ()
            name, node = _one([(name, node) for name, node in inner if _same(name, part, fold_case)], token)
            found = Source((*found.path, name), node)
        return found

    def _top(self, name: str, fold_case: bool) -> Source:
        there = {**self.columns, **self.partitions}
        return _one([(key, source) for key, source in there.items() if _same(key, name, fold_case)], (name,))[1]


def _same(one: str, other: str, fold_case: bool) -> bool:
    return one == other or (fold_case and one.casefold() == other.casefold())


def _one(found: list[tuple[str, T]], token: Token) -> tuple[str, T]:
    if len(found) != 1:
        raise TableError(f"Spark reads no column {'.'.join(token)}, or several")
    return found[0]


def read_exactly(
    spark: SparkSession,
    shape: Shape,
    *,
    only: Iterable[str] | None = None,
    typed: Mapping[str, str] | None = None,
    numbered: bool = False,
) -> Read:
    """Open a table in Spark, with all columns or *only* some.

    Partition columns are text, as in the folders' names, or *typed* (int64, date, string) by name. With *numbered*
    each row has the number of its file and its place in it.
    """
    from pyspark.sql import functions as F

    refuse_settings(spark, shape)
    wanted = [(name, node) for name, node in shape.nodes if only is None or name in set(only)]
    if (shape.partitions or numbered) and not has_places(shape):
        raise TableError("it has a column _metadata, which hides Spark's column of that name")
    with spark_errors():
        frame, chosen = _open(spark, shape, wanted)
        if numbered or shape.partitions:
            place = [F.col("_metadata.file_path").alias(FILE), F.col("_metadata.row_index").alias(ROW)]
            frame = _with_partitions(spark, frame.select(*chosen, *place), shape, typed or {})
        else:
            frame = frame.select(*chosen)
    kinds = [Leaf((typed or {}).get(name, "string")) for name in shape.partitions]
    partitions = {n: Source((f"p{i}",), kind) for i, (n, kind) in enumerate(zip(shape.partitions, kinds, strict=True))}
    return Read(frame, shape, _sources(wanted), partitions)


def has_places(shape: Shape) -> bool:
    """Whether Spark can tell the place of a row: a user's column _metadata hides Spark's own."""
    return all(name.lower() != "_metadata" for name, _ in shape.nodes)


def read_together(spark: SparkSession, shape: Shape, *, only: Iterable[str] | None = None) -> tuple[Read, list[str]]:
    """Open files of many tables of one schema as one frame; return it and, in order, the file names in its rows.

    Spark's name of a file comes from its listing, since reading it from the rows would take a job. Should the two ever
    differ, the row belongs to no file, and fewer rows are counted than the footers state.
    """
    from pyspark.sql import functions as F

    refuse_settings(spark, shape)
    if shape.partitions or not has_places(shape):
        raise TableError("it cannot be read together with others")
    wanted = [(name, node) for name, node in shape.nodes if only is None or name in set(only)]
    with spark_errors():
        frame, chosen = _open(spark, shape, wanted)
        listed = {_path_of(uri): _plain_name(uri) for uri in frame.inputFiles()}
        path = F.regexp_replace(F.col("_metadata.file_path"), _SCHEME, "/").alias(FILE)
        frame = frame.select(*chosen, path, F.col("_metadata.row_index").alias(ROW))
    missing = [file.path for file in shape.files if file.path not in listed]
    if missing or len(listed) != len(shape.files):
        raise TableError(f"Spark lists other files than were asked for, such as {(missing or sorted(listed))[0]}")
    return Read(frame, shape, _sources(wanted), {}), [listed[file.path] for file in shape.files]


def _plain_name(uri: str) -> str:
    """A file's URI without its scheme, which has forms with one and with three slashes."""
    return re.sub(_SCHEME, "/", uri)


def _open(spark: SparkSession, shape: Shape, wanted: Sequence[tuple[str, Node]]) -> tuple[DataFrame, list[Column]]:
    """The files as a frame, and the wanted columns under plain names."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    schema = T.StructType([T.StructField(name, spark_type(node)) for name, node in wanted])
    frame = spark.read.options(**_PINNED).schema(schema).parquet(*(_escaped(file.path) for file in shape.files))
    return frame, [F.col(f"`{name.replace('`', '``')}`").alias(f"d{place}") for place, (name, _) in enumerate(wanted)]


def _sources(wanted: Sequence[tuple[str, Node]]) -> dict[str, Source]:
    return {name: Source((f"d{place}",), node) for place, (name, node) in enumerate(wanted)}


def _with_partitions(spark: SparkSession, frame: DataFrame, shape: Shape, typed: Mapping[str, str]) -> DataFrame:
    """The frame with each row's file number and partition columns. Spark's names of the files are collected first."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    paths = {file.path: number for number, file in enumerate(shape.files)}
    seen = frame.select(FILE)
    small = len(shape.files) <= FEW_FILES
    names_of = seen.coalesce(1).distinct() if small else seen.distinct().coalesce(1)
    names = run_job(spark, lambda: [row[0] for row in names_of.collect()])
    rows = []
    for name in names:
        number = paths.get(_path_of(name))
        if number is None:
            raise TableError(f"Spark reads a file that was not asked for: {name}")
        raw = [typed_value(value, typed.get(key, "string")) for key, value in shape.files[number].raw]
        rows.append((name, number, *raw))
    fields = [T.StructField("r2d2_name", T.StringType()), T.StructField("r2d2_number", T.IntegerType())]
    for place, name in enumerate(shape.partitions):
        fields.append(T.StructField(f"p{place}", spark_type(Leaf(typed.get(name, "string")))))
    places = F.broadcast(spark.createDataFrame(rows, T.StructType(fields)))
    joined = frame.join(places, frame[FILE] == places["r2d2_name"], "inner").drop(FILE, "r2d2_name")
    return joined.withColumnRenamed("r2d2_number", FILE)


def _escaped(path: str) -> str:
    """Escape a path so that Spark does not read it as a pattern (HAZARDS 7).

    With its option __globPaths__ off, Spark 4.1 reads every file once for each path that looks like a pattern.
    """
    return re.sub(r"([{}\[\]*?\\])", r"\\\1", path)


def _path_of(uri: str) -> str:
    """The path in a file's URI, which has forms with one and with three slashes."""
    path = unquote(uri.removeprefix("file:"))
    return "/" + path.lstrip("/") if path.startswith("//") else path


def typed_value(raw: str | None, kind: str) -> str | int | date | None:
    """A partition's value in its declared type."""
    if raw is None or kind == "string":
        return raw
    return int(raw) if kind == "int64" else date.fromisoformat(raw)


def raw_text(source: Column) -> Column:
    """A partition's typed value as text, as in its folder's name."""
    return source.cast("string")


def is_spelled_plainly(raw: str | None, kind: str) -> bool:
    """Whether `raw_text` gives a folder's own spelling back (HAZARDS 11).

    >>> is_spelled_plainly("1", "int64"), is_spelled_plainly("001", "int64"), is_spelled_plainly("001", "string")
    (True, False, True)
    """
    return raw is None or str(typed_value(raw, kind)) == raw


def refuse_settings(spark: SparkSession, shape: Shape) -> None:
    """Refuse session settings that change the rows read and cannot be pinned per read (HAZARDS 10)."""
    for name, harmful, concerns in _REFUSED:
        harmless = "false" if harmful == "true" else "true"
        if concerns(shape) and str(spark.conf.get(name, harmless)).lower() == harmful:
            raise TableError(
                f"this Spark session has {name}={harmful}, which changes the values read", hint="use another session"
            )


class TimestampWork(TypedDict):
    """Ask whether columns of INT96 in a file hold more than Spark reads."""

    kind: Literal["timestamps"]
    path: str
    columns: Sequence[str]
    bytes: int


def hidden_nanoseconds(work: Sequence[TimestampWork]) -> Iterator[str]:
    """Task: the files whose INT96 timestamps are finer than the microseconds that Spark reads.

    Timestamps beyond the range of pyarrow's 64-bit nanoseconds are found, too: 2^64 is not a multiple of 1,000.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for piece in work:
        with pq.ParquetFile(piece["path"]) as file:
            for batch in file.iter_batches(columns=piece["columns"]):
                for column in batch.columns:
                    counts = column.cast(pa.int64())
                    micros = pc.multiply(pc.divide(counts, 1000), 1000)
                    if pc.any(pc.not_equal(counts, micros)).as_py():
                        yield piece["path"]


def int96_columns(shape: Shape) -> list[str]:
    """The top-level columns of type INT96; TableError for a nested one, which cannot be written back."""
    names = [name for name, node in shape.nodes if node == INT96]
    deeper = [name for name, node in shape.nodes if node != INT96 and INT96 in leaves_of(node)]
    if deeper:
        raise TableError(f"column {deeper[0]} has nested INT96 timestamps")
    return names


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn an exception of Spark into a TableError of one line."""
    try:
        with java_in_words():
            yield
    except R2D2Error:
        raise
    except Exception as error:
        if not (isinstance(error, UnicodeError) or type(error).__module__.partition(".")[0] in _SPARKS_OWN):
            raise
        ours = _OUR_OWN.findall(str(error))  # raised in a task
        if ours:
            raise TableError(ours[-1]) from error
        raise TableError(f"Spark failed ({_cause(error)})") from error


def _cause(error: Exception) -> str:
    """The innermost cause that Spark names, or else the first line of its message."""
    causes = _CAUSE.findall(str(error))
    lines = causes[-1:] or [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
