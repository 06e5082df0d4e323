"""Choose deletions so that keeping the rest and rebuilding on demand costs least (Opt-Ret, sections 5.2 and 5.3)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from r2d2.model.priced import Choice, Component, Method, PricedGraph
from r2d2.solve.dyn_lin import dyn_lin
from r2d2.solve.opt_ret import opt_ret
from r2d2.solve.prefer import NOISE, keep_preferred
from r2d2.solve.problem import (
    RETAINED,
    Flags,
    Floats,
    Ints,
    Problem,
    Solution,
    part_of,
    useful_edges,
    weak_components,
    with_edges,
)
from r2d2.solve.trees import solve_trees

METHODS = (Method.DYN_LIN, Method.TREE, Method.OPT_RET)


def choose_deletions(
    graph: PricedGraph,
    *,
    time_limit_seconds: float = math.inf,
    equals: Iterable[Sequence[int]] = (),
    most_given_up: float = 0.0,
) -> Choice:
    """The cheapest choice; or, if the time limit stops the solver, the best one found and its gap.

    *equals* are groups of equal tables, those that should rather stay first. Among choices of the same cost they do;
    they also do at more cost, as long as no more than the share *most_given_up* of the savings is lost by it.

    Edges that cannot pay are left out first. What then hangs together is solved apart: a path by Dyn-Lin, a tree by its
    generalisation, anything else by the integer program.
    """
    whole = problem_of(graph)
    useful = with_edges(whole, useful_edges(whole))
    layout = _layout(useful)
    solved = _solve(useful, layout.method[layout.component], time_limit_seconds)
    retain_all = float(whole.retain.sum())
    budget = most_given_up * (retain_all - solved.objective)
    solution, given_up = keep_preferred(useful, solved, equals, budget=budget)
    deleted = np.flatnonzero(solution.parent != RETAINED)
    components = tuple(_components(layout, solution, solved))
    return Choice(
        deleted=array("I", deleted.astype(np.uint32).tobytes()),
        rebuilt_from=array("I", solution.parent[deleted].astype(np.uint32).tobytes()),
        kept_because=_reasons(graph, useful, solution),
        objective=solution.objective,
        retain_all=retain_all,
        lower_bound=(solved if given_up else solution).objective - float(solved.gap.sum()),
        proven=solved.proven and not given_up,
        components=components,
        given_up=given_up,
    )


def problem_of(graph: PricedGraph) -> Problem:
    """The graph as the algorithms take it."""
    must_keep = np.zeros(len(graph.tables), np.bool_)
    must_keep[list(graph.must_keep)] = True
    return Problem(
        np.array(graph.retain_cost, np.float64),
        must_keep,
        np.array(graph.parents, np.int64),
        np.array(graph.children, np.int64),
        np.array(graph.rebuild_cost, np.float64),
    )


class _Layout(NamedTuple):
    component: Ints  # of each table
    method: Ints  # of each component: its place in METHODS, or -1: one table without an edge
    tables: Ints
    edges: Ints


def _layout(problem: Problem) -> _Layout:
    """Split the problem into connected components, each with the method that solves it."""
    lowest = weak_components(len(problem), problem.parents, problem.children)
    component = np.asarray(np.unique(lowest, return_inverse=True)[1], np.int64)
    tables = np.bincount(component)
    edges = np.bincount(component[problem.parents], minlength=len(tables))
    method = np.full(len(tables), METHODS.index(Method.OPT_RET))
    method[_neighbours(problem, component, len(tables)) == tables - 1] = METHODS.index(Method.TREE)
    branching = np.zeros(len(tables), np.bool_)
    for ends in (problem.parents, problem.children):
        branching[component[np.bincount(ends, minlength=len(problem)) > 1]] = True
    method[~branching & (edges == tables - 1)] = METHODS.index(Method.DYN_LIN)
    method[tables == 1] = -1
    return _Layout(component, method, tables, edges)


def _neighbours(problem: Problem, component: Ints, components: int) -> Ints:
    """How many pairs of tables have an edge, either way or both, in each component."""
    low, high = np.minimum(problem.parents, problem.children), np.maximum(problem.parents, problem.children)
    pairs = np.unique(low * len(problem) + high)
    return np.bincount(component[pairs // max(1, len(problem))], minlength=components)


def _solve(problem: Problem, method: Ints, time_limit_seconds: float) -> Solution:
    """Each method once, on all the tables that it is for."""
    parent, cost = np.full(len(problem), RETAINED, np.int64), problem.retain.copy()
    gap = np.zeros(len(problem))
    for number, name in enumerate(METHODS):
        part, old = part_of(problem, method == number)
        if len(old):
            found = _solve_by(name, part, time_limit_seconds)
            parent[old] = np.where(found.parent == RETAINED, RETAINED, old[found.parent])
            cost[old], gap[old] = found.cost, found.gap
    return Solution(parent, cost, gap)


def _solve_by(method: Method, problem: Problem, time_limit_seconds: float) -> Solution:
    if method is Method.DYN_LIN:
        return dyn_lin(problem)
    if method is Method.TREE:
        return solve_trees(problem)
    return opt_ret(problem, time_limit_seconds=time_limit_seconds)


def _components(layout: _Layout, solution: Solution, solved: Solution) -> Iterator[Component]:
    """Cost of each component; the bound is the solver's, from before preferred tables were exchanged for others."""
    cost = _sums(layout, solution.cost)
    cheapest = _sums(layout, solved.cost)
    bound = np.where(np.abs(cost - cheapest) <= NOISE * cost, cost, cheapest) - _sums(layout, solved.gap)
    for number in np.flatnonzero(layout.method >= 0).tolist():
        method = METHODS[layout.method[number]]
        counts = int(layout.tables[number]), int(layout.edges[number])
        yield Component(method, *counts, float(cost[number]), float(bound[number]))


def _sums(layout: _Layout, values: Floats) -> Floats:
    sums = np.bincount(layout.component, weights=values, minlength=len(layout.tables))
    return sums.astype(np.float64)


def _reasons(graph: PricedGraph, useful: Problem, solution: Solution) -> tuple[str, ...]:
    """Why each table that is not deleted stays, in one sentence; empty for the deleted."""
    serves = _children_served(solution)
    has_parent = _marked(len(graph.tables), np.array(graph.children, np.int64))
    could_pay = _marked(len(graph.tables), useful.children)
    retained = solution.parent == RETAINED
    could_go = _marked(len(graph.tables), useful.children[retained[useful.parents]])
    reasons = []
    for table, parent in enumerate(solution.parent.tolist()):
        if parent != RETAINED:
            reasons.append("")
        elif table in graph.must_keep:
            reasons.append(graph.must_keep[table])
        elif not has_parent[table]:
            reasons.append("no other table is known that it can be rebuilt from")
        elif not could_pay[table]:
            reasons.append("rebuilding it whenever it is read would cost at least as much as keeping it")
        elif table in serves:
            reasons.append(_serves(graph, *serves[table]))
        elif could_go[table]:
            reasons.append("the best choice that was found in the time allowed keeps it")
        else:
            reasons.append("every table that it could be rebuilt from at less cost than keeping it is itself deleted")
    return tuple(reasons)


def _marked(count: int, tables: Ints) -> Flags:
    marks = np.zeros(count, np.bool_)
    marks[tables] = True
    return marks


def _children_served(solution: Solution) -> dict[int, tuple[int, int]]:
    """For each chosen parent, the first table that is rebuilt from it, and how many are."""
    deleted = np.flatnonzero(solution.parent != RETAINED)
    parents, first, count = np.unique(solution.parent[deleted], return_index=True, return_counts=True)
    return dict(zip(parents.tolist(), zip(deleted[first].tolist(), count.tolist(), strict=True), strict=True))


def _serves(graph: PricedGraph, child: int, count: int) -> str:
    others = f" and {count - 1:,} more" if count > 1 else ""
    return f"it is kept as the parent that {graph.tables[child]}{others} can be rebuilt from"
