"""A table that must stay says why, by its strongest reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from r2d2.model.table import Table
from r2d2.steps.protect_tables import Guards, days_untouched, protect_tables
from tests.support.priced_lakes import NOW_NS, lake

SCAN = lake({"all": 10.0, "part": 2.0}, [("all", "part")], days_old=100)
GUARDS = Guards(now_ns=NOW_NS)
PART = 1


def owned_by_ann(table: Table) -> str:
    return "ann" if table.name == "part" else ""


# Every guard, the strongest first; each with its reason.
REASONS: list[tuple[dict[str, Any], str]] = [
    ({"deleted": frozenset({"part"})}, "a table of this name is deleted, and not restored yet"),
    ({"held": frozenset({"part"})}, "it is under legal hold"),
    ({"protected": frozenset({"part"})}, "it is protected"),
    ({"fixed": {PART: "tables of this format are not rebuilt"}}, "tables of this format are not rebuilt"),
    ({"parents_of_deleted": {"part": "gone"}}, "gone, which was deleted, is rebuilt from it"),
    ({"taken_apart": {"part": "a b"}}, "it is named like a part of a larger table; `r2d2 scan --split 'a b'` says"),
    ({"protected_owner": owned_by_ann}, "it belongs to ann"),
    ({"min_age_days": 101.0}, "it was written to 100.0 days ago, and must be left alone for 101 (--min-age)"),
]


def test_nothing_is_kept_without_a_reason() -> None:
    kept = protect_tables(SCAN, GUARDS)
    assert kept.because == {} and not kept.young


@pytest.mark.parametrize(("guard", "says"), REASONS)
def test_each_guard_keeps_its_table_and_says_why(guard: dict[str, Any], says: str) -> None:
    kept = protect_tables(SCAN, replace(GUARDS, **guard))
    assert kept.because[PART].startswith(says)
    assert set(kept.because) == ({0, PART} if "min_age_days" in guard else {PART})


@pytest.mark.parametrize("place", range(len(REASONS)))
def test_the_strongest_reason_is_given(place: int) -> None:
    guards = GUARDS
    for guard, _ in REASONS[place:]:
        guards = replace(guards, **guard)
    assert protect_tables(SCAN, guards).because[PART].startswith(REASONS[place][1])


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"unexplained": ("notes.txt",)}, "its folder also holds notes.txt, which is no part of it"),
        ({"aliases": ("link",)}, "it is also known as link"),
    ],
)
def test_a_table_that_cannot_go_alone_stays(other: dict[str, Any], says: str) -> None:
    tables = (SCAN.tables[0], replace(SCAN.tables[PART], **other))
    assert protect_tables(replace(SCAN, tables=tables), GUARDS).because == {PART: says}


def test_tables_that_share_files_both_stay() -> None:
    kept = protect_tables(replace(SCAN, overlaps=frozenset({("all", "part")})), GUARDS)
    assert kept.because == {0: "it shares files with part", PART: "it shares files with all"}


def test_an_empty_table_stays_unless_asked_for() -> None:
    profiles = (SCAN.profiles[0], replace(SCAN.profiles[PART], rows=0))
    empty = replace(SCAN, profiles=profiles)
    assert "it is empty" in protect_tables(empty, GUARDS).because[PART]
    assert protect_tables(empty, replace(GUARDS, empty_too=True)).because == {}
    unknown = replace(SCAN, profiles=(SCAN.profiles[0], replace(SCAN.profiles[PART], rows=None)))
    assert "not been counted" in protect_tables(unknown, GUARDS).because[PART]


def test_only_those_are_young_that_nothing_else_keeps() -> None:
    kept = protect_tables(SCAN, replace(GUARDS, min_age_days=101.0, held=frozenset({"all"})))
    assert kept.young == {"part"} and kept.because.keys() == {0, PART}


def test_owners_are_asked_only_where_no_stronger_reason_stands() -> None:
    asked: list[str] = []

    def owner(table: Table) -> str:
        asked.append(table.name)
        return ""

    protect_tables(SCAN, replace(GUARDS, held=frozenset({"part"}), protected_owner=owner))
    assert asked == ["all"]


def test_the_age_of_a_table_is_that_of_its_newest_file() -> None:
    assert days_untouched(SCAN.tables[0], now_ns=NOW_NS) == pytest.approx(100)
    (file,) = SCAN.tables[0].files
    two = replace(SCAN.tables[0], files=(file, replace(file, modified_ns=NOW_NS)))
    assert days_untouched(two, now_ns=NOW_NS) == 0
