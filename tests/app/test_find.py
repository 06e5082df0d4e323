"""`find` says of a table outside the lake what a scan with that table inside would say, and what it nearly is in."""

from __future__ import annotations

import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.app.find import hold_against
from r2d2.errors import UserError
from r2d2.model.evidence import Verdict
from r2d2.model.scan import Scan
from r2d2.report.find import Finding, Likeness
from r2d2.settings import Settings
from r2d2.steps import prune_by_content, verify_containment
from r2d2.steps.edges.compare_profiles import compare_schemas
from r2d2.synthetic.oracle.truth import TrueEdge, brute_force_edges
from r2d2.synthetic.oracle.truth_rows import read_rows
from tests.support.in_process import Reader
from tests.support.random_changes import ChangingLake


def find(scan: Scan, path: Path, **given: Any) -> Finding:
    return hold_against(scan, str(path), Settings(**given), Reader().tools)


def truth(folder: Path, stranger: Path, names: tuple[str, ...]) -> dict[tuple[str, str], TrueEdge]:
    tables = {name: read_rows(folder / name) for name in names} | {"it": read_rows(stranger)}
    return {(edge.parent, edge.child): edge for edge in brute_force_edges(tables, all_pairs=True)}


def as_dict(found: tuple[Likeness, ...]) -> dict[str, tuple[int, bool]]:
    return {one.table: (one.missing_rows, one.bag) for one in found}


@settings(max_examples=80, database=None)
@given(st.integers(0, 10**9), st.booleans())
def test_what_is_found_is_what_counting_every_row_gives(seed: int, all_are_small: bool) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(prune_by_content, "WITHIN", 0.0 if all_are_small else 1.0)
        patch.setattr(verify_containment, "SMALL_ROWS", 20_000 if all_are_small else 0)
        (Path(name) / "lake").mkdir()
        lake = ChangingLake(Path(name) / "lake", rng, tidy=True)
        for _ in range(rng.randint(0, 3)):
            rng.choice([lake.add, lake.add_copy, lake.append])()
        lake.add()
        stranger = (lake.folder / lake.names[rng.randrange(len(lake.names))]).rename(Path(name) / "stranger")
        scan = Reader().scan(str(lake.folder), Settings())
        found = find(scan, stranger)
        profile = Reader().scan(str(stranger), Settings()).profiles[0]
        expected = truth(lake.folder, stranger, tuple(table.name for table in scan.tables))
    above = {p: (e.missing_rows, e.bag) for (p, c), e in expected.items() if c == "it" and e.contained}
    below = {c: (e.missing_rows, e.bag) for (p, c), e in expected.items() if p == "it" and e.contained}
    equal = {t for t in above.keys() & below.keys() if above[t][1] and below[t][1]}
    assert as_dict(found.equal).keys() == equal
    assert as_dict(found.contained_in) == {table: counts for table, counts in above.items() if table not in equal}
    assert as_dict(found.contains) == {table: counts for table, counts in below.items() if table not in equal}
    assert found.is_there == bool(above)
    for one in found.nearest:
        edge = expected[one.table, "it"]
        assert (one.missing_rows, one.bag) == (edge.missing_rows, edge.bag) and 0 < one.containment < 1
        assert one.containment == pytest.approx(edge.containment)
    # A column of another kind can share nothing but NULLs: such tables are not called near.
    kin = {p.table for p in scan.profiles if compare_schemas(parent=p, child=profile).verdict is Verdict.POSSIBLE}
    some = {p for (p, c), e in expected.items() if c == "it" and p in kin and 0 < e.missing_rows < found.rows}
    if all_are_small and len(some) <= 5:
        assert as_dict(found.nearest).keys() == some


def write(path: Path, ids: list[int]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": ids}), path)
    os.utime(path, ns=(10**18, 10**18))
    return path


@pytest.fixture
def scan(tmp_path: Path) -> Scan:
    write(tmp_path / "lake" / "all.parquet", list(range(100)))
    write(tmp_path / "lake" / "few.parquet", list(range(10)))
    return replace(Reader().scan(str(tmp_path / "lake"), Settings()), run="first")


def test_a_near_miss_outside_the_range_is_named_too(scan: Scan, tmp_path: Path) -> None:
    found = find(scan, write(tmp_path / "in.parquet", [1, 2, 3, 1000]))
    assert not found.is_there
    assert as_dict(found.nearest) == {"all.parquet": (1, False), "few.parquet": (1, False)}
    assert find(scan, tmp_path / "in.parquet", nearest=0).nearest == ()
    assert len(find(scan, tmp_path / "in.parquet", nearest=1).nearest) == 1


def test_the_nearest_is_found_among_many_that_look_alike_in_selective_columns(tmp_path: Path) -> None:
    """Tables of the same five keys and another status have no row of it, and must not crowd out the one that has."""

    def write_versions(path: Path, status: list[int]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        keys = {f"key{place}": [1_000 * n + place for n in range(100)] for place in range(5)}
        pq.write_table(pa.table(keys | {"status": status}), path)
        os.utime(path, ns=(10**18, 10**18))
        return path

    for version in range(12):
        write_versions(tmp_path / "lake" / f"v{version}.parquet", [2 + version % 3] * 100)
    write_versions(tmp_path / "lake" / "z.parquet", [1] * 60 + [5] * 40)
    lake = replace(Reader().scan(str(tmp_path / "lake"), Settings()), run="first")
    found = find(lake, write_versions(tmp_path / "in.parquet", [1] * 99 + [7]), nearest=1)
    assert as_dict(found.nearest) == {"z.parquet": (40, False)}


def test_a_table_of_the_lake_is_there_but_not_its_own_copy(scan: Scan, tmp_path: Path) -> None:
    found = find(scan, tmp_path / "lake" / "few.parquet")
    assert as_dict(found.contained_in) == {"all.parquet": (0, True)} and not found.equal
    assert found.says == "is the table few.parquet of the lake; others have its rows, too"
    (tmp_path / "link.parquet").hardlink_to(tmp_path / "lake" / "all.parquet")
    again = replace(Reader().scan(str(tmp_path / "lake"), Settings()), run="second")  # a link changes its file's stamp
    (tmp_path / "sym.parquet").symlink_to(tmp_path / "lake" / "all.parquet")
    for path in ("lake/all.parquet", "link.parquet", "sym.parquet"):
        found = find(again, tmp_path / path)
        assert (found.is_there, found.is_table, found.problems) == (True, "all.parquet", ())
        assert not found.equal and not found.contained_in and "no other has all its rows" in found.says


def test_tables_that_share_files_with_it_are_named_as_not_compared(scan: Scan, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "part-0.parquet", [5000])
    (tmp_path / "in" / "part-1.parquet").hardlink_to(tmp_path / "lake" / "few.parquet")
    again = replace(Reader().scan(str(tmp_path / "lake"), Settings()), run="second")
    found = find(again, tmp_path / "in")
    assert not found.is_there and not found.needs_a_look
    assert [(one.where, one.kind) for one in found.problems] == [("few.parquet", "notice")]


def test_a_lake_that_changed_since_gives_no_answer(scan: Scan, tmp_path: Path) -> None:
    stranger = write(tmp_path / "in.parquet", [1])
    write(tmp_path / "lake" / "few.parquet", [1, 2])
    with pytest.raises(UserError, match=r"few\.parquet has changed since the scan"):
        find(scan, stranger)
    (tmp_path / "lake" / "few.parquet").unlink()
    with pytest.raises(UserError, match=r"few\.parquet has changed since the scan"):
        find(scan, stranger)


def test_a_table_that_has_grown_since_gives_no_answer(tmp_path: Path) -> None:
    write(tmp_path / "lake" / "t" / "part-0.parquet", [1, 2])
    scan = replace(Reader().scan(str(tmp_path / "lake"), Settings()), run="first")
    stranger = write(tmp_path / "in.parquet", [3])
    assert not find(scan, stranger).is_there
    write(tmp_path / "lake" / "t" / "part-1.parquet", [3])
    with pytest.raises(UserError, match="t has changed since the scan"):
        find(scan, stranger)


def test_new_tables_matter_if_they_may_have_its_rows(scan: Scan, tmp_path: Path) -> None:
    stranger = write(tmp_path / "in.parquet", [1])
    pq.write_table(pa.table({"other": ["x"]}), tmp_path / "lake" / "other.parquet")
    assert find(scan, stranger).is_there
    inside = write(tmp_path / "lake" / "new.parquet", [1, 7000])
    assert not find(scan, inside).is_there, "it is itself new, which does not matter"
    with pytest.raises(UserError, match=r"new\.parquet is new since the scan"):
        find(scan, stranger)


def test_what_is_not_one_readable_table_is_refused(scan: Scan, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds 2 tables"):
        find(scan, tmp_path / "lake")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1cut")
    with pytest.raises(UserError, match=r"cannot read .*cut\.parquet"):
        find(scan, tmp_path / "cut.parquet")
    with pytest.raises(UserError, match="no such file"):
        find(scan, tmp_path / "nowhere")
