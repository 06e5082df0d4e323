"""Opt-Ret: the optimum of any graph by integer programming (section 5.2). The only module that knows the solver.

The model is the paper's without two redundant parts. For integer x of the parents some integer y costs no more, so y
is continuous. `y_e <= 1 - x_v` only forbids paying for a rebuild that nobody needs, which no optimum does. Tables
decided by the reductions never reach the solver, and each remaining component is solved by itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import highspy
import numpy as np

from r2d2.solve.dual_ascent import cost_of, dual_ascent, settled, without_idle
from r2d2.solve.kernel import Kernel, components_of, is_parent, split_by
from r2d2.solve.problem import RETAINED, Flags, Floats, Ints, Problem, Solution, solution_from
from r2d2.solve.reduce import reduce_problem

SMALL_EDGES = 500  # smaller components share a model: starting the solver takes longer than solving them
LARGEST_COST = 1e4  # costs are scaled to this, so that the solver's absolute tolerances are far below it
TOLERANCE = 1e-9  # the solver's; also the share of its cost by which a proven choice may be off


Search = Callable[[Kernel, float], tuple[Flags | None, float]]
"""Takes a kernel and a deadline; returns the tables to retain, if it found a choice, and a lower bound."""


def opt_ret(problem: Problem, *, time_limit_seconds: float = math.inf) -> Solution:
    """The cheapest choice, or the best one found in time, with its gap."""
    return _solve(problem, time.monotonic() + time_limit_seconds, relaxation_first)


def _solve(problem: Problem, deadline: float, search: Search) -> Solution:
    kernel = reduce_problem(problem)
    retained = np.zeros(len(kernel.tables), np.bool_)
    gap = np.zeros(len(problem))
    for places, part in split_by(kernel, _models(kernel)):
        retained[places], gap[part.tables] = solve_kernel(part, deadline, search)
    return solution_from(problem, kernel.expand(retained), gap)


def _models(kernel: Kernel) -> Ints:
    """The number of the model that each table belongs to: a large component has its own, small ones are packed."""
    component = components_of(kernel)
    edges = np.bincount(component[kernel.parents], minlength=int(component.max(initial=-1)) + 1)
    filled = np.where(edges > SMALL_EDGES, 0, edges).cumsum() // SMALL_EDGES
    model = np.where(edges > SMALL_EDGES, filled.max(initial=0) + 1 + np.arange(len(edges)), filled)
    return np.asarray(model[component], np.int64)


def solve_kernel(kernel: Kernel, deadline: float, search: Search) -> tuple[Flags, Floats]:
    """Flags of the kernel's tables to retain, and gaps that sum up to what a better choice might save."""
    retained, bound = search(kernel, deadline) if time.monotonic() < deadline else (None, -math.inf)
    gap = np.zeros(len(kernel.tables))
    if retained is not None and _proves(kernel, bound, cost_of(kernel, retained)):
        return settled(kernel, retained), gap
    retained = np.zeros(len(kernel.tables), np.bool_) if retained is None else retained
    component = components_of(kernel)
    alone = not component.any()
    for places, part in split_by(kernel, component):
        ascent_bound, fair = dual_ascent(part)
        retained[places], cost = _cheaper(part, retained[places], fair)
        gap[places[0]] = max(0.0, cost - max(ascent_bound, bound if alone else -math.inf))
    return retained, gap


def _proves(kernel: Kernel, bound: float, cost: float) -> bool:
    """Whether the bound meets the cost within the solver's relative tolerance."""
    return cost - bound <= TOLERANCE * max(abs(bound), float(kernel.retain.max()))


def _cheaper(kernel: Kernel, one: Flags, other: Flags) -> tuple[Flags, float]:
    costs = cost_of(kernel, one), cost_of(kernel, other)
    cheaper = one if costs[0] <= costs[1] else other
    return settled(kernel, cheaper), min(costs)


def relaxation_first(kernel: Kernel, deadline: float) -> tuple[Flags | None, float]:
    """Solve the linear relaxation, whose optimum is nearly always integer; otherwise search the open tables.

    The first search is among the tables that the relaxation retains, wholly or in part: it gives a good choice. The
    second is among all tables except those whose reduced cost shows that retaining them costs more than that choice.
    """
    relaxed = _relaxation(kernel, deadline)
    if relaxed is None:
        return integer_search(kernel, deadline)
    fair, cost = _cheaper(kernel, relaxed.values > 0.5, without_idle(kernel, relaxed.values > 1e-6))
    if _proves(kernel, relaxed.bound, cost):
        return fair, relaxed.bound
    fair, cost = _cheaper(kernel, fair, _search_among(kernel, relaxed.values > 1e-6, deadline)[0])
    room = (cost - relaxed.bound) * (1 + 1e-6) + TOLERANCE * float(kernel.retain.max())
    retained, bound = _search_among(kernel, relaxed.reduced_costs <= room, deadline)
    return _cheaper(kernel, fair, retained)[0], max(relaxed.bound, min(bound, cost))


def _search_among(kernel: Kernel, parents: Flags, deadline: float) -> tuple[Flags, float]:
    """The best choice in which only these tables serve others, and its lower bound.

    The certain parents become one extra table that must be kept, so that the reductions can be applied again.
    """
    tables, usable = len(kernel.tables), parents[kernel.parents]
    falls = np.flatnonzero(np.isfinite(kernel.fallback))
    smaller = Problem(
        np.append(kernel.retain, 0.0),
        np.append(np.zeros(tables, np.bool_), True),
        np.concatenate([kernel.parents[usable], np.full(len(falls), tables)]),
        np.concatenate([kernel.children[usable], falls]),
        np.concatenate([kernel.rebuild[usable], kernel.fallback[falls]]),
    )
    found = _solve(smaller, deadline, integer_search)
    return found.parent[:tables] == RETAINED, found.objective - float(found.gap.sum())


class _Relaxed(NamedTuple):
    values: Floats  # of x, table by table
    reduced_costs: Floats
    bound: float


def _scale(kernel: Kernel) -> float:
    return LARGEST_COST / max(float(kernel.retain.max()), float(kernel.rebuild.max(initial=0.0)))


def _relaxation(kernel: Kernel, deadline: float) -> _Relaxed | None:
    """The optimum of the model with every variable continuous; None if that takes too long."""
    scale = _scale(kernel)
    model = _model(kernel, scale)
    model.integrality_ = []
    solver = _solver({"simplex_iteration_limit": model.num_col_ + 1000}, deadline)
    solver.passModel(model)
    _run(solver)
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    answer, tables = solver.getSolution(), len(kernel.tables)
    bound = solver.getInfo().objective_function_value / scale
    return _Relaxed(np.array(answer.col_value[:tables]), np.array(answer.col_dual[:tables]) / scale, bound)


def integer_search(kernel: Kernel, deadline: float) -> tuple[Flags | None, float]:
    """The best choice that branch and bound finds in time, and a lower bound."""
    scale = _scale(kernel)
    solver = _solver({"mip_rel_gap": 0.0, "mip_abs_gap": 0.0}, deadline)
    solver.passModel(_model(kernel, scale))
    places = np.flatnonzero(is_parent(kernel)).astype(np.int32)
    solver.setSolution(len(places), places, dual_ascent(kernel)[1][places].astype(np.float64))
    _run(solver)
    info = solver.getInfo()
    bound = info.mip_dual_bound / scale if math.isfinite(info.mip_dual_bound) else -math.inf
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None, bound
    return np.array(solver.getSolution().col_value[: len(kernel.tables)]) > 0.5, bound


def _solver(options: Mapping[str, float], deadline: float) -> highspy.Highs:
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    kinds = ("primal_feasibility", "dual_feasibility", "mip_feasibility")
    wanted = {"output_flag": False, "threads": 1, **{f"{kind}_tolerance": TOLERANCE for kind in kinds}, **options}
    if deadline < math.inf:
        wanted["time_limit"] = max(0.0, deadline - time.monotonic())
    for name, value in wanted.items():
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"the solver does not take {name}={value}")
    return solver


def _run(solver: highspy.Highs) -> None:
    """Solve in a thread, so that Ctrl-C reaches Python; it stops the solver and is raised again."""
    solver.HandleUserInterrupt = True
    solver.startSolve()
    try:
        while not solver.wait(0.1)[0]:
            pass
    except BaseException:
        solver.cancelSolve()  # type: ignore[no-untyped-call]
        while not solver.wait(0.1)[0]:
            pass
        raise


def _model(kernel: Kernel, scale: float) -> highspy.HighsLp:
    """The model, with columns x (table is retained), z (table takes its fallback), y (edge rebuilds its child)."""
    tables, edges = len(kernel.tables), len(kernel.parents)
    falls = np.flatnonzero(np.isfinite(kernel.fallback))
    columns = tables + len(falls) + edges
    y = np.arange(tables + len(falls), columns)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, edges + tables
    model.col_cost_ = scale * np.concatenate([kernel.retain, kernel.fallback[falls], kernel.rebuild])
    model.col_lower_, model.col_upper_ = np.zeros(columns), np.ones(columns)
    model.row_lower_ = np.concatenate([np.full(edges, -highspy.kHighsInf), np.ones(tables)])
    model.row_upper_ = np.concatenate([np.zeros(edges), np.full(tables, highspy.kHighsInf)])
    # y_e - x_p <= 0, edge by edge; then x_v + z_v + sum of y_e >= 1, table by table
    tied = np.stack([y, kernel.parents], axis=1).ravel()
    served_table = np.concatenate([np.arange(tables), falls, kernel.children])
    by_table = np.argsort(served_table, kind="stable")  # the columns stand in just this order: x, z, y
    ends = np.cumsum(np.bincount(served_table, minlength=tables))
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.concatenate([2 * np.arange(edges + 1), 2 * edges + ends]).astype(np.int32)
    model.a_matrix_.index_ = np.concatenate([tied, by_table]).astype(np.int32)
    model.a_matrix_.value_ = np.concatenate([np.tile([1.0, -1.0], edges), np.ones(columns)])
    whole, part = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    model.integrality_ = [whole if serves else part for serves in is_parent(kernel)] + [part] * (columns - tables)
    return model
