"""Opt-Ret: the optimum of any graph by integer programming (section 5.2). The only place that knows the solver.

The paper's model, less what it does not need: where the parents' x are whole, some y are whole at no more cost, so y is
continuous; `y_e <= 1 - x_v` only forbids paying for a rebuild that nobody needs, which no optimum does. What the
reductions decide never reaches the solver, and what hangs together no longer is solved apart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple

import highspy
import numpy as np

from r2d2.solve.dual_ascent import cost_of, dual_ascent, settled, without_idle
from r2d2.solve.kernel import Kernel, components_of, is_parent, split_by
from r2d2.solve.problem import Flags, Floats, Problem, Solution, solution_from
from r2d2.solve.reduce import reduce_problem

SMALL_EDGES = 500  # components share a model up to this size: starting the solver takes longer than solving them
LARGEST_COST = 1e4  # costs are scaled to this, so that the solver's absolute tolerances are far below it
TOLERANCE = 1e-9  # the solver's; also the share of its cost by which a proven choice may be off


def opt_ret(problem: Problem, *, time_limit_seconds: float = math.inf) -> Solution:
    """The cheapest choice, or the best one found in time together with its gap. There always is one."""
    deadline = time.monotonic() + time_limit_seconds
    kernel = reduce_problem(problem)
    retained = np.zeros(len(kernel.tables), np.bool_)
    gap = np.zeros(len(problem))
    for places, part in split_by(kernel, _models(kernel)):
        retained[places], gap[part.tables] = solve_kernel(part, max(0.0, deadline - time.monotonic()))
    return solution_from(problem, kernel.expand(retained), gap)


def _models(kernel: Kernel) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The number of the model that each table belongs to: a large component has its own, small ones are packed."""
    component = components_of(kernel)
    edges = np.bincount(component[kernel.parents], minlength=int(component.max(initial=-1)) + 1)
    filled = np.where(edges > SMALL_EDGES, 0, edges).cumsum() // SMALL_EDGES
    model = np.where(edges > SMALL_EDGES, filled.max(initial=0) + 1 + np.arange(len(edges)), filled)
    return np.asarray(model[component], np.int64)


def solve_kernel(kernel: Kernel, time_limit_seconds: float) -> tuple[Flags, Floats]:
    """Which of the kernel's tables to retain; and, to be summed, what a better choice might save."""
    retained, bound = _run_solver(kernel, time_limit_seconds) if time_limit_seconds > 0 else (None, -math.inf)
    gap = np.zeros(len(kernel.tables))
    if retained is not None and cost_of(kernel, retained) - bound <= TOLERANCE * max(1.0, abs(bound)):
        return settled(kernel, retained), gap
    retained = np.zeros(len(kernel.tables), np.bool_) if retained is None else retained
    component = components_of(kernel)
    alone = not component.any()
    for places, part in split_by(kernel, component):
        ascent_bound, fair = dual_ascent(part)
        retained[places], cost = _cheaper(part, retained[places], fair)
        gap[places[0]] = max(0.0, cost - max(ascent_bound, bound if alone else -math.inf))
    return retained, gap


def _cheaper(kernel: Kernel, one: Flags, other: Flags) -> tuple[Flags, float]:
    costs = cost_of(kernel, one), cost_of(kernel, other)
    cheaper = one if costs[0] <= costs[1] else other
    return settled(kernel, cheaper), min(costs)


def _run_solver(kernel: Kernel, time_limit_seconds: float) -> tuple[Flags | None, float]:
    """What the solver would retain, and its lower bound. No choice if it found none in time.

    The linear relaxation comes first: nearly always its optimum is whole, and then it is the integer optimum too. The
    integer search takes several times as long even then.
    """
    deadline = time.monotonic() + time_limit_seconds
    relaxed = _relaxation(kernel, time_limit_seconds)
    if relaxed is None:
        free = np.zeros(len(kernel.tables)), np.ones(len(kernel.tables))
        return _integer_search(kernel, deadline, _Start(dual_ascent(kernel)[1], *free))
    fair = without_idle(kernel, relaxed.values > 0.5)
    if cost_of(kernel, fair) - relaxed.bound <= TOLERANCE * max(1.0, abs(relaxed.bound)):
        return fair, relaxed.bound
    retained, bound = _integer_search(kernel, deadline, _Start(fair, *_fixed(kernel, relaxed, fair)))
    return (fair if retained is None else retained), max(bound, relaxed.bound)


class _Relaxed(NamedTuple):
    values: Floats  # of x, table by table
    reduced_costs: Floats
    bound: float


class _Start(NamedTuple):
    fair: Flags  # a choice to begin with
    lower: Floats  # bounds of x
    upper: Floats


def _scale(kernel: Kernel) -> float:
    return LARGEST_COST / max(float(kernel.retain.max()), float(kernel.rebuild.max(initial=0.0)))


def _relaxation(kernel: Kernel, time_limit_seconds: float) -> _Relaxed | None:
    """The optimum of the model with every variable continuous; none where that takes long."""
    scale = _scale(kernel)
    model = _model(kernel, scale)
    model.integrality_ = []
    solver = _solver({"simplex_iteration_limit": model.num_col_ + 1000}, time_limit_seconds)
    solver.passModel(model)
    _run(solver)
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    answer, tables = solver.getSolution(), len(kernel.tables)
    bound = solver.getInfo().objective_function_value / scale
    return _Relaxed(np.array(answer.col_value[:tables]), np.array(answer.col_dual[:tables]) / scale, bound)


def _fixed(kernel: Kernel, relaxed: _Relaxed, fair: Flags) -> tuple[Floats, Floats]:
    """Bounds of x: deciding a table the other way would cost more, by its reduced cost, than a choice that is known."""
    room = (cost_of(kernel, fair) - relaxed.bound) * (1 + 1e-6) + 1e-6 * float(kernel.retain.max())
    parents = is_parent(kernel)
    lower = np.where(parents & (relaxed.reduced_costs < -room), 1.0, 0.0)
    return lower, np.where(parents & (relaxed.reduced_costs > room), 0.0, 1.0)


def _integer_search(kernel: Kernel, deadline: float, start: _Start) -> tuple[Flags | None, float]:
    """The best choice that branch and bound finds in time, and what none can cost less than."""
    scale, tables = _scale(kernel), len(kernel.tables)
    solver = _solver({"mip_rel_gap": 0.0, "mip_abs_gap": 0.0}, max(0.0, deadline - time.monotonic()))
    solver.passModel(_model(kernel, scale))
    places = np.flatnonzero(is_parent(kernel)).astype(np.int32)
    solver.changeColsBounds(tables, np.arange(tables, dtype=np.int32), start.lower, start.upper)
    solver.setSolution(len(places), places, start.fair[places].astype(np.float64))
    _run(solver)
    info = solver.getInfo()
    bound = info.mip_dual_bound / scale if math.isfinite(info.mip_dual_bound) else -math.inf
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None, bound
    return np.array(solver.getSolution().col_value[:tables]) > 0.5, bound


def _solver(options: Mapping[str, float], time_limit_seconds: float) -> highspy.Highs:
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    kinds = ("primal_feasibility", "dual_feasibility", "mip_feasibility")
    wanted = {"output_flag": False, "threads": 1, **{f"{kind}_tolerance": TOLERANCE for kind in kinds}, **options}
    if time_limit_seconds < math.inf:
        wanted["time_limit"] = time_limit_seconds
    for name, value in wanted.items():
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"the solver does not take {name}={value}")
    return solver


def _run(solver: highspy.Highs) -> None:
    """Solve in a thread, so that Ctrl-C reaches Python; the solver is stopped then, and the interruption goes on."""
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
    """x: the table is retained; z: it takes its fallback; y: it is rebuilt by this edge. In this order."""
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
