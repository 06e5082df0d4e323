"""A type's name and its parsed form say the same, whatever the name."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.engine.recipes.arrow_types import arrow_type
from r2d2.formats.arrow_types import type_name
from r2d2.model.types import ColumnType, kind_of, parse_type

LEAVES = st.one_of(
    st.sampled_from(["bool", "date", "string", "binary", "null", "int96", "struct<a,b:int8>", "struct<x>,y:list<z>>"]),
    st.builds("{}{}".format, st.sampled_from(["int", "uint"]), st.sampled_from([8, 16, 32, 64])),
    st.builds("float{}".format, st.sampled_from([16, 32, 64])),
    st.builds("decimal({},{})".format, st.integers(1, 76), st.integers(-10, 76)),
    st.builds(
        "{}({})".format, st.sampled_from(["timestamp", "time", "duration"]), st.sampled_from(["s", "ms", "us", "ns"])
    ),
    st.builds("timestamp({},UTC)".format, st.sampled_from(["s", "ms", "us", "ns"])),
)
NAMES = st.recursive(
    LEAVES, lambda inner: st.one_of(st.builds("list<{}>".format, inner), st.builds("map<{},{}>".format, inner, inner))
)


def kind_by_looking(name: str) -> str:
    """The obvious form: the first word tells."""
    found = re.match(r"[a-z]+", name)
    word = found.group() if found else name
    if word in ("int", "uint", "float", "decimal"):
        return "number"
    return "timestamp with zone" if re.fullmatch(r"timestamp\(\w+,UTC\)", name) else word


@given(
    st.one_of(
        NAMES,
        st.text(max_size=20),
        st.from_regex(r"(list|map|decimal|int|timestamp)[<(][a-z0-9,<>() ]*", fullmatch=True),
    )
)
def test_every_name_is_printed_as_it_was_parsed_and_its_kind_is_that_of_its_first_word(name: str) -> None:
    assert str(parse_type(name)) == name
    assert kind_of(name) == kind_by_looking(name)


@given(NAMES)
def test_the_parsed_types_of_different_names_differ(name: str) -> None:
    assert parse_type(name) != parse_type(name + " ")
    assert parse_type(name) == parse_type(str(parse_type(name)))


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("uint16", ColumnType("uint", bits=16)),
        ("decimal(9,-2)", ColumnType("decimal", precision=9, scale=-2)),
        ("timestamp(ns,UTC)", ColumnType("timestamp", unit="ns", has_zone=True)),
        ("time(us)", ColumnType("time", unit="us")),
        ("list<decimal(9,2)>", ColumnType("list", children=(ColumnType("decimal", precision=9, scale=2),))),
        ("map<string,date>", ColumnType("map", children=(ColumnType("string"), ColumnType("date")))),
        ("struct<a:int8,b:int8>", ColumnType("struct", text="struct<a:int8,b:int8>")),
        ("map<string,struct<a,b:int8>>",
         ColumnType("map", children=(ColumnType("string"), ColumnType("struct", text="struct<a,b:int8>")))),
        ("int08", ColumnType("int", text="int08")),
        ("decimal(9)", ColumnType("decimal", text="decimal(9)")),
    ],
)  # fmt: skip
def test_types_are_taken_apart(name: str, parsed: ColumnType) -> None:
    assert parse_type(name) == parsed


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(), pa.uint64(), pa.float16(), pa.bool_(), pa.date32(), pa.null(), pa.decimal128(38, 18), pa.decimal256(76, 0),
        pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.time32("ms"), pa.time64("ns"), pa.duration("us"),
        pa.list_(pa.list_(pa.int32())), pa.map_(pa.int8(), pa.decimal128(9, 2)), pa.map_(pa.int8(), pa.list_(pa.date32())),
    ],
    ids=str,
)  # fmt: skip
def test_an_arrow_type_is_got_back_by_its_name(kind: pa.DataType) -> None:
    assert arrow_type(type_name(kind)) == kind


@given(NAMES)
def test_a_name_that_hides_a_struct_has_no_arrow_type(name: str) -> None:
    assert "struct<" not in name or arrow_type(name) is None
