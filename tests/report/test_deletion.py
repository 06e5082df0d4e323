"""Deleted tables as documents and in words."""

from __future__ import annotations

from dataclasses import replace

from r2d2.report.deletion import (
    BAD,
    doctor_report,
    drill_in_words,
    place_in_words,
    purge_report,
    restore_in_words,
    status_report,
    tables_report,
)
from r2d2.safety import doctor
from r2d2.safety.doctor import NOTE, Finding
from r2d2.safety.purge import Purge
from r2d2.safety.recovery import Recovered
from r2d2.safety.restore import Restore
from r2d2.safety.status import Status, TableStatus
from r2d2.steps.sum_savings import Saved

TABLE = TableStatus(
    "t", "t", "quarantined", "quarantine", "slot", "plan", "me", 0, 5, 100, "p", 200, 0, False, None, "", 86_400,
    0, None, None, 0,
)  # fmt: skip
SAVED = Saved("EUR", storage=3.0, maintenance=2.0, rebuilds=1.0, rows_not_scanned=5, bytes_not_scanned=6)


def test_a_report_says_what_was_recovered_and_what_became_of_each_table() -> None:
    report = tables_report([Recovered("t", "put back", "crash")], [Restore("t", "slot", True, "recipe", "/t", "")])
    document = report.to_json()
    assert list(document) == ["recovered", "tables"]
    assert document["tables"][0]["by"] == "recipe" and document["recovered"][0]["did"] == "put back"


def test_freed_bytes_add_up() -> None:
    done = [Purge("a", "1", True, 7, ""), Purge("b", "2", False, 0, "too early"), Purge("c", "3", True, 5, "")]
    assert purge_report((), done).freed_bytes == 12


def test_status_has_pins_by_name_and_the_sum_of_the_savings() -> None:
    found = Status((TABLE,), (("p", 2),), 100, 0, 1, None)
    document = status_report((), found, SAVED, wrong=3).to_json()
    assert document["pins"] == ({"table": "p", "deleted_tables": 2},)
    assert document["saved"]["total"] == 4.0 and document["saved"]["storage"] == 3.0
    assert (document["wrong"], document["quarantined_bytes"], document["held_by"]) == (3, 100, None)


def test_a_note_leaves_a_lake_healthy_and_a_wrong_thing_does_not() -> None:
    note, wrong = Finding(NOTE, "drill", "t", "never drilled"), Finding(doctor.BAD, "parent", "t", "changed")
    assert BAD == doctor.BAD
    assert doctor_report((), [note]).healthy
    sick = doctor_report((), [note, wrong])
    assert (sick.healthy, sick.wrong, sick.notes) == (False, [wrong], [note])


def test_the_place_of_a_table_in_words() -> None:
    assert place_in_words(TABLE, 0) == "quarantine, 1.0 days left"
    assert place_in_words(TABLE, 86_400) == "quarantine, may be purged"
    elsewhere = replace(TABLE, purge_from=None)
    assert place_in_words(replace(elsewhere, place="recipe"), 0) == "purged; its recipe rebuilds it"
    assert place_in_words(replace(elsewhere, place="nowhere"), 0) == "lost, and given up"
    assert place_in_words(replace(elsewhere, place="lake", state="undone"), 0) == "lake (undone)"
    assert place_in_words(replace(elsewhere, place="on the way", state="moving"), 0) == "on the way (moving)"


def test_the_last_drill_in_words() -> None:
    assert drill_in_words(TABLE) == "never"
    assert drill_in_words(replace(TABLE, drills=1, drill_failed="a row differs")) == "failed: a row differs"
    assert drill_in_words(replace(TABLE, drills=2, drill_seconds=1.25)) == "exact, 1.2 s"


def test_a_table_rebuilt_by_its_recipe_says_why_it_did_not_come_from_quarantine() -> None:
    assert restore_in_words(Restore("t", "s", True, "quarantine", "/t", "")) == "from quarantine"
    assert restore_in_words(Restore("t", "s", True, "recipe", "/t", "it was purged")) == "by recipe: it was purged"
