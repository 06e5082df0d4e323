"""A plan saves what it says, keeps what it must, and says of each contained table why it stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from r2d2.app.assumptions import WEEKS_PER_MONTH, read_assumptions
from r2d2.app.proposal import plan_lake, savings_curve
from r2d2.errors import UserError
from r2d2.model.proposal import Risk, Rule
from r2d2.model.recipe import Recipe, projection
from r2d2.model.scan import Scan
from r2d2.settings import Settings, load_settings
from r2d2.steps.infer_recipes import NoRecipe
from tests.support.priced_lakes import DAY_NS, NOW_NS, SCHEMA, Pair, every_row, lake, listed_rows

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
    given = {"prices": str(tmp_path / "prices.toml"), "accesses_per_week": 0.1, "read_speed": 1024}
    given |= {"write_speed": 512, "spark_start": 0}
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
        ("latency", 1.0, "less than 1 s"),
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


def test_a_table_whose_rows_are_unknown_never_goes(settings: Settings) -> None:
    unknown = replace(SCAN, profiles=tuple(replace(profile, rows=None) for profile in SCAN.profiles))
    proposal = plan_lake(unknown, every_row(unknown), settings, now_ns=NOW_NS).proposal
    assert not proposal.deletions
    assert {line.because for line in proposal.kept} == {"its rows have not been counted"}


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


def log_of(tmp_path: Path, *names: str) -> str:
    lines = "".join(f"{name},2026-01-{1 + n % 28:02}T00:00:00Z\n" for n, name in enumerate(names))
    (tmp_path / "log.csv").write_text("table,time\n" + lines)
    return str(tmp_path / "log.csv")


@pytest.mark.parametrize("naming", ["main.{}", "s3://bucket/lake/{}", "/mnt/lake/{}"])
def test_a_log_in_another_naming_does_not_make_the_lake_unread(settings: Settings, tmp_path: Path, naming: str) -> None:
    log = log_of(tmp_path, *(naming.format(name) for name in ("all", "copy", "part") * 9))
    with pytest.raises(UserError, match="less than half of the lines"):
        planned(replace(settings, access=log))
    names = "".join(f"{naming.format(name)},{name}\n" for name in ("all", "copy", "part"))
    (tmp_path / "names.csv").write_text("name,table\n" + names)
    found = planned(replace(settings, access=log, access_names=str(tmp_path / "names.csv")))
    assert not found.proposal.deletions and found.access.share == 1  # type: ignore[attr-defined]


def test_lines_about_deleted_or_unreadable_tables_do_not_spoil_a_log(settings: Settings, tmp_path: Path) -> None:
    asked = replace(settings, access=log_of(tmp_path, "part", "gone", "gone", "gone"))
    with pytest.raises(UserError, match="1 of 4"):
        plan_lake(SCAN, every_row(SCAN), asked, now_ns=NOW_NS)
    assumed = read_assumptions(SCAN, asked, deleted=["gone"])
    assert assumed.access is not None and (assumed.access.matched, assumed.access.not_scanned) == (1, 3)


def test_names_without_a_log_are_refused(settings: Settings) -> None:
    with pytest.raises(UserError, match="--access-names"):
        planned(replace(settings, access_names="names.csv"))


EQUAL = [("a_scratch", "gold/orders"), ("gold/orders", "a_scratch")]


def aged(scan: Scan, days: dict[str, float]) -> Scan:
    tables = [
        replace(t, files=(replace(t.files[0], modified_ns=round(NOW_NS - days.get(t.name, 100) * DAY_NS)),))
        for t in scan.tables
    ]
    return replace(scan, tables=tuple(tables))


def kept_of_two(scan: Scan, settings: Settings) -> tuple[str, Rule, str]:
    (line,) = plan_lake(scan, every_row(scan), settings, now_ns=NOW_NS).proposal.deletions
    assert line.equal_kept is not None and line.equal_kept.table == line.parent
    return line.parent, line.equal_kept.rule, line.equal_kept.because


def test_of_equal_tables_the_older_stays_whatever_the_alphabet_says(settings: Settings) -> None:
    scan = aged(lake({"a_scratch": 5.0, "gold/orders": 5.0}, EQUAL), {"gold/orders": 900})
    kept, rule, because = kept_of_two(scan, settings)
    assert (kept, rule) == ("gold/orders", Rule.AGE) and "1970-04-11" in because
    a_little_dearer = aged(lake({"a_scratch": 5.0, "gold/orders": 5.01}, EQUAL), {"gold/orders": 900})
    assert kept_of_two(a_little_dearer, settings)[:2] == ("gold/orders", Rule.AGE)


def test_the_rules_for_equal_tables_are_asked_in_their_order(settings: Settings, tmp_path: Path) -> None:
    scan = lake({"a_scratch": 5.0, "gold/orders": 5.0}, EQUAL)
    assert kept_of_two(scan, settings)[:2] == ("a_scratch", Rule.DEPTH)
    prefer = replace(settings, prefer=("gold",))
    assert kept_of_two(aged(scan, {"a_scratch": 900}), prefer)[:2] == ("gold/orders", Rule.PREFER)
    read = replace(prefer, access=log_of(tmp_path, "a_scratch"), accesses_per_week=0.0)
    assert kept_of_two(scan, read)[:2] == ("a_scratch", Rule.READS)
    assert kept_of_two(scan, replace(settings, protect=("gold",)))[:2] == ("gold/orders", Rule.GUARD)
    words = lake(
        {"a/orders_copy": 5.0, "b/orders": 5.0}, [("a/orders_copy", "b/orders"), ("b/orders", "a/orders_copy")]
    )
    assert kept_of_two(words, settings)[:2] == ("b/orders", Rule.NAME)
    same = lake({"b": 5.0, "a": 5.0}, [("a", "b"), ("b", "a")])
    assert kept_of_two(same, settings)[:2] == ("a", Rule.ALPHABET)


def test_a_preference_that_costs_too_much_is_not_met_and_says_so(settings: Settings) -> None:
    scan = lake({"a_scratch": 5.0, "gold/orders": 8.0}, EQUAL)
    prefer = replace(settings, prefer=("gold",))
    assert kept_of_two(scan, prefer)[:2] == ("a_scratch", Rule.COST)
    proposal = plan_lake(scan, every_row(scan), replace(prefer, prefer_cost=0.5), now_ns=NOW_NS).proposal
    assert proposal.deletions[0].parent == "gold/orders" and proposal.given_up > 0 and not proposal.proven
    cheapest = plan_lake(scan, every_row(scan), replace(prefer, prefer_cost=0.0), now_ns=NOW_NS).proposal
    assert cheapest.proven and cheapest.given_up == 0
    assert proposal.saved == pytest.approx(cheapest.saved - proposal.given_up)
    assert proposal.gap == pytest.approx(proposal.given_up / (proposal.lake_cost - proposal.saved))


def test_children_follow_to_the_preferred_parent(settings: Settings) -> None:
    deleted = gone(replace(settings, prefer=("copy",)))
    assert deleted == {"all": "copy", "part": "copy"}
    assert gone(replace(settings, prefer=("all",))) == {"copy": "all", "part": "all"}


def test_a_glob_that_prefers_nothing_is_pointed_out(settings: Settings) -> None:
    notes = planned(replace(settings, prefer=("nothing*",))).notes  # type: ignore[attr-defined]
    assert notes == ("--prefer nothing* matches no table",)


def test_a_given_recipe_counts_where_the_scan_found_no_edge(settings: Settings) -> None:
    other, part = SCAN.number_of["other"], SCAN.number_of["part"]
    recipes = {(part, other): Recipe(projection(SCHEMA))}
    assert "other" not in gone(settings, recipes)
    proposal = planned(settings, recipes, given={(part, other)}).proposal  # type: ignore[attr-defined]
    (line,) = proposal.deletions
    assert (line.table, line.parent, line.given) == ("other", "part", True)
    held = replace(settings, protect=("other",))
    assert because(held, "other", recipes, given={(part, other)}) == "it is protected"


def test_estimates_and_drills_include_the_start_of_spark_and_logged_times_are_as_they_are(
    settings: Settings, tmp_path: Path
) -> None:
    started = replace(settings, spark_start=12.0, protect=("copy",))

    def seconds(asked: Settings, **other: object) -> float:
        proposal = planned(asked, **other).proposal  # type: ignore[attr-defined]
        return float(next(line.rebuild_seconds for line in proposal.deletions if line.table == "part"))

    assert seconds(started) == pytest.approx(12 + seconds(replace(started, spark_start=0.0)))
    assert seconds(started, measured_seconds={(0, 2): 7.0, (1, 2): 7.0}) == 19.0
    (tmp_path / "took.csv").write_text("parent,child,seconds\nall,part,50\ncopy,part,50\n")
    assert seconds(replace(started, latencies=str(tmp_path / "took.csv"))) == 50.0


def test_every_reason_is_at_hand(settings: Settings) -> None:
    names = {"part": 2.0} | {f"all{number}": 10.0 + number for number in range(5)}
    scan = lake(names, [(f"all{number}", "part") for number in range(5)])
    recipes = {pair: NoRecipe(f"reason {pair[0]}") for pair in every_row(scan)}
    (kept,) = plan_lake(scan, recipes, settings, now_ns=NOW_NS).proposal.kept
    assert kept.because == "reason 1; reason 2 (and 3 more reasons)"
    assert kept.reasons == tuple(f"reason {number}" for number in range(1, 6))
