"""A plan saves what it says, keeps what it must, and says of each contained table why it stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from r2d2.model.plan import Risk
from r2d2.planning import WEEKS_PER_MONTH, plan_lake, savings_curve
from r2d2.settings import Settings, load_settings
from r2d2.steps.infer_recipes import NoRecipe
from tests.priced_lakes import NOW_NS, Pair, every_row, lake, listed_rows

PRICE_FILE = """
name = "round figures"
currency = "EUR"
source = "nowhere"
date = "2026"
storage_per_gib_month = 1
read_per_10000_requests = 9.765625
write_per_10000_requests = 19.53125
read_request_mib = 1
write_request_mib = 1
"""
SCAN = lake(
    {"all": 10.0, "copy": 10.0, "part": 2.0, "other": 5.0},
    [("all", "copy"), ("copy", "all"), ("all", "part"), ("copy", "part")],
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "prices.toml").write_text(PRICE_FILE)
    given = {"prices": str(tmp_path / "prices.toml"), "accesses_per_week": 0.1, "read_speed": 1024, "write_speed": 512}
    return load_settings(given, environment={}, folder=tmp_path)


def planned(settings: Settings, recipes: object = None, **other: object) -> object:
    return plan_lake(SCAN, recipes or every_row(SCAN), settings, now_ns=NOW_NS, **other)  # type: ignore[arg-type]


def gone(settings: Settings, recipes: object = None, **other: object) -> dict[str, str]:
    return {line.table: line.parent for line in planned(settings, recipes, **other).proposal.deletions}  # type: ignore[attr-defined]


def because(settings: Settings, table: str, recipes: object = None, **other: object) -> str:
    kept = planned(settings, recipes, **other).proposal.kept  # type: ignore[attr-defined]
    return next(line.because for line in kept if line.table == table)


def test_one_of_two_equal_tables_goes_and_so_does_the_part(settings: Settings) -> None:
    deleted = gone(settings)
    assert len(deleted) == 2 and "part" in deleted
    assert set(deleted.values()) <= {"all", "copy"} - deleted.keys()


def test_the_sum_can_be_followed_with_a_calculator(settings: Settings) -> None:
    proposal = planned(settings).proposal  # type: ignore[attr-defined]
    copy, part = sorted(proposal.deletions, key=lambda line: -line.size_bytes)
    accesses, scans = 0.1 * WEEKS_PER_MONTH, WEEKS_PER_MONTH
    assert copy.saved == pytest.approx(10 + 10 * scans - accesses * (10 + 20))
    assert part.saved == pytest.approx(2 + 2 * scans - accesses * (10 + 4))
    assert proposal.saved == pytest.approx(copy.saved + part.saved)
    assert proposal.lake_cost == pytest.approx(27 * (1 + scans))
    assert copy.bytes_not_scanned == pytest.approx(copy.size_bytes * scans)
    assert proposal.proven


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("protect", ("part",), "protected"),
        ("legal_hold", ("pa*",), "legal hold"),
        ("min_age", 200.0, "100.0 days ago"),
        ("latency", 1.0, "no more than 1 s"),
        ("accesses_per_week", 100.0, ""),
    ],
)
def test_what_must_stay_stays_and_says_why(settings: Settings, setting: str, value: object, says: str) -> None:
    asked = replace(settings, **{setting: value})  # type: ignore[arg-type]
    assert "part" not in gone(asked)
    assert says in because(asked, "part")


def test_a_parent_of_something_deleted_stays(settings: Settings) -> None:
    pinned = {"part": "yesterday"}
    assert "part" not in gone(settings, parents_of_deleted=pinned)
    assert "yesterday, which was deleted" in because(settings, "part", parents_of_deleted=pinned)


def test_what_is_deleted_already_neither_goes_again_nor_rebuilds_anything(settings: Settings) -> None:
    assert gone(settings, deleted=["part"]).keys() <= {"all", "copy"}
    assert because(settings, "part", deleted=["part"]) == "a table of this name is deleted, and not restored yet"
    assert gone(settings, deleted=["copy"]) == {"part": "all"}


def test_a_table_that_others_depend_on_by_name_or_file_stays(settings: Settings) -> None:
    part = SCAN.tables[2]
    for changed, says in (
        (replace(part, unexplained=("notes.txt",)), "notes.txt"),
        (replace(part, aliases=("link",)), "also known as link"),
    ):
        scan = replace(SCAN, tables=(*SCAN.tables[:2], changed, SCAN.tables[3]))
        proposal = plan_lake(scan, every_row(scan), settings, now_ns=NOW_NS).proposal
        assert says in next(line.because for line in proposal.kept if line.table == "part")
    scan = replace(SCAN, overlaps=frozenset({("other", "part")}))
    proposal = plan_lake(scan, every_row(scan), settings, now_ns=NOW_NS).proposal
    assert "shares files with other" in next(line.because for line in proposal.kept if line.table == "part")


def test_an_empty_table_goes_only_if_asked(settings: Settings) -> None:
    scan = lake({"all": 1.0, "none": 0.5}, [("all", "none")], rows=0)
    assert not plan_lake(scan, every_row(scan), settings, now_ns=NOW_NS).proposal.deletions
    asked = replace(settings, plan_empty=True)
    assert len(plan_lake(scan, every_row(scan), asked, now_ns=NOW_NS).proposal.deletions) == 1


def test_without_a_recipe_nothing_goes(settings: Settings) -> None:
    recipes: dict[Pair, object] = {pair: NoRecipe("nobody knows how") for pair in every_row(SCAN)}
    assert gone(settings, recipes) == {}
    assert because(settings, "part", recipes) == "nobody knows how"


def test_risk_is_named_with_its_reason(settings: Settings) -> None:
    recipes = every_row(SCAN) | {(0, 2): listed_rows(10), (1, 2): listed_rows(10)}
    lines = {line.table: line for line in planned(settings, recipes).proposal.deletions}  # type: ignore[attr-defined]
    assert lines["part"].risk is Risk.MEDIUM and "exactly as they are" in lines["part"].risk_because
    assert next(line for name, line in lines.items() if name != "part").risk is Risk.LOW
    slow = {line.table: line for line in planned(replace(settings, latency=20.0)).proposal.deletions}  # type: ignore[attr-defined]
    assert slow["part"].risk is Risk.HIGH


def test_a_glob_that_guards_nothing_is_pointed_out(settings: Settings) -> None:
    notes = planned(replace(settings, protect=("nothing*",))).notes  # type: ignore[attr-defined]
    assert notes == ("--protect nothing* matches no table",)


def test_the_access_log_decides(settings: Settings, tmp_path: Path) -> None:
    lines = "".join(f"part,2026-01-{day:02}T00:00:00Z,read,ann\n" for day in range(1, 32) for _ in range(10))
    (tmp_path / "log.csv").write_text("table,time,kind,reader\n" + lines + "gone,2026-01-05T00:00:00Z,read,ann\n")
    asked = replace(settings, access=str(tmp_path / "log.csv"))
    found = planned(asked)
    assert {line.table for line in found.proposal.deletions} < {"all", "copy"}  # type: ignore[attr-defined]
    assert "gone" in found.notes[0]  # type: ignore[attr-defined]
    nobody = replace(asked, exclude_reader=("ann",), access=str(tmp_path / "log2.csv"))
    (tmp_path / "log2.csv").write_text("table,time,kind,reader\n" + lines + "all,2026-01-05T00:00:00Z,read,bob\n")
    assert "part" in gone(nobody)


def test_logged_times_of_rebuilds_count_and_drills_count_more(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "slow.csv").write_text("parent,child,seconds\nall,part,5000\ncopy,part,5000\n")
    asked = replace(settings, latencies=str(tmp_path / "slow.csv"))
    assert "took 5,000 s" in because(asked, "part")
    assert "part" in gone(asked, measured_seconds={(0, 2): 7.0, (1, 2): 7.0})


def test_the_curve_has_a_year_for_one_and_five_requests_a_week(settings: Settings) -> None:
    points = savings_curve(SCAN, every_row(SCAN), replace(settings, min_age=0.0))
    assert len(points) == 24
    once, often = ({p.months: p.saved for p in points if p.maintenance_per_week == times} for times in (1.0, 5.0))
    assert once[12] == pytest.approx(12 * once[1])
    assert all(often[month] > once[month] > 0 for month in range(1, 13))
