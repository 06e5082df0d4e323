"""Docs that cannot go stale: what is not in them fails a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from r2d2.cli.main import cli
from r2d2.cli.reference import reference
from r2d2.cli.show import explanation_as_dict
from r2d2.cli.show_recipe import entry_as_dict, trial_as_dict
from r2d2.cli.show_update import finding_as_dict, update_as_dict
from r2d2.engine.recipes import Difference
from r2d2.finding import Finding, Likeness
from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.recipe import Recipe, projection
from r2d2.model.schema import Column
from r2d2.pipeline import STEPS
from r2d2.recipe_book import Entry
from r2d2.report.edges import EDGE_FIELDS
from r2d2.report.explain import Explanation
from r2d2.settings import declarations
from r2d2.state.recipes import StoredRecipe
from r2d2.steps.find_changes import Change, Changes, TableChange
from r2d2.updating import Update
from tests.state.scans import plain_scan

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


@pytest.mark.parametrize("step", [step.name for step in STEPS])
def test_every_step_is_explained(step: str) -> None:
    assert f"`{step}`" in (DOCS / "how-it-works.md").read_text()


def test_the_json_shapes_are_documented_field_by_field() -> None:
    page = (DOCS / "json.md").read_text()
    explanation = Explanation("p", "c", (Evidence("check", Verdict.POSSIBLE, "because"),))
    for field in (*EDGE_FIELDS, *explanation_as_dict(explanation)):
        assert f'"{field}"' in page, field


def test_the_json_shapes_of_recipes_are_documented_field_by_field() -> None:
    page = (DOCS / "json.md").read_text()
    recipe = Recipe(projection([Column(("x",), "int64")]))
    entry = Entry(StoredRecipe("p", "c", "1", "2", "given", recipe), current=True)
    trial = trial_as_dict(recipe, Difference(), parent="p", child="c")
    for field in (*entry_as_dict(entry), *trial):
        assert f'"{field}"' in page, field
    for field in ("columns", "where", "distinct", "rows"):
        assert f"`{field}`" in (DOCS / "recipes.md").read_text()


def test_the_json_of_updates_and_findings_is_documented_field_by_field() -> None:
    page = (DOCS / "json.md").read_text()
    scan = plain_scan()
    done = Update(scan, scan, Changes((), (), (TableChange("t", Change.NEW, "why"),)), 0, 0)
    finding = Finding("p", 1, 1, (Likeness("t", 1, 1.0, True, 0),), (), (), (), "run")
    updated, found = update_as_dict(done, "state"), finding_as_dict(finding)
    for field in (*updated, *updated["changed"][0], *found, *found["equal"][0]):
        assert f'"{field}"' in page, field


@pytest.mark.parametrize("page", [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"], ids=lambda page: page.name)
def test_no_link_between_pages_is_broken(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_no_address_of_a_package_index_and_no_path_of_this_machine_is_committed() -> None:
    for lock in (ROOT / "requirements").iterdir():
        assert not re.search(r"https?://|--(extra-)?index-url|find-links", lock.read_text())
