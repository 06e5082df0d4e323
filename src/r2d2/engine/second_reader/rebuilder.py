"""Measure, compare and rebuild tables with Spark's own reader: the second opinion behind every deletion.

It is independent of the scan: another reader, values instead of hashes. It refuses tables that it cannot read exactly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from r2d2.engine.run.spark import run_tasks
from r2d2.engine.second_reader.arrange import arranged, kept_rows, remove_leftovers
from r2d2.engine.second_reader.instructions import Instructions
from r2d2.engine.second_reader.many import Pair, can_share, made_rows, rows_listed, tally_pairs
from r2d2.engine.second_reader.read import (
    Read,
    TimestampWork,
    has_places,
    hidden_nanoseconds,
    int96_columns,
    is_spelled_plainly,
    read_exactly,
    spark_errors,
)
from r2d2.engine.second_reader.recipe import Made, follow_recipe, keep_where, make_columns
from r2d2.engine.second_reader.row_text import both_counts, counts, made_texts, row_texts
from r2d2.engine.second_reader.shape import Shape, folders_of, shape_of
from r2d2.engine.second_reader.share import Shapes, share
from r2d2.engine.second_reader.tally import BYTES_PER_TASK, Counted, Tally, tally_rows
from r2d2.engine.second_reader.write import (
    Form,
    folder_numbers,
    form_of,
    form_to_json,
    refuse_inexact_form,
    write_batches,
    write_empty,
    writing_task,
)
from r2d2.engine.spark.cluster import columns_for
from r2d2.engine.spark.codegen import compiled_if_large
from r2d2.engine.spark.jobs import run_job
from r2d2.engine.spark.ship_code import ship
from r2d2.errors import R2D2Error, TableError
from r2d2.model.counted import counted
from r2d2.model.progress import Progress, silent
from r2d2.model.rebuild import Compare, Comparison, Content, Placed, Rebuild, Verify
from r2d2.model.recipe import Order, Recipe
from r2d2.model.schema import Token

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


class SparkRebuilder:
    """Rebuilder that reads, compares and writes tables in one Spark session, opened on demand."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session
        # by schema and columns, of the parents in a plan that is being made
        self._reads: dict[tuple[object, tuple[str, ...]], Read] = {}
        self._shapes = Shapes()  # of these parents

    def instructions(
        self,
        recipe: Recipe,
        *,
        parent: Placed,
        child: Placed,
        parent_types: Mapping[str, str],
        child_types: Mapping[str, str],
        fold_case: bool = False,
    ) -> dict[str, object]:
        """Instructions to rebuild *child*, as data; TableError if its form cannot be rebuilt exactly."""
        shape = shape_of(child.path, child.files)
        form = form_of(shape, child_types, folders_of(shape.files))
        if declares_order(shape, recipe, fold_case=fold_case):
            (order,) = shape.orders
            form = replace(form, order=order or ())
        refuse_inexact_form(form, shape)
        self._refuse_hidden_nanoseconds(shape)
        refuse_other_spelling(form, shape)
        folder_numbers(form)
        given = Instructions(recipe, form, dict(parent_types), fold_case)
        with columns_for(self._session()):
            self._refuse_unfollowable(given, parent)
        return given.to_json()

    def _refuse_unfollowable(self, given: Instructions, parent: Placed) -> None:
        """Refuse a recipe that Spark cannot compile; parents of one schema are opened once."""
        shape = self._shapes.of(parent)
        if not can_share(Pair(source=shape, given=given)):
            self._made(given, parent)
            return
        only = given.columns_read(shape)
        key = shape.nodes, tuple(only)
        if key not in self._reads:
            self._reads[key] = read_exactly(self._session(), shape, only=only)
        with spark_errors():
            make_columns(given.recipe, self._reads[key], given.form, fold_case=given.fold_case)
            if given.recipe.where is not None:
                keep_where(given.recipe.where, self._reads[key], given.fold_case)
            rows_listed(given, shape)

    def verify(self, *, recipe: Mapping[str, object], parent: Placed, child: Placed) -> Comparison:
        """Run the recipe on the parent and compare with the child: every row with its copies, and the schema."""
        given, shape = Instructions.parse(recipe), shape_of(child.path, child.files)
        if wrong := _other_schema(given.form, shape):
            return Comparison(wrong, self.measure(child))
        with columns_for(self._session()):
            made, parent_shape = self._made(given, parent)
            size = shape.size_bytes + parent_shape.size_bytes
            work = Counted(both_counts(made_texts(made), row_texts(self._read(shape))), size, given.recipe.distinct)
            (tally,) = tally_rows(self._session(), [work])
        refuse_other_count(tally.read_made, parent_shape)
        refuse_other_count(tally.read_there, shape)
        return Comparison(_difference(tally, "the recipe makes"), _content(tally, shape))

    def compare(self, *, rebuilt: Placed, child: Placed) -> Comparison:
        """Compare two tables on disk: every row with its copies, and the schema. Returns the rebuilt one's content."""
        one, other = shape_of(rebuilt.path, rebuilt.files), shape_of(child.path, child.files)
        if one.signature != other.signature:
            return Comparison("their columns or types differ", self.measure(rebuilt))
        with columns_for(self._session()):
            frame = both_counts(row_texts(self._read(other)), row_texts(self._read(one)))
            (tally,) = tally_rows(self._session(), [Counted(frame, one.size_bytes + other.size_bytes)])
        refuse_other_count(tally.read_made, other)
        refuse_other_count(tally.read_there, one)
        return Comparison(_difference(tally, "the original has"), _content(tally, one))

    def measure(self, table: Placed) -> Content:
        """Counts and digest of a table on disk. The digest depends on rows and schema, not on files or order."""
        shape = shape_of(table.path, table.files)
        with columns_for(self._session()):
            work = Counted(counts(row_texts(self._read(shape)), made=False), shape.size_bytes)
            (tally,) = tally_rows(self._session(), [work])
        refuse_other_count(tally.read_there, shape)
        return _content(tally, shape)

    def measure_many(self, tables: Sequence[Placed], progress: Progress = silent) -> list[Content | R2D2Error]:
        """Counts and digests of many tables; small ones share jobs; an error for a table that cannot be read."""
        shapes = Shapes()

        def pair(table: Placed) -> Pair:
            return Pair(there=shapes.of(table))

        return share(tables, pair=pair, together=self._measured, alone=self.measure, progress=progress)

    def _measured(self, pairs: Sequence[Pair]) -> list[Content]:
        return [content for _, content in self._tallied(pairs)]

    def verify_many(self, asked: Sequence[Verify]) -> list[Comparison | R2D2Error]:
        """Run `verify` on many tables; small ones share jobs."""
        shapes = Shapes()

        def pair(one: Verify) -> Pair | None:
            given, child = Instructions.parse(one.recipe), shapes.of(one.child)
            return None if _other_schema(given.form, child) else Pair(child, shapes.of(only(one.parents)), given)

        def together(pairs: Sequence[Pair]) -> list[Comparison]:
            return [Comparison(_difference(t, "the recipe makes"), content) for t, content in self._tallied(pairs)]

        def alone(one: Verify) -> Comparison:
            return self.verify(recipe=one.recipe, parent=only(one.parents), child=one.child)

        return share(asked, pair=pair, together=together, alone=alone)

    def compare_many(self, asked: Sequence[Compare]) -> list[Comparison | R2D2Error]:
        """Run `compare` on many tables; small ones share jobs."""
        shapes = Shapes()

        def pair(one: Compare) -> Pair | None:
            rebuilt, child = shapes.of(one.rebuilt), shapes.of(one.child)
            return Pair(rebuilt, child) if rebuilt.signature == child.signature else None

        def together(pairs: Sequence[Pair]) -> list[Comparison]:
            return [Comparison(_difference(t, "the original has"), content) for t, content in self._tallied(pairs)]

        return share(
            asked, pair=pair, together=together, alone=lambda o: self.compare(rebuilt=o.rebuilt, child=o.child)
        )

    def rebuild_many(self, asked: Sequence[Rebuild]) -> list[tuple[str, ...] | R2D2Error]:
        """Run `rebuild` on many tables; small ones share jobs."""
        shapes = Shapes()

        def pair(one: Rebuild) -> Pair | None:
            given = Instructions.parse(one.recipe)
            if given.recipe.distinct:
                return None
            return Pair(source=shapes.of(only(one.parents)), given=given, into=one.into)

        def alone(one: Rebuild) -> tuple[str, ...]:
            remove_leftovers(one.into, set())  # leftovers of a shared job
            return self.rebuild(recipe=one.recipe, parent=only(one.parents), into=one.into, one_file=one.one_file)

        return share(asked, pair=pair, together=self._rebuilt, alone=alone)

    def _tallied(self, pairs: Sequence[Pair]) -> list[tuple[Tally, Content]]:
        with columns_for(self._session()):
            tallies = tally_pairs(self._session(), pairs)
        found = []
        for pair, tally in zip(pairs, tallies, strict=True):
            assert pair.there is not None
            refuse_other_count(tally.read_there, pair.there)
            found.append((tally, _content(tally, pair.there)))
        return found

    def _rebuilt(self, pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
        """Write the output of each pair's recipe into its folder, as one file."""
        folders = [pair.into for pair in pairs]
        with columns_for(self._session()):
            rows, _ = made_rows(self._session(), pairs)
        forms = [pair.given.form for pair in pairs if pair.given is not None]
        task = writing_task([form_to_json(form) for form in forms], folders)
        for folder in folders:
            remove_leftovers(folder, set())  # leftovers of a failed job
        size = sum(pair.size_bytes for pair in pairs)
        with spark_errors(), compiled_if_large(self._session(), size):
            answers = rows.mapInArrow(ship(self._session(), task), "pair int, path string")
            written: dict[int, set[str]] = {number: set() for number in range(len(pairs))}
            for row in run_job(self._session(), answers.collect):
                written[row["pair"]].add(row["path"])
        for number, folder in enumerate(folders):
            remove_leftovers(folder, written[number])
        return [tuple(sorted(written[n])) or (write_empty(folders[n], form),) for n, form in enumerate(forms)]

    def rebuild(self, *, recipe: Mapping[str, object], parent: Placed, into: str, one_file: bool) -> tuple[str, ...]:
        """Write the recipe's output into the empty folder *into*, as one file if *one_file*."""
        given = Instructions.parse(recipe)
        with columns_for(self._session()):
            made, shape = self._made(given, parent, ordered=True)
            rows = arranged(kept_rows(made, given), given, one_file=one_file, size_bytes=shape.size_bytes)
        form = form_to_json(given.form)

        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa
            from pyspark import TaskContext

            context = TaskContext.get()
            part = context.partitionId() if context is not None else 0
            written = list(write_batches(batches, into=into, form=form, part=part))
            yield pa.record_batch({"path": pa.array(written, pa.string())})

        with spark_errors(), compiled_if_large(self._session(), shape.size_bytes):
            answers = rows.mapInArrow(ship(self._session(), task), "path string")
            written = [row[0] for row in run_job(self._session(), answers.collect)]
        remove_leftovers(into, set(written))
        return tuple(sorted(written)) or (write_empty(into, given.form),)

    def _made(self, given: Instructions, parent: Placed, *, ordered: bool = False) -> tuple[Made, Shape]:
        """The recipe's output; with *ordered*, rows have their place in the parent if the order needs it."""
        shape, spark = shape_of(parent.path, parent.files), self._session()
        placed = ordered and given.recipe.order is not None and not given.recipe.distinct and has_places(shape)
        only, numbered = given.columns_read(shape), given.recipe.rows is not None or placed
        read = read_exactly(spark, shape, only=only, typed=given.parent_types, numbered=numbered)
        with spark_errors():
            return follow_recipe(spark, given.recipe, read, given.form, fold_case=given.fold_case), shape

    def _read(self, shape: Shape) -> Read:
        return read_exactly(self._session(), shape)

    def _refuse_hidden_nanoseconds(self, shape: Shape) -> None:
        """Refuse INT96 timestamps with nanoseconds: Spark's reader returns only microseconds (HAZARDS 20)."""
        columns = int96_columns(shape)
        if not columns:
            return
        pieces: list[TimestampWork] = [
            {"kind": "timestamps", "path": file.path, "columns": columns, "bytes": file.size_bytes}
            for file in shape.files
        ]
        with spark_errors():
            finer = run_tasks(
                self._session(),
                pieces,
                task=hidden_nanoseconds,
                weight=lambda piece: float(piece["bytes"]),
                per_task=BYTES_PER_TASK,
            )
        if finer:
            raise TableError(
                f"it is not exactly restorable: {os.path.basename(finer[0])} has timestamps finer than Spark reads, "
                "or beyond 2262"
            )


def only(parents: Sequence[Placed]) -> Placed:
    """The only parent of a table; recipes over several are not supported yet."""
    if len(parents) != 1:
        raise TableError(f"it has {len(parents)} parents, and only one is supported yet")
    return parents[0]


def refuse_other_spelling(form: Form, shape: Shape) -> None:
    """Refuse partition folders that would get another name: the number 001 would become 1 (HAZARDS 11)."""
    for file in shape.files:
        for name, raw in file.raw:
            if not is_spelled_plainly(raw, dict(form.partitions)[name]):
                raise TableError(f"the folder {name}={raw} would come back with another name")


def declares_order(shape: Shape, recipe: Recipe, *, fold_case: bool) -> bool:
    """Whether all footers declare exactly the order that the recipe restores."""
    if len(shape.orders) != 1 or not recipe.order:
        return False
    (declared,) = shape.orders

    def spelled(order: Order) -> list[tuple[Token, bool, bool]]:
        tokens = [tuple(map(str.casefold, key.column)) if fold_case else key.column for key in order]
        return [(token, key.descending, key.nulls_first) for token, key in zip(tokens, order, strict=True)]

    return declared is not None and spelled(declared) == spelled(recipe.order)


def _content(tally: Tally, shape: Shape) -> Content:
    return Content(tally.read_there, tally.distinct_there, tally.digest(shape.signature))


def _difference(tally: Tally, other: str) -> str:
    if not tally.missing and not tally.extra:
        return ""
    extra, missing = counted(tally.extra, "rows"), counted(tally.missing, "rows")
    return f"{other} {extra} that it lacks, and lacks {missing} that it has"


def _other_schema(form: Form, shape: Shape) -> str:
    """The difference in columns or types, '' if they are equal; checked before rows (HAZARDS 3)."""
    if tuple(name for name, _ in form.partitions) != shape.partitions:
        return "its partition columns differ"
    expected = [(name, node, form.schema.field(name).nullable) for name, node in form.nodes]
    found = [(name, node, shape.schema.field(name).nullable) for name, node in shape.nodes]
    return "" if expected == found else "its columns or types differ"


def refuse_other_count(read: int, shape: Shape) -> None:
    """Refuse a read with another number of rows than the footers state (HAZARDS 7, 8)."""
    if read != shape.rows:
        name = os.path.basename(os.path.dirname(shape.files[0].path))
        raise TableError(f"Spark read {counted(read, 'rows')} of {name}, whose footers state {shape.rows:,}")
