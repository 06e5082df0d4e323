"""Docs that cannot go stale: what is not in them fails a test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from r2d2.app.proposal import plan_lake
from r2d2.app.recipes import Entry
from r2d2.cli.main import cli
from r2d2.cli.reference import reference
from r2d2.engine.recipes.jobs import Difference
from r2d2.flows.update import Update
from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.proposal import LogMatch
from r2d2.model.recipe import Recipe, projection
from r2d2.model.schema import Column
from r2d2.pipeline import PLAN, SCAN, UPDATE
from r2d2.report.edges import EDGE_FIELDS
from r2d2.report.explain import Explanation
from r2d2.report.find import Finding, Likeness
from r2d2.report.plan import access_json, proposal_json
from r2d2.report.recipe import recipe_entry, recipe_trial
from r2d2.report.update import update_report
from r2d2.settings import Settings, declarations
from r2d2.state.recipes import StoredRecipe
from r2d2.steps.find_changes import Change, Changes, TableChange
from tests.state.scans import plain_scan
from tests.support.priced_lakes import NOW_NS, every_row, lake

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def test_the_cli_reference_is_what_the_program_says() -> None:
    assert (DOCS / "cli-reference.md").read_text() == reference(), "run `make docs`"


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_command_is_in_the_readme(command: str) -> None:
    assert re.search(rf"\br2d2 {command}\b", (ROOT / "README.md").read_text())


@pytest.mark.parametrize("setting", [declaration.name for declaration in declarations()])
def test_every_setting_is_in_the_reference(setting: str) -> None:
    assert f"`{setting}`" in (DOCS / "cli-reference.md").read_text()


@pytest.mark.parametrize("step", sorted({step.name for flow in (SCAN, PLAN, UPDATE) for step in flow}))
def test_every_step_is_explained(step: str) -> None:
    assert f"`{step}`" in (DOCS / "how-it-works.md").read_text()


@pytest.mark.parametrize(("flow", "steps"), [("SCAN", SCAN), ("PLAN", PLAN), ("UPDATE", UPDATE)])
def test_the_map_shows_each_flow_as_it_is(flow: str, steps: tuple[Any, ...]) -> None:
    drawn = " ".join((DOCS / "architecture.md").read_text().split())
    assert f"{flow} {' → '.join(step.name for step in steps)}" in drawn


def test_the_json_shapes_are_documented_field_by_field() -> None:
    page = (DOCS / "json.md").read_text()
    explanation = Explanation("p", "c", (Evidence("check", Verdict.POSSIBLE, "because"),))
    for field in (*EDGE_FIELDS, *explanation.to_json()):
        assert f'"{field}"' in page, field


def test_the_json_shapes_of_recipes_are_documented_field_by_field() -> None:
    page = (DOCS / "json.md").read_text()
    recipe = Recipe(projection([Column(("x",), "int64")]))
    entry = Entry(StoredRecipe("p", "c", "1", "2", "given", recipe), current=True)
    trial = recipe_trial(recipe, Difference(), parent="p", child="c").to_json()
    for field in (*recipe_entry(entry).to_json(), *trial):
        assert f'"{field}"' in page, field
    for field in ("columns", "where", "distinct", "rows"):
        assert f"`{field}`" in (DOCS / "recipes.md").read_text()


def test_the_json_of_updates_and_findings_is_documented_field_by_field() -> None:
    page = (DOCS / "json.md").read_text()
    scan = plain_scan()
    done = Update(scan, scan, Changes((), (), (TableChange("t", Change.NEW, "why"),)), 0, 0)
    finding = Finding("p", 1, 1, (Likeness("t", 1, 1.0, True, 0),), (), (), (), "run")
    updated, found = update_report(done, "state").to_json(), finding.to_json()
    for field in (*updated, *updated["changed"][0], *found, *found["equal"][0]):
        assert f'"{field}"' in page, field


def test_the_json_of_plans_is_documented_field_by_field() -> None:
    section = (DOCS / "json.md").read_text().partition("## r2d2 plan\n")[2].partition("\n## ")[0]
    scan = lake({"a": 1.0, "b": 1.0, "c": 1.0}, [("a", "b"), ("b", "a"), ("a", "c")])
    settings = Settings(prices="azure", min_age=0)
    proposal = plan_lake(scan, every_row(scan), settings, now_ns=NOW_NS).proposal
    found = proposal_json(proposal)
    nested = [
        *found["deletions"][0]["equal_kept"],
        *found["kept"][0],
        *access_json(LogMatch("", 1, 1, 0, ())),
    ]
    for field in (*found, *found["deletions"][0], "access"):
        assert f"`{field}`" in section, field
    for field in nested:
        assert f'"{field}"' in section, field


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_no_link_between_pages_is_broken(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_no_address_of_a_package_index_and_no_path_of_this_machine_is_committed() -> None:
    for lock in (ROOT / "requirements").iterdir():
        assert not re.search(r"https?://|--(extra-)?index-url|find-links", lock.read_text())
