"""A rebuilt table has the types and notes of the deleted one that other readers go by, though Arrow ignores them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.engine.second_reader.shape import shape_of
from r2d2.engine.second_reader.write import form_from_json, form_of, form_to_json
from r2d2.errors import TableError
from tests.engine.second_reader.test_rebuilder import Put, put, rebuilt_from, whole

GEO = {"geo": '{"version":"1.0.0","primary_column":"x"}', "owner": "maps"}
PLAIN = pa.table({"k": [1, 2], "x": [b"a", b"b"]})


@pytest.fixture(scope="module")
def rebuilder(spark: Any) -> SparkRebuilder:
    return SparkRebuilder(lambda: spark)


def by_duckdb(folder: Path, value: str) -> Put:
    folder.mkdir(parents=True)
    duckdb.sql(f"copy (select 1::BIGINT k, {value} x) to '{folder}/part.parquet' (format parquet)")
    return Put(str(folder), ("part.parquet",))


def seen_by_duckdb(table: Put) -> Any:
    query = "select k, x::VARCHAR, typeof(x) from read_parquet($path)"
    return duckdb.sql(query, params={"path": os.path.join(table.path, table.files[0])}).fetchall()


def notes_of(table: Put) -> Mapping[bytes, bytes]:
    notes = pq.read_metadata(Path(table.path) / table.files[0]).metadata or {}
    return {key: note for key, note in notes.items() if key != b"ARROW:schema"}


def refusal(rebuilder: SparkRebuilder, table: Put) -> str:
    recipe = whole(pq.read_schema(Path(table.path) / table.files[0]).empty_table())
    with pytest.raises(TableError) as refused:
        rebuilder.instructions(recipe, parent=table, child=table, parent_types={}, child_types={})
    return str(refused.value)


@pytest.mark.parametrize(
    "value",
    [
        "'10:00:00+02'::TIMETZ",
        "'10:00:00'::TIME",
        "'7b2f7b3e-1111-4444-8888-000000000001'::UUID",
        "'{}'::JSON",
        "'2020-01-01'::TIMESTAMPTZ",
        "1.5::DECIMAL(5,2)",
        "1.5::DECIMAL(30,2)",
        "7::UINTEGER",
        "7::INTEGER",
        "['a', NULL]",
        "MAP {'a': [1.5::DECIMAL(15,2)]}",
        "{'t': '10:00:00+02'::TIMETZ, 'n': 1::TINYINT}",
    ],
)
def test_another_engine_sees_the_same_types_in_what_was_rebuilt(
    rebuilder: SparkRebuilder, tmp_path: Path, value: str
) -> None:
    child = by_duckdb(tmp_path / "child", value)
    schema = pq.read_schema(Path(child.path) / child.files[0])
    rebuilt = rebuilt_from(rebuilder, whole(schema.empty_table()), child, child, tmp_path / "rebuilt")
    assert seen_by_duckdb(rebuilt) == seen_by_duckdb(child)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("INTERVAL '1 month 2 days'", "Interval"),
        ("[INTERVAL '1 month 2 days']", "Interval"),
        ("{'a': 1}::VARIANT", "Variant"),
        ("{'z': '10:00:00+02'::TIMETZ, 't': '10:00:00'::TIME}", "Time"),
    ],
)
def test_a_type_that_only_the_footer_knows_is_refused_with_its_column(
    rebuilder: SparkRebuilder, tmp_path: Path, value: str, kind: str
) -> None:
    said = refusal(rebuilder, by_duckdb(tmp_path / "child", value))
    assert "not exactly restorable: column x is" in said and kind in said and "come back as" in said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("'10:00:00+00'::TIMETZ", "'10:00:00'::TIME"),
        ("'{}'::JSON", "'{}'"),
        ("INTERVAL '1 day'", "'\\x00\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00'::BLOB"),
    ],
)
def test_tables_that_differ_only_in_a_logical_type_are_told_apart(
    rebuilder: SparkRebuilder, tmp_path: Path, one: str, other: str
) -> None:
    here, there = by_duckdb(tmp_path / "one", one), by_duckdb(tmp_path / "other", other)
    assert rebuilder.compare(rebuilt=here, child=there).differs == "their columns or types differ"
    assert rebuilder.measure(here).digest != rebuilder.measure(there).digest


def test_the_digest_of_a_table_of_plain_types_is_what_it_was_in_older_plans(tmp_path: Path) -> None:
    table = put(tmp_path / "t", pa.table({"a": [1], "t": pa.array([1], pa.time64("us")), "d": pa.array(["a"])}))
    text = '[[["a", "int64", true], ["t", "time(us)", true], ["d", "string", true]], []]'
    assert shape_of(table.path, table.files).signature == text


@pytest.mark.parametrize("stores_schema", [True, False])
def test_the_notes_of_a_footer_come_back(rebuilder: SparkRebuilder, tmp_path: Path, stores_schema: bool) -> None:
    table = PLAIN.replace_schema_metadata(GEO)
    child = put(tmp_path / "child", table, files=2)
    if not stores_schema:
        for name in child.files:
            with pq.ParquetWriter(Path(child.path) / name, table.schema, store_schema=False) as writer:
                writer.write_table(table)
                writer.add_key_value_metadata(GEO)
    rebuilt = rebuilt_from(rebuilder, whole(table), child, child, tmp_path / "rebuilt")
    assert notes_of(rebuilt) == notes_of(child) == {key.encode(): note.encode() for key, note in GEO.items()}


def test_files_that_disagree_on_a_note_are_refused_in_words(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    child = put(tmp_path / "child", PLAIN.replace_schema_metadata(GEO))
    pq.write_table(PLAIN.replace_schema_metadata(GEO | {"geo": "{}"}), Path(child.path) / "other.parquet")
    assert refusal(rebuilder, Put(child.path, (*child.files, "other.parquet"))) == (
        "it is not exactly restorable: its files differ in what their footers note as geo"
    )


def test_files_that_keep_a_column_otherwise_are_refused_in_words(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    child = put(tmp_path / "child", PLAIN)
    pq.write_table(PLAIN.set_column(1, "x", PLAIN["x"].cast(pa.binary(1))), Path(child.path) / "other.parquet")
    both = Put(child.path, (*child.files, "other.parquet"))
    assert "column x is BYTE_ARRAY in one of its files and FIXED_LEN_BYTE_ARRAY(1)" in refusal(rebuilder, both)
    assert rebuilder.measure(both).rows == 4  # as a parent it will do


def test_notes_that_writers_word_anew_in_each_file_are_no_obstacle(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    version, legacy = "org.apache.spark.version", "org.apache.spark.legacyDateTime"
    child = put(tmp_path / "child", PLAIN.replace_schema_metadata({version: "3.5.1", "pandas": '{"a": 1}', legacy: ""}))
    other = PLAIN.replace_schema_metadata({version: "4.0.0", "pandas": '{"a": 2}'})
    pq.write_table(other, Path(child.path) / "other.parquet")
    both = Put(child.path, (*child.files, "other.parquet"))
    rebuilt = rebuilt_from(rebuilder, whole(PLAIN), both, both, tmp_path / "rebuilt")
    assert notes_of(rebuilt) == {version.encode(): b"3.5.1", b"pandas": b'{"a": 1}'}


def test_the_form_in_an_older_plan_is_still_read(tmp_path: Path) -> None:
    table = put(tmp_path / "t", PLAIN)
    form = form_of(shape_of(table.path, table.files), {}, [""])
    older = form_to_json(form)
    del older["times_in_utc"]
    assert form_from_json(older) == form == form_from_json(form_to_json(form))


def test_a_form_that_is_sorted_by_a_column_it_has_not_is_refused_before_anything_is_deleted(tmp_path: Path) -> None:
    table = put(tmp_path / "t", PLAIN)
    form = form_to_json(form_of(shape_of(table.path, table.files), {}, [""]))
    with pytest.raises(TableError, match="description of the files is malformed"):
        form_from_json(form | {"order": [{"column": ["nowhere"], "descending": False, "nulls_first": True}]})
