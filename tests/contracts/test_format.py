"""The contract of table formats, held by every format: a new one is added to CASES."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.errors import TableError
from r2d2.formats import registry
from r2d2.formats.arrow_types import type_name
from r2d2.formats.contract import Capabilities, FileSlice, TableFormat
from r2d2.formats.merge import from_json, merge_files, to_json
from r2d2.lake.discover import discover
from r2d2.lake.table_profile import table_profile
from r2d2.model.profile import ColumnStats
from r2d2.model.table import DataFile, Table
from r2d2.model.versions import FileVersion
from r2d2.stores.local import LocalStore
from tests.contracts.lines_format import NAME
from tests.support.lines_files import write_lines

TABLE = pa.table({"id": [3, 1, None, 3], "Name": ["x", "", None, "é\n"], "v": [0.5, None, 1e300, -0.0]})
STORE = LocalStore()


@dataclass(frozen=True)
class Case:
    """A format, and how a test writes a file of it."""

    name: str
    write: Callable[[pa.Table, str], None]

    @property
    def format(self) -> TableFormat:
        """The format."""
        return registry.format_named(self.name)

    def path(self, folder: Path, stem: str = "part-0") -> Path:
        """The path of a file of this format."""
        return folder / f"{stem}.{next(iter(self.format.suffixes))}"

    def file(self, folder: Path, table: pa.Table, stem: str = "part-0", partition: Any = ()) -> DataFile:
        """A file with these rows, profiled."""
        path = self.path(folder, stem)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write(table, str(path))
        parts = self.format.profile(str(path), STORE).files[0].parts
        return DataFile(str(path), *STORE.stat(str(path)), partition, parts)


def write_parquet(table: pa.Table, path: str) -> None:
    pq.write_table(table, path, row_group_size=3)


CASES = [Case("parquet", write_parquet), Case(NAME, write_lines)]


@pytest.fixture(params=CASES, ids=lambda case: case.name.rpartition(".")[2])
def case(request: pytest.FixtureRequest, lines: str) -> Iterator[Case]:
    yield request.param


def values(case: Case, part: FileSlice, *tokens: str) -> dict[str, list[Any]]:
    """Columns of a slice that has been through JSON."""
    columns = registry.read_slice(json.loads(json.dumps(part)), [(token,) for token in tokens])
    return {token: column.to_pylist() for (token,), column in columns.items()}


def test_every_format_is_held_to_the_contract() -> None:
    assert set(registry.BUILT_IN) <= {case.name for case in CASES}


def test_importing_the_registry_and_asking_for_suffixes_loads_no_pyarrow() -> None:
    code = "import sys, r2d2.formats.registry as r; r.suffixes(); assert not {'pyarrow', 'polars'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_format_is_found_by_its_name_and_travels(case: Case) -> None:
    assert case.format.name == case.name and registry.is_read(case.name) and case.format in registry.all_formats()
    assert type(pickle.loads(pickle.dumps(case.format))) is type(case.format)


def test_an_unknown_format_is_a_reason_and_a_name_from_a_state_is_never_imported() -> None:
    with pytest.raises(TableError, match="no table format nothing_of_ours"):
        registry.read_slice({"format": "nothing_of_ours"}, [])
    with pytest.raises(TableError, match="unknown format antigravity"):
        registry.format_of(Table("t", "antigravity", "/t", ()))
    assert "antigravity" not in sys.modules


def test_only_a_format_that_is_named_by_its_module_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "of_another_name", SimpleNamespace(FORMAT=registry.format_named("parquet")))
    for module in ("nothing_of_ours", "json", "of_another_name"):
        with pytest.raises(TableError):
            registry.register(module)
        assert not registry.is_read(module)
    registry.format_named.cache_clear()


def test_each_limitation_is_one_sentence(case: Case) -> None:
    assert [field.name for field in fields(Capabilities)] == [
        "without_statistics",
        "without_row_counts",
        "without_row_lists",
        "without_rebuild",
    ]
    for sentence in astuple(case.format.capabilities):
        assert isinstance(sentence, str) and "\n" not in sentence and not sentence.endswith(".")
    if case.format.capabilities.without_row_counts:
        assert case.format.capabilities.without_row_lists, "what has no count has no last row"


def test_files_are_recognised_by_suffix_and_by_their_first_bytes(case: Case, tmp_path: Path) -> None:
    for suffix in case.format.suffixes:
        case.write(TABLE, str(tmp_path / f"by_suffix.{suffix}"))
    case.write(TABLE, str(tmp_path / "unnamed"))
    found = {table.name: table.format for table in discover([str(tmp_path)]).tables}
    assert found == dict.fromkeys([*(f"by_suffix.{s}" for s in case.format.suffixes), "unnamed"], case.name)


def test_part_files_are_one_table_and_files_of_two_formats_are_none(case: Case, tmp_path: Path) -> None:
    case.file(tmp_path / "lake" / "t", TABLE)
    case.file(tmp_path / "lake" / "t", TABLE, "part-1")
    for day in ("1", "2"):
        case.file(tmp_path / "lake" / "p" / f"day={day}", TABLE)
    found = discover([str(tmp_path / "lake")])
    assert [(table.name, table.format, len(table.files)) for table in found.tables] == [
        ("p", case.name, 2),
        ("t", case.name, 2),
    ]
    other = next(one for one in CASES if one.name != case.name)
    other.file(tmp_path / "lake" / "t", TABLE, "part-2")
    other.file(tmp_path / "lake" / "p" / "day=3", TABLE)
    other.file(tmp_path / "lake", TABLE, "alone")
    found = discover([str(tmp_path / "lake")])
    assert [table.format for table in found.tables] == [other.name]
    assert [problem.where for problem in found.problems if problem.needs_a_look] == ["p", "t"]
    assert all("several formats" in problem.because for problem in found.problems if problem.needs_a_look)


def test_a_plain_folder_is_claimed_by_nobody(case: Case, tmp_path: Path) -> None:
    case.file(tmp_path, TABLE)
    assert case.format.recognise(str(tmp_path), [case.path(tmp_path).name], STORE) is None


def test_a_profile_names_every_column_and_says_no_more_than_is_known(case: Case, tmp_path: Path) -> None:
    case.write(TABLE, str(case.path(tmp_path)))
    profile = case.format.profile(str(case.path(tmp_path)), STORE)
    assert {token: column.type_name for token, column in profile.columns.items()} == {
        (field.name,): type_name(field.type) for field in TABLE.schema
    }
    assert profile.rows == (None if case.format.capabilities.without_row_counts else TABLE.num_rows)
    for token, column in profile.columns.items():
        if case.format.capabilities.without_statistics:
            assert column.stats == ColumnStats()
        else:
            assert_valid(column.stats, TABLE.column(token[0]).to_pylist())
    assert from_json(to_json(profile)) == profile


def assert_valid(stats: ColumnStats, column: list[Any]) -> None:
    stored = [value.encode() if isinstance(value, str) else value for value in column if value is not None]
    assert stats.nulls in (None, len(column) - len(stored))
    for bound, exact, beyond in ((stats.low, stats.low_exact, min), (stats.high, stats.high_exact, max)):
        if bound is not None:
            assert beyond([bound, *stored]) == bound and (not exact or bound in stored)


def test_the_slices_of_a_table_are_its_rows_once_each(case: Case, tmp_path: Path) -> None:
    files = [case.file(tmp_path, TABLE), case.file(tmp_path, TABLE.slice(1), "part-1")]
    parts = list(case.format.slices(files, {}))
    ids: list[Any] = []
    for part in parts:
        assert part["format"] == case.name and FileVersion(*part["file"]) in {file.version for file in files}
        read = values(case, part, "id", "Name", "v")
        assert part["rows"] in (None, len(read["id"])) and part["bytes"] > 0
        ids += zip(*(read[name] for name in TABLE.column_names), strict=True)
    expected = [tuple(row.values()) for row in [*TABLE.to_pylist(), *TABLE.slice(1).to_pylist()]]
    assert list(map(repr, ids)) == list(map(repr, expected)), "with −0.0 and all"


def test_a_column_that_a_file_lacks_is_null_and_folders_are_columns(case: Case, tmp_path: Path) -> None:
    file = case.file(tmp_path, TABLE, partition=(("Day", "7"), ("city", None)))
    (part, *_) = case.format.slices([file], {"Day": "int64", "city": "string"})
    read = values(case, part, "Day", "city", "id", "nowhere")
    rows = len(read["id"])
    assert read["Day"] == [7] * rows and read["city"] == read["nowhere"] == [None] * rows
    assert registry.slice_range(part, ("Day",)) == ("number", 7, 7) and registry.slice_range(part, ("city",)) is None


def test_a_folder_s_value_counts_where_the_file_has_such_a_column_too(case: Case, tmp_path: Path) -> None:
    file = case.file(tmp_path, TABLE, partition=(("id", "7"),))
    for part in case.format.slices([file], {"id": "int64"}):
        assert set(values(case, part, "id", "v")["id"]) == {7}


def test_names_are_folded_if_asked(case: Case, tmp_path: Path) -> None:
    (part, *_) = case.format.slices([case.file(tmp_path, TABLE)], {}, fold_case=True)
    read = values(case, part, "name", "Name")
    assert read["name"][:2] == ["x", ""] and not any(read["Name"])


@settings(max_examples=30)
@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_a_range_holds_every_value(case: Case, tmp_path: Path, ids: list[int | None]) -> None:
    file = case.file(tmp_path, pa.table({"id": pa.array(ids, pa.int64())}))
    for part in case.format.slices([file], {}):
        known = registry.slice_range(part, ("id",))
        for value in values(case, part, "id")["id"]:
            assert value is None or known is None or (known[0] == "number" and known[1] <= value <= known[2])
    assert registry.slice_range(part, ("nowhere",)) is None


@pytest.mark.parametrize("content", [b"", b"garbage", b"#LINES{}garbage", b"PAR1"])
def test_a_damaged_file_is_a_reason(case: Case, tmp_path: Path, content: bytes) -> None:
    case.path(tmp_path).write_bytes(content)
    with pytest.raises(TableError):
        case.format.profile(str(case.path(tmp_path)), STORE)
    with pytest.raises(TableError):
        case.format.profile(str(tmp_path / "gone"), STORE)


def test_a_file_that_can_be_profiled_and_not_be_read_is_a_reason(case: Case, tmp_path: Path) -> None:
    file = case.file(tmp_path, TABLE)
    (part, *_) = case.format.slices([file], {})
    assert registry.try_to_read(part) == ""
    Path(file.path).unlink()
    with pytest.raises(TableError):
        registry.try_to_read(part)
    with pytest.raises(TableError):
        registry.read_slice(part, [("id",)])


def test_a_partition_of_unknown_rows_has_bounds_that_are_valid_and_not_exact(case: Case, tmp_path: Path) -> None:
    files = tuple(case.file(tmp_path / day, TABLE, partition=(("day", day),)) for day in ("1", "2"))
    table = Table("t", case.name, str(tmp_path), files)
    profiles = [case.format.profile(file.path, STORE) for file in files]
    _, profile = table_profile(table, merge_files(profiles))
    stats = dict(zip(profile.schema.columns, profile.stats, strict=True))
    (day,) = (known for column, known in stats.items() if column.token == ("day",))
    exact = not case.format.capabilities.without_row_counts
    assert day == ColumnStats(0, 1, 2, exact, exact)
    assert profile.rows == (2 * TABLE.num_rows if exact else None)
