"""Every figure can be followed with a calculator; what is too slow or has no recipe falls, and says so."""

from __future__ import annotations

import pytest

from r2d2.model.prices import Speed, Usage
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.price_edges import Terms, price_edges
from tests.support.priced_lakes import GIB, PRICES, every_row, lake, listed_rows

SCAN = lake(
    {"all": 10.0, "copy": 10.0, "part": 2.0}, [("all", "copy"), ("copy", "all"), ("all", "part"), ("copy", "part")]
)
ALL, COPY, PART = range(3)


def terms(**other: object) -> Terms:
    given = {
        "prices": PRICES,
        "speed": Speed(GIB, GIB / 2),
        "usage": [Usage(0.5, 4.0)] * 3,
        "latency_seconds": 100.0,
    }
    return Terms(**(given | other))  # type: ignore[arg-type]


def test_keeping_costs_storage_and_maintenance() -> None:
    graph = price_edges(SCAN, recipes=every_row(SCAN), terms=terms(), must_keep={}).graph
    # 1 a GiB and month, and 4 scans a month that read each GiB for 1
    assert list(graph.retain_cost) == pytest.approx([50, 50, 10])


def test_a_rebuild_reads_the_parent_and_writes_the_child() -> None:
    priced = price_edges(SCAN, recipes=every_row(SCAN), terms=terms(), must_keep={})
    rebuild = priced.rebuilds[ALL, PART]
    assert rebuild.cost == pytest.approx(10 * 1 + 2 * 2)
    assert rebuild.seconds == pytest.approx(10 + 2 * 2)
    place = list(zip(priced.graph.parents, priced.graph.children, strict=True)).index((ALL, PART))
    assert priced.graph.rebuild_cost[place] == pytest.approx(0.5 * 14)


def test_the_horizon_multiplies_everything() -> None:
    one = price_edges(SCAN, recipes=every_row(SCAN), terms=terms(), must_keep={}).graph
    year = price_edges(SCAN, recipes=every_row(SCAN), terms=terms(months=12.0), must_keep={}).graph
    assert list(year.retain_cost) == pytest.approx([12 * cost for cost in one.retain_cost])
    assert list(year.rebuild_cost) == pytest.approx([12 * cost for cost in one.rebuild_cost])


def test_an_edge_that_is_too_slow_falls_with_the_seconds() -> None:
    priced = price_edges(SCAN, recipes=every_row(SCAN), terms=terms(latency_seconds=14.0), must_keep={})
    assert not priced.rebuilds
    assert "would take 14 s, and less than 14 s is allowed" in priced.fallen[ALL, PART]
    just = price_edges(SCAN, recipes=every_row(SCAN), terms=terms(latency_seconds=14.1), must_keep={})
    assert set(just.rebuilds) == {(ALL, PART), (COPY, PART)}


def test_a_drill_counts_more_than_an_estimate() -> None:
    drilled = terms(latency_seconds=20.0, measured_seconds={(ALL, PART): 30.0, (ALL, COPY): 5.0})
    priced = price_edges(SCAN, recipes=every_row(SCAN), terms=drilled, must_keep={})
    assert "took 30 s" in priced.fallen[ALL, PART]
    assert priced.rebuilds[ALL, COPY].seconds == 5.0 and priced.rebuilds[ALL, COPY].measured


def test_an_edge_without_a_recipe_falls_with_the_reason() -> None:
    recipes = every_row(SCAN) | {(ALL, PART): NoRecipe("it is odd")}
    del recipes[COPY, PART]
    priced = price_edges(SCAN, recipes=recipes, terms=terms(), must_keep={})
    assert priced.fallen == {(ALL, PART): "it is odd", (COPY, PART): "no recipe has been looked for"}


def test_a_list_of_rows_costs_its_storage() -> None:
    recipes = every_row(SCAN) | {(ALL, PART): listed_rows(GIB // 1024)}
    graph = price_edges(SCAN, recipes=recipes, terms=terms(), must_keep={}).graph
    costs = dict(zip(zip(graph.parents, graph.children, strict=True), graph.rebuild_cost, strict=True))
    assert costs[ALL, PART] - costs[COPY, PART] == pytest.approx(1 / 1024)


def test_guards_are_handed_on() -> None:
    priced = price_edges(SCAN, recipes=every_row(SCAN), terms=terms(), must_keep={PART: "it is protected"})
    assert priced.graph.must_keep == {PART: "it is protected"}


def test_a_time_is_never_told_as_nothing_unless_it_is() -> None:
    priced = price_edges(
        SCAN, recipes=every_row(SCAN), terms=terms(latency_seconds=0.0, speed=Speed(1e15, 1e15)), must_keep={}
    )
    assert priced.fallen[ALL, PART].startswith("rebuilding it would take 1.3e-05 s, and less than 0 s is allowed")


def test_the_start_of_spark_is_part_of_a_rebuild() -> None:
    slow = terms(latency_seconds=20.0, speed=Speed(GIB, GIB / 2, 10.0))
    assert "would take 24 s" in price_edges(SCAN, recipes=every_row(SCAN), terms=slow, must_keep={}).fallen[ALL, PART]
