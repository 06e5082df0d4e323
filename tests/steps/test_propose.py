"""A proposal says of each table that goes what it saves and risks, and of each contained one that stays why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from r2d2.model.prices import Speed, Usage
from r2d2.model.proposal import Proposal, Risk
from r2d2.model.recipe import Recipe
from r2d2.steps.choose_deletions import choose_deletions
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.prefer_tables import prefer_tables
from r2d2.steps.price_edges import Terms, price_edges
from r2d2.steps.propose import propose
from tests.support.priced_lakes import GIB, PRICES, Pair, every_row, lake, listed_rows

SCAN = lake({"all": 10.0, "part": 2.0, "other": 5.0}, [("all", "part")])
ALL, PART, OTHER = range(3)
TERMS = Terms(prices=PRICES, speed=Speed(GIB, GIB / 2), usage=[Usage(0.1, 4.0)] * 3, latency_seconds=100.0)


def proposed(
    recipes: Mapping[Pair, Recipe | NoRecipe] | None = None,
    *,
    terms: Terms = TERMS,
    must_keep: Mapping[int, str] | None = None,
    given: Collection[Pair] = (),
) -> Proposal:
    known = every_row(SCAN) if recipes is None else recipes
    priced = price_edges(SCAN, recipes=known, terms=terms, must_keep=must_keep or {}, given=given)
    preferences = prefer_tables(SCAN, reads_per_month=None, is_preferred=lambda name: False)
    choice = choose_deletions(priced.graph)
    return propose(SCAN, priced=priced, choice=choice, recipes=known, terms=terms, preferences=preferences, given=given)


def test_a_deletion_comes_with_its_figures() -> None:
    proposal = proposed()
    (line,) = proposal.deletions
    assert (line.table, line.parent, line.recipe, line.given) == ("part", "all", "projection", False)
    assert line.sql == "SELECT x FROM all"
    assert (line.storage_saved, line.maintenance_saved) == pytest.approx((2.0, 8.0))
    assert line.rebuild_cost == pytest.approx(10 + 2 * 2) and line.rebuild_seconds == pytest.approx(10 + 2 * 2)
    assert line.saved == pytest.approx(2 + 8 - 0.1 * 14)
    assert proposal.saved == pytest.approx(line.saved) and proposal.lake_cost == pytest.approx(17 * 5)
    assert (proposal.lake_tables, proposal.currency, proposal.proven) == (3, "EUR", True)


def test_the_horizon_changes_no_figure_of_a_month() -> None:
    (month,), (year,) = proposed().deletions, proposed(terms=replace(TERMS, months=12.0)).deletions
    assert year.saved == pytest.approx(month.saved) and year.storage_saved == pytest.approx(month.storage_saved)


@pytest.mark.parametrize(
    ("recipe", "terms", "risk", "says"),
    [
        (None, TERMS, Risk.LOW, "every row of its parent"),
        (listed_rows(10), TERMS, Risk.MEDIUM, "listed by place"),
        (None, replace(TERMS, latency_seconds=20.0), Risk.HIGH, "a rebuild takes 14 s of the 20 s allowed"),
        (None, replace(TERMS, usage=[Usage(4.0, 40.0)] * 3), Risk.HIGH, "it is read 4.0 times a month"),
    ],
)
def test_the_risk_is_the_worst_that_can_be_said(recipe: Recipe | None, terms: Terms, risk: Risk, says: str) -> None:
    (line,) = proposed({(ALL, PART): recipe} if recipe else None, terms=terms).deletions
    assert line.risk is risk and says in line.risk_because


def test_a_contained_table_that_stays_says_why_and_any_other_is_not_named() -> None:
    held = proposed(must_keep={PART: "it is under legal hold"})
    assert not held.deletions and [(one.table, one.because) for one in held.kept] == [
        ("part", "it is under legal hold")
    ]
    none = proposed({(ALL, PART): NoRecipe("too many rows")})
    assert [(one.table, one.because) for one in none.kept] == [("part", "too many rows")]
    assert not proposed().kept


def test_a_recipe_that_a_person_gave_is_marked() -> None:
    recipes = every_row(SCAN) | {(ALL, OTHER): every_row(SCAN)[ALL, PART]}
    assert {line.table: line.given for line in proposed(recipes, given={(ALL, OTHER)}).deletions} == {
        "part": False,
        "other": True,
    }
