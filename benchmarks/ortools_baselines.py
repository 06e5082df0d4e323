"""The model as the paper writes it in CP-SAT and in SCIP; benchmarks/solver_baselines.py runs it as another process."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model

from benchmarks.results import Row, timed
from r2d2.solve.problem import Problem


def main() -> None:
    """Solve the problem in a file; print the answer."""
    solver, file, limit_seconds = sys.argv[1:]
    with np.load(file) as columns:
        problem = Problem(**columns)
    print(json.dumps({"cp_sat": cp_sat, "scip": scip}[solver](problem, float(limit_seconds))))


def cp_sat(problem: Problem, limit_seconds: float) -> Row:
    """CP-SAT takes whole numbers: costs are rounded to a millionth of the largest retain cost.

    With one worker it needs the full linear relaxation to get anywhere here; eight workers took more CPU time.
    """
    unit = float(problem.retain.max()) / 1e6
    model = cp_model.CpModel()
    x = [model.new_bool_var("") for _ in range(len(problem))]
    y = [model.new_bool_var("") for _ in range(len(problem.parents))]
    served: list[list[Any]] = [[table] for table in x]
    for edge, parent, child in zip(y, problem.parents.tolist(), problem.children.tolist(), strict=True):
        model.add_implication(edge, x[parent])
        model.add_implication(edge, x[child].negated())
        served[child].append(edge)
    for ways in served:
        model.add_bool_or(ways)
    costs = np.rint(np.concatenate([problem.retain, problem.rebuild]) / unit).astype(np.int64).tolist()
    model.minimize(cp_model.LinearExpr.weighted_sum(x + y, costs))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_seconds
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 2
    answer: list[Any] = []
    cpu, clock = timed(lambda: answer.append(solver.solve(model)))
    found = answer[0] in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    objective = solver.objective_value * unit if found else None
    return {"cpu": cpu, "clock": clock, "proven": answer[0] == cp_model.OPTIMAL, "objective": objective}


def scip(problem: Problem, limit_seconds: float) -> Row:
    solver = pywraplp.Solver.CreateSolver("SCIP")
    x = [solver.BoolVar("") for _ in range(len(problem))]
    y = [solver.BoolVar("") for _ in range(len(problem.parents))]
    served = [[table] for table in x]
    for edge, parent, child in zip(y, problem.parents.tolist(), problem.children.tolist(), strict=True):
        solver.Add(edge <= x[parent])
        solver.Add(edge + x[child] <= 1)
        served[child].append(edge)
    for ways in served:
        solver.Add(solver.Sum(ways) >= 1)
    goal = solver.Objective()
    for variable, cost in zip(x + y, [*problem.retain.tolist(), *problem.rebuild.tolist()], strict=True):
        goal.SetCoefficient(variable, cost)
    goal.SetMinimization()
    exact = pywraplp.MPSolverParameters()
    exact.SetDoubleParam(exact.RELATIVE_MIP_GAP, 0.0)
    solver.set_time_limit(int(limit_seconds * 1000))
    answer: list[int] = []
    cpu, clock = timed(lambda: answer.append(solver.Solve(exact)))
    found = answer[0] in (solver.OPTIMAL, solver.FEASIBLE)
    objective = goal.Value() if found else None
    return {"cpu": cpu, "clock": clock, "proven": answer[0] == solver.OPTIMAL, "objective": objective}


if __name__ == "__main__":
    main()
