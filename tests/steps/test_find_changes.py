"""What happened to a table is proven by its files; whatever is not, counts as replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.scan import Scan
from r2d2.model.schema import Column, Schema
from r2d2.model.table import Absent, DataFile, Problem, Table
from r2d2.model.versions import FileVersion
from r2d2.steps.find_changes import Change, find_changes, in_doubt, touched_tables, unchanged_tables

LONG_AGO_NS = 1_600_000_000_123_456_789
ID, NAME = Column(("id",), "int64"), Column(("name",), "string")


def file(number: int, **other: object) -> DataFile:
    version = FileVersion(str(number), "as written")
    plain = DataFile(f"/lake/t/part-{number}.parquet", 100, LONG_AGO_NS + number, version, (), ((5, 60),))
    return replace(plain, **other)  # type: ignore[arg-type]


def changed(one: DataFile, **version: object) -> DataFile:
    """The file in another version."""
    return replace(one, version=one.version._replace(**version))  # type: ignore[arg-type]


def lake(
    files: Sequence[DataFile], columns: Sequence[Column] = (ID, NAME), *, name: str = "t", **other: object
) -> Scan:
    table = Table(name, "parquet", f"/lake/{name}", tuple(files))
    rows = sum(one.rows for one in files)
    profile = TableProfile(name, Schema.of(columns), rows, 100 * len(files), (ColumnStats(),) * len(columns))
    scan = Scan(("/lake",), tables=(table,), profiles=(profile,))
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
    return tuple(replace(one, parts=()) for one in table.files)


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
        (lake([changed(file(1), identity="9"), file(2)]), Change.REPLACED),
        (lake([changed(file(1), state="written to"), file(2)]), Change.REPLACED),
        (lake([file(1, partition=(("day", "1"),)), file(2)]), Change.REPLACED),
        (lake([file(1), file(3)]), Change.REPLACED),
        (lake([changed(file(1), state="written to"), file(2), file(3)]), Change.REPLACED),
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


def test_a_file_that_may_have_changed_after_it_was_listed_is_in_doubt() -> None:
    doubtful = lake([changed(file(1), settled=False), file(2)])
    assert change(doubtful, doubtful) is Change.REPLACED
    assert change(doubtful, OLD) is Change.REPLACED
    assert in_doubt(doubtful) == {"t"} and in_doubt(OLD) == set()


def test_a_file_that_is_no_longer_settled_is_the_same_but_its_new_version_counts() -> None:
    """So it goes where a clock was set back: the next update must not trust the file."""
    now = lake([changed(file(1), settled=False), file(2)])
    assert find_changes(OLD, now).kinds == (Change.SAME,)
    assert not unchanged_tables(OLD, now.tables), "the old versions would be taken over"


def test_a_renamed_table_in_doubt_is_a_new_one() -> None:
    old = lake([changed(file(1), settled=False), file(2)])
    assert find_changes(old, lake([moved(1), moved(2)], name="u")).kinds == (Change.NEW,)


def test_a_table_whose_rows_could_not_be_read_is_asked_again() -> None:
    assert change(replace(OLD, problems=(Problem("t", "damaged"),)), OLD) is Change.REPLACED
    assert change(replace(OLD, problems=(Problem("t", "odd", kind="notice"),)), OLD) is Change.SAME


def moved(number: int) -> DataFile:
    return file(number, path=f"/lake/u/part-{number}.parquet")


def test_the_same_files_under_another_name_are_the_same_table() -> None:
    found = find_changes(OLD, lake([moved(1), moved(2)], name="u"))
    assert found.kinds == (Change.RENAMED,) and found.old_numbers == (0,)
    (renamed,) = found.changed
    assert (renamed.table, renamed.before) == ("u", "t")


def test_files_that_were_themselves_renamed_are_read_again_and_known_by_their_old_name() -> None:
    found = find_changes(OLD, lake([changed(moved(1), state="renamed"), moved(2)], name="u"))
    assert found.kinds == (Change.REPLACED,) and touched_tables(found) == [0]
    (renamed,) = found.changed
    assert (renamed.table, renamed.before) == ("u", "t") and "read again" in renamed.because


@pytest.mark.parametrize(
    "new",
    [
        lake([moved(1)], name="u"),
        lake([moved(1), moved(2)], [ID], name="u"),
        lake([moved(1), replace(changed(moved(2), state="written to"), modified_ns=5)], name="u"),
    ],
)
def test_other_files_under_another_name_are_a_new_table(new: Scan) -> None:
    found = find_changes(OLD, new)
    assert found.kinds == (Change.NEW,)
    assert [one.change for one in found.changed] == [Change.NEW, Change.DELETED]


NOTHING = Scan(("/lake",))


@pytest.mark.parametrize(
    "problem",
    [
        Problem("t", "part-1.parquet ends before its footer"),
        Problem("t", "is a Delta table; not supported yet", kind="unsupported"),
    ],
)
def test_a_table_that_can_no_longer_be_read_is_not_called_deleted(problem: Problem) -> None:
    (one,) = find_changes(OLD, replace(NOTHING, problems=(problem,))).changed
    assert one.change is Change.UNREADABLE
    assert one.because == f"it can no longer be read: {problem.because}"


def test_the_tables_below_a_folder_that_cannot_be_listed_are_unreadable() -> None:
    old = lake([file(1)], name="sales/2024/t")
    (one,) = find_changes(old, replace(NOTHING, problems=(Problem("sales", "permission denied"),))).changed
    assert (one.change, one.because) == (Change.UNREADABLE, "it can no longer be read: sales: permission denied")


@pytest.mark.parametrize(
    "problem",
    [
        Problem("sale", "permission denied"),
        Problem("sales/t2", "permission denied"),
        Problem("sales", "3 CSV files; not supported yet", kind="unsupported"),
        Problem("sales/t", "an alias", kind="notice"),
    ],
)
def test_a_problem_of_something_else_does_not_hide_that_a_table_is_gone(problem: Problem) -> None:
    (one,) = find_changes(lake([file(1)], name="sales/t"), replace(NOTHING, problems=(problem,))).changed
    assert (one.change, one.because) == (Change.DELETED, "it is no longer there")


def test_a_table_that_can_be_read_again_was_there_before() -> None:
    old = replace(NOTHING, problems=(Problem("t", "part-1.parquet ends before its footer"),))
    (one,) = find_changes(old, OLD).changed
    assert (one.change, one.because) == (Change.NEW, "it could not be read before")


def test_what_is_absent_on_purpose_stays_and_what_is_broken_does_not() -> None:
    there = lake([changed(file(1), settled=False)])
    away = replace(there, absent={"t": Absent("u")})
    gone = find_changes(there, away)
    assert gone.kinds == (Change.SAME,) and [one.change for one in gone.changed] == [Change.DELETED]
    assert not find_changes(away, away), "that is no news the second time"
    assert find_changes(away, there).kinds == (Change.REPLACED,), "pairs with what came meanwhile were never asked"
    assert in_doubt(there) == {"t"} and in_doubt(away) == set()
    broken = find_changes(OLD, OLD, broken={"t": "a page is damaged"})
    assert broken.kinds == (Change.REPLACED,)
    assert [one.because for one in broken.changed] == ["its rows cannot be read now: a page is damaged"]


def test_tables_that_begin_or_cease_to_share_files_are_asked_again() -> None:
    other = replace(OLD.tables[0], name="u", location="/lake/u", files=(moved(3),))
    both = replace(OLD, tables=(*OLD.tables, other), profiles=(*OLD.profiles, replace(OLD.profiles[0], table="u")))
    sharing = replace(both, overlaps=frozenset({("t", "u")}))
    assert find_changes(both, both).kinds == find_changes(sharing, sharing).kinds == (Change.SAME, Change.SAME)
    for old, new in ((both, sharing), (sharing, both)):
        assert find_changes(old, new).kinds == (Change.REPLACED, Change.REPLACED)
