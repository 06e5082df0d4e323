"""Polars, Spark and the plain reading of a predicate keep the same rows, on every type and under any name."""

from __future__ import annotations

import tempfile
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.recipes.predicate_polars import mask_of
from r2d2.engine.second_reader.predicate_spark import column_of, to_spark
from r2d2.errors import TableError
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare, IsNull, Not, OneOf, Predicate, keeps
from r2d2.model.schema import Token
from r2d2.model.types import kind_of
from tests.support.random_predicates import frames, predicates, rows_of
from tests.support.random_tables import SPARK_LACKS, VALUES

Columns = dict[Token, pa.ChunkedArray]


def kinds_of(columns: Columns) -> dict[Token, str]:
    from r2d2.formats.arrow_types import type_name

    return {token: kind_of(type_name(column.type)) for token, column in columns.items()}


def kept_by_polars(predicate: Predicate, columns: Columns) -> list[bool]:
    frame = pl.DataFrame({f"c{n}": pl.from_arrow(column) for n, column in enumerate(columns.values())})
    types = {token: (name, frame.schema[name]) for token, name in zip(columns, frame.columns, strict=True)}
    return frame.select(mask_of(predicate, types).alias("kept")).to_series().to_list() if frame.height else []


@settings(max_examples=400)
@given(st.data())
def test_polars_keeps_what_the_plain_reading_keeps(data: st.DataObject) -> None:
    columns = data.draw(frames())
    predicate = data.draw(predicates(kinds_of(columns)))
    kept = kept_by_polars(predicate, columns)
    expected = [keeps(predicate, row) for row in rows_of(columns)]
    assert (kept if len(kept) > 1 else kept * len(expected)) == expected  # a constant is one value


ONE_OF_EACH = [kind for kind in VALUES if not pa.types.is_nested(kind) and kind not in SPARK_LACKS]


@settings(max_examples=12)
@given(st.data())
def test_spark_keeps_what_the_plain_reading_keeps(spark: Any, data: st.DataObject) -> None:
    columns = data.draw(frames(types=[*ONE_OF_EACH, pa.list_(pa.int64())]))
    asked = data.draw(st.lists(predicates(kinds_of(columns)), min_size=12, max_size=12))
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", data.draw(st.sampled_from(["UTC", "Asia/Kathmandu", "+14:00"])))
    session.conf.set("spark.sql.ansi.enabled", data.draw(st.sampled_from(["true", "false"])))
    session.conf.set("spark.sql.caseSensitive", "true")
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(nested(columns), f"{folder}/t.parquet")
        check(session.read.parquet(f"{folder}/t.parquet"), columns, asked)


def check(frame: Any, columns: Columns, asked: list[Predicate]) -> None:
    kept = frame.select(*(to_spark(p, frame.schema).alias(f"p{n}") for n, p in enumerate(asked))).collect()
    expected = [tuple(keeps(predicate, row) for predicate in asked) for row in rows_of(columns)]
    assert [tuple(row) for row in kept] == expected


def nested(columns: Columns) -> pa.Table:
    """The columns as a table, those with two parts as fields of structs."""
    whole = {}
    for token, column in columns.items():
        array = column.combine_chunks()
        whole[token[0]] = pa.StructArray.from_arrays([array], names=[token[1]]) if len(token) > 1 else array
    return pa.table(whole)


def test_a_column_without_a_type_is_all_null() -> None:
    columns = {("a",): pa.chunked_array([pa.nulls(3)]), ("b",): pa.chunked_array([pa.array([1, 2, None])])}
    less = Compare(("a",), "<", Literal("int", 5))
    for predicate in (less, Not(less), OneOf(("a",), (Literal("string", "x"),)), IsNull(("a",))):
        row = {("a",): None, ("b",): None}
        assert kept_by_polars(predicate, columns) == [keeps(predicate, row)] * 3


def test_a_column_of_another_kind_is_refused_not_cast() -> None:
    predicate = Compare(("a",), "=", Literal("string", "1"))
    with pytest.raises(TableError):
        mask_of(predicate, {("a",): ("a", pl.Int64())})


def test_names_are_names_to_spark_whatever_stands_in_them(spark: Any) -> None:
    frame = spark.createDataFrame(pa.table({"a`.`b": [1], "x + y": [2], "*": [3]}))
    names = [("a`.`b",), ("x + y",), ("*",)]
    assert tuple(frame.select(*map(column_of, names)).first()) == (1, 2, 3)
