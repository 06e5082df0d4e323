"""A proposal says of every deletion what it saves and risks, and of every other contained table why it stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare
from r2d2.model.prices import Speed, Usage
from r2d2.model.proposal import Proposal, Risk, Rule
from r2d2.model.recipe import Recipe, SortKey, projection
from r2d2.model.scan import Scan
from r2d2.steps.choose_deletions import choose_deletions
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.prefer_tables import prefer_tables
from r2d2.steps.price_edges import Terms, price_edges
from r2d2.steps.propose import propose
from tests.support.priced_lakes import GIB, PRICES, SCHEMA, every_row, lake, listed_rows

Recipes = dict[tuple[int, int], Recipe | NoRecipe]
WHOLE = Recipe(projection(SCHEMA))


def terms(
    scan: Scan, *, accesses: float = 0.1, maintenance: float = 4.0, latency: float = 1_000.0, months: float = 1.0
) -> Terms:
    usage = [Usage(accesses, maintenance)] * len(scan.tables)
    return Terms(PRICES, Speed(GIB, GIB / 2), usage, latency, months)


def proposal(
    scan: Scan,
    recipes: Recipes | None = None,
    *,
    must_keep: dict[int, str] | None = None,
    given: set[tuple[int, int]] | None = None,
    **other: float,
) -> Proposal:
    known, agreed = recipes or every_row(scan), terms(scan, **other)
    priced = price_edges(scan, recipes=known, terms=agreed, must_keep=must_keep or {}, given=given or set())
    return propose(
        scan,
        priced=priced,
        choice=choose_deletions(priced.graph),
        recipes=known,
        terms=agreed,
        preferences=prefer_tables(scan, reads_per_month=None, is_preferred=lambda _: False),
        given=given or set(),
    )


@settings(max_examples=100)
@given(st.data())
def test_every_contained_table_goes_or_stays_for_a_reason_and_the_savings_add_up(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 6))
    names = [f"t{number}" for number in range(count)]
    pairs = data.draw(st.sets(st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda p: p[0] != p[1])))
    sizes = {name: data.draw(st.integers(1, 20)) for name in names}
    scan = lake(sizes, sorted(pairs))
    recipes: Recipes = {
        pair: data.draw(st.sampled_from([WHOLE, NoRecipe("nothing was found")])) for pair in every_row(scan)
    }
    months = data.draw(st.sampled_from([1.0, 12.0]))
    result = proposal(scan, recipes, months=months)
    gone = {line.table for line in result.deletions}
    assert gone | {line.table for line in result.kept} == {child for _, child in pairs}
    assert not gone & {line.table for line in result.kept}
    assert all(line.because and line.reasons for line in result.kept)
    assert all(line.parent not in gone and (line.parent, line.table) in pairs for line in result.deletions)
    saved = [line.saved for line in result.deletions]
    assert saved == sorted(saved, reverse=True) and all(one > -1e-9 for one in saved)
    assert result.lake_cost == pytest.approx(sum(sizes.values()) * (1 + 4))  # a month, whatever the horizon


SCAN = lake({"all": 10.0, "part": 2.0}, [("all", "part")])
CONDITION = Compare(("x",), ">", Literal("int", 5))


@pytest.mark.parametrize(
    ("recipe", "other", "risk", "because"),
    [
        (WHOLE, {}, Risk.LOW, "every row of its parent is a row of it"),
        (replace(WHOLE, order=(SortKey(("x",)),)), {}, Risk.LOW, "they come back sorted by x"),
        (replace(WHOLE, lost_order="it is sorted by y"), {}, Risk.MEDIUM, "order of its rows will not come back"),
        (replace(WHOLE, where=CONDITION), {}, Risk.MEDIUM, "a condition picks its rows"),
        (listed_rows(8), {}, Risk.MEDIUM, "its rows are listed by place"),
        (WHOLE, {"latency": 20.0}, Risk.HIGH, "a rebuild takes 14 s of the 20 s allowed"),
    ],
)
def test_the_risk_is_the_worst_that_can_be_said(recipe: Recipe, other: dict, risk: Risk, because: str) -> None:  # type: ignore[type-arg]
    (line,) = proposal(SCAN, {(0, 1): recipe}, **other).deletions
    assert line.risk is risk and because in line.risk_because


def test_a_table_that_is_read_often_is_a_high_risk() -> None:
    scan = lake({"all": 0.001, "part": 100.0}, [("all", "part")])
    (line,) = proposal(scan, accesses=4.0, maintenance=400.0).deletions
    assert (line.risk, line.risk_because) == (Risk.HIGH, "it is read 4.0 times a month")


def test_the_figures_of_a_deletion_can_be_followed() -> None:
    (line,) = proposal(SCAN, months=12.0).deletions
    assert (line.table, line.parent, line.recipe, line.size_bytes) == ("part", "all", "projection", 2 * GIB)
    assert line.storage_saved == pytest.approx(2) and line.maintenance_saved == pytest.approx(8)
    assert line.rebuild_cost == pytest.approx(14) and line.rebuilds_expected == pytest.approx(0.1)
    assert line.saved == pytest.approx(2 + 8 - 1.4)


def test_why_a_table_stays_names_a_few_reasons_and_counts_the_others() -> None:
    names = ["child", *(f"parent{number}" for number in range(4))]
    scan = lake(dict.fromkeys(names, 1.0), [(name, "child") for name in names[1:]])
    recipes: Recipes = {(number, 0): NoRecipe(f"reason {number}") for number in range(1, 5)}
    (kept,) = proposal(scan, recipes).kept
    assert kept.because == "reason 1; reason 2 (and 2 more reasons)"
    assert kept.reasons == ("reason 1", "reason 2", "reason 3", "reason 4")


def test_a_guard_is_the_reason_of_the_table_that_it_keeps() -> None:
    (kept,) = proposal(SCAN, must_keep={1: "it is under legal hold"}).kept
    assert (kept.table, kept.because) == ("part", "it is under legal hold")


def test_a_pair_that_a_person_gave_a_recipe_for_is_marked() -> None:
    scan = lake({"all": 10.0, "renamed": 10.0}, [])
    (line,) = proposal(scan, {(0, 1): WHOLE}, given={(0, 1)}).deletions
    assert line.given and line.table == "renamed"
    (found,) = proposal(SCAN).deletions
    assert not found.given


def test_an_equal_table_that_stays_is_named_with_the_rule() -> None:
    scan = lake({"b": 1.0, "a_tmp": 1.0}, [("b", "a_tmp"), ("a_tmp", "b")])
    (line,) = proposal(scan, must_keep={0: "it is under legal hold"}).deletions
    assert line.equal_kept is not None
    assert (line.equal_kept.table, line.equal_kept.rule) == ("b", Rule.GUARD)
