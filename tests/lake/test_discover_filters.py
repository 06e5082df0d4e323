"""Include and exclude take or leave tables, and never make one smaller."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.lake.discover import discover
from r2d2.lake.filters import Patterns

NAMES = st.lists(st.text("ab[]*?!/", min_size=1, max_size=6), min_size=1, max_size=6)
FILES = ["sales/2023/part-0.parquet", "sales/2024/part-0.parquet", "sales/all.parquet", "hr/d=1/0.parquet"]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"PAR1 and so on")
    return tmp_path


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        ([], [], ["hr", "sales/2023", "sales/2024", "sales/all.parquet"]),
        (["sales"], [], ["sales/2023", "sales/2024", "sales/all.parquet"]),
        (["sales/"], ["sales/2023/"], ["sales/2024", "sales/all.parquet"]),
        (["*2*"], [], ["sales/2023", "sales/2024"]),
        ([], ["sales/*"], ["hr"]),
        ([], ["sales/202?", "hr"], ["sales/all.parquet"]),
        (["sales/*"], ["*.parquet"], ["sales/2023", "sales/2024"]),
        (["hr", "sales/2024"], ["hr"], ["sales/2024"]),
    ],
)
def test_tables_are_taken_and_left_by_name(lake: Path, include: list[str], exclude: list[str], left: list[str]) -> None:
    found = discover([str(lake)], include=include, exclude=exclude)
    assert [table.name for table in found.tables] == left and not found.problems


def test_a_pattern_on_a_partition_changes_no_table_and_is_named(lake: Path) -> None:
    found = discover([str(lake)], exclude=["hr/d=1"])
    assert len(found.tables[0].files) == 1
    assert [(problem.where, problem.kind) for problem in found.problems] == [("hr/d=1", "notice")]


def test_if_nothing_is_left_the_user_is_told_how_names_look(lake: Path) -> None:
    with pytest.raises(UserError, match=r"leave none of 4 tables\nHint: .*hr, sales/2023"):
        discover([str(lake)], include=["2023"])


def test_an_excluded_table_inside_another_is_unexplained_there(lake: Path) -> None:
    (lake / "hr/old").mkdir()
    (lake / "hr/old/part-0.parquet").write_bytes(b"PAR1")
    found = discover([str(lake)], exclude=["hr/old"])
    assert found.tables[0].unexplained == ("old/",) and not found.overlaps


def test_a_problem_goes_with_what_is_excluded_and_stays_with_what_is_asked_for(lake: Path) -> None:
    (lake / "hr/d=2").mkdir()
    for name in ("hr/d=2/0.parquet", "hr/part-0.parquet"):
        (lake / name).write_bytes(b"PAR1")
    assert [problem.where for problem in discover([str(lake)]).problems] == ["hr"]
    assert not discover([str(lake)], exclude=["hr"]).problems
    assert not discover([str(lake)], include=["sales/*"]).problems
    assert [problem.where for problem in discover([str(lake)], include=["sales/*", "hr/*"]).problems] == ["hr", "hr/*"]
    assert discover([str(lake)], include=["*2024"]).problems


def test_excluding_one_of_two_hard_linked_tables_leaves_the_other(lake: Path) -> None:
    (lake / "copy.parquet").hardlink_to(lake / "sales/all.parquet")
    found = discover([str(lake)], exclude=["copy.parquet"])
    assert "sales/all.parquet" in [table.name for table in found.tables]


@given(NAMES)
def test_a_name_given_back_means_just_that_name_and_what_is_below(names: list[str]) -> None:
    names = sorted({name.strip("/") for name in names if name.strip("/")})
    for name in names:
        patterns = Patterns([name], known=names)
        assert [one for one in names if patterns.match(one)] == [
            one for one in names if one == name or one.startswith(f"{name}/")
        ]
