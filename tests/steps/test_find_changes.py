"""What happened to a table is proven by its files; whatever is not, counts as replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.scan import Scan
from r2d2.model.schema import Column, Schema
from r2d2.model.table import Absent, DataFile, Problem, Table
from r2d2.steps.find_changes import CLOCK_NS, Change, find_changes, in_doubt, touched_tables, unchanged_tables

LISTED_NS = 2_000_000_000_500_000_000
LONG_AGO_NS = 1_600_000_000_123_456_789
ID, NAME = Column(("id",), "int64"), Column(("name",), "string")


def file(number: int, **other: object) -> DataFile:
    plain = DataFile(f"/lake/t/part-{number}.parquet", 100, LONG_AGO_NS + number, (1, number), (), ((5, 60),))
    return replace(plain, **other)  # type: ignore[arg-type]


def lake(
    files: Sequence[DataFile], columns: Sequence[Column] = (ID, NAME), *, name: str = "t", **other: object
) -> Scan:
    table = Table(name, "parquet", f"/lake/{name}", tuple(files))
    rows = sum(one.rows for one in files)
    profile = TableProfile(name, Schema.of(columns), rows, 100 * len(files), (ColumnStats(),) * len(columns))
    scan = Scan(("/lake",), tables=(table,), profiles=(profile,), listed_ns=LISTED_NS)
    return replace(scan, **other)  # type: ignore[arg-type]


def change(old: Scan, new: Scan) -> Change:
    found = find_changes(old, new)
    (kind,) = found.kinds
    same = table_names(unchanged_tables(old, [replace(t, files=bare(t)) for t in new.tables]))
    assert (kind is Change.SAME) == bool(same)
    assert touched_tables(found) == ([] if kind in (Change.SAME, Change.RENAMED) else [0])
    return kind


def bare(table: Table) -> tuple[DataFile, ...]:
    """The files as they are listed, before their footers are read."""
    return tuple(replace(one, row_groups=()) for one in table.files)


def table_names(found: dict[str, int]) -> list[str]:
    return list(found)


OLD = lake([file(1), file(2)])


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (lake([file(1), file(2)]), Change.SAME),
        (lake([file(2), file(1)]), Change.SAME),
        (lake([file(1), file(2), file(3)]), Change.GROWN),
        (lake([file(1), file(2), file(3)], [ID, NAME, Column(("more",), "int64")]), Change.GROWN),
        (lake([file(1)]), Change.SHRUNK),
        (lake([file(1)], [ID]), Change.SHRUNK),
        (lake([file(1, size_bytes=101), file(2)]), Change.REPLACED),
        (lake([file(1, modified_ns=LONG_AGO_NS + 9), file(2)]), Change.REPLACED),
        (lake([file(1, identity=(1, 9)), file(2)]), Change.REPLACED),
        (lake([file(1, changed_ns=9), file(2)]), Change.REPLACED),
        (lake([file(1, partition=(("day", "1"),)), file(2)]), Change.REPLACED),
        (lake([file(1), file(3)]), Change.REPLACED),
        (lake([file(1, size_bytes=101), file(2), file(3)]), Change.REPLACED),
        (lake([file(1), file(2), file(3)], [ID]), Change.REPLACED),
        (lake([file(1), file(2), file(3)], [Column(("id",), "string"), NAME]), Change.REPLACED),
        (lake([file(1)], [Column(("id",), "int32"), NAME]), Change.REPLACED),
        (lake([file(1), file(2)], [ID]), Change.REPLACED),
    ],
)
def test_files_and_columns_say_what_happened(new: Scan, expected: Change) -> None:
    if expected is Change.REPLACED and new.tables[0].files == OLD.tables[0].files:
        assert find_changes(OLD, new).kinds == (expected,)  # the files are the same, the profile is not
    else:
        assert change(OLD, new) is expected


@pytest.mark.parametrize(
    ("modified_ns", "expected"),
    [
        (LISTED_NS - CLOCK_NS - 1, Change.SAME),
        (LISTED_NS - CLOCK_NS + 1, Change.REPLACED),
        (LISTED_NS + 10**12, Change.REPLACED),
        (LISTED_NS - 500_000_000, Change.REPLACED),  # a time in whole seconds: such clocks are coarse
        (LISTED_NS - 2_500_000_000, Change.SAME),
    ],
)
def test_a_file_that_was_written_just_before_it_was_listed_is_in_doubt(modified_ns: int, expected: Change) -> None:
    scan = lake([file(1, modified_ns=modified_ns)])
    assert change(scan, scan) is expected


def test_a_time_in_the_future_says_nothing_and_the_system_s_stamp_does() -> None:
    for changed_ns, expected in ((LONG_AGO_NS, Change.SAME), (LISTED_NS, Change.REPLACED), (0, Change.REPLACED)):
        ahead = file(1, modified_ns=LISTED_NS + 10**18, changed_ns=changed_ns)
        assert change(lake([ahead]), lake([ahead])) is expected


def test_a_table_whose_rows_could_not_be_read_is_asked_again() -> None:
    assert change(replace(OLD, problems=(Problem("t", "damaged"),)), OLD) is Change.REPLACED
    assert change(replace(OLD, problems=(Problem("t", "odd", kind="notice"),)), OLD) is Change.SAME


def test_a_scan_that_does_not_say_when_it_listed_is_not_trusted() -> None:
    assert change(replace(OLD, listed_ns=0), OLD) is Change.REPLACED


def moved(number: int) -> DataFile:
    return file(number, path=f"/lake/u/part-{number}.parquet")


def test_the_same_files_under_another_name_are_the_same_table() -> None:
    found = find_changes(OLD, lake([moved(1), moved(2)], name="u"))
    assert found.kinds == (Change.RENAMED,) and found.old_numbers == (0,)
    (renamed,) = found.changed
    assert (renamed.table, renamed.before) == ("u", "t")


def test_files_that_were_themselves_renamed_are_read_again_and_known_by_their_old_name() -> None:
    found = find_changes(OLD, lake([replace(moved(1), changed_ns=9), moved(2)], name="u"))
    assert found.kinds == (Change.REPLACED,) and touched_tables(found) == [0]
    (renamed,) = found.changed
    assert (renamed.table, renamed.before) == ("u", "t") and "read again" in renamed.because


@pytest.mark.parametrize(
    "new",
    [
        lake([moved(1)], name="u"),
        lake([moved(1), moved(2)], [ID], name="u"),
        lake([moved(1), replace(moved(2), modified_ns=5)], name="u"),
    ],
)
def test_other_files_under_another_name_are_a_new_table(new: Scan) -> None:
    found = find_changes(OLD, new)
    assert found.kinds == (Change.NEW,)
    assert [one.change for one in found.changed] == [Change.NEW, Change.DELETED]


def test_what_is_absent_on_purpose_stays_and_what_is_broken_does_not() -> None:
    there = lake([file(1, modified_ns=LISTED_NS)])
    away = replace(there, absent={"t": Absent("u")})
    gone = find_changes(there, away)
    assert gone.kinds == (Change.SAME,) and [one.change for one in gone.changed] == [Change.DELETED]
    assert not find_changes(away, away), "that is no news the second time"
    assert find_changes(away, there).kinds == (Change.REPLACED,), "pairs with what came meanwhile were never asked"
    assert in_doubt(there) == {"t"} and in_doubt(away) == set()
    assert find_changes(OLD, OLD, broken=["t"]).kinds == (Change.REPLACED,)


def test_tables_that_begin_or_cease_to_share_files_are_asked_again() -> None:
    other = replace(OLD.tables[0], name="u", location="/lake/u", files=(moved(3),))
    both = replace(OLD, tables=(*OLD.tables, other), profiles=(*OLD.profiles, replace(OLD.profiles[0], table="u")))
    sharing = replace(both, overlaps=frozenset({("t", "u")}))
    assert find_changes(both, both).kinds == find_changes(sharing, sharing).kinds == (Change.SAME, Change.SAME)
    for old, new in ((both, sharing), (sharing, both)):
        assert find_changes(old, new).kinds == (Change.REPLACED, Change.REPLACED)
