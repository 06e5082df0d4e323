"""The model exactly as the paper writes it (all variables binary, all rows), in HiGHS; and the others, apart.

Only the solver's own time counts, not building the model. Every solver has one thread, and is asked for the optimum,
not for a small gap. OR-Tools brings a HiGHS of its own that cannot be loaded beside ours: it runs in another process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import highspy
import numpy as np

from benchmarks.results import Row, timed
from r2d2.solve.problem import Problem


def highs_as_written(problem: Problem, limit_seconds: float) -> Row:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("time_limit", limit_seconds)
    solver.passModel(_as_written(problem))
    cpu, clock = timed(solver.run)
    proven = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return {"cpu": cpu, "clock": clock, "proven": proven, "objective": solver.getInfo().objective_function_value}


def _as_written(problem: Problem) -> highspy.HighsLp:
    tables, edges = len(problem), len(problem.parents)
    y = np.arange(tables, tables + edges)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = tables + edges, tables + 2 * edges
    model.col_cost_ = np.concatenate([problem.retain, problem.rebuild])
    model.col_lower_, model.col_upper_ = np.zeros(tables + edges), np.ones(tables + edges)
    model.row_lower_ = np.concatenate([np.full(2 * edges, -highspy.kHighsInf), np.ones(tables)])
    model.row_upper_ = np.concatenate([np.zeros(edges), np.ones(edges), np.full(tables, highspy.kHighsInf)])
    by_child = np.argsort(np.concatenate([np.arange(tables), problem.children]), kind="stable")
    ends = np.cumsum(1 + np.bincount(problem.children, minlength=tables))
    rows = [np.stack([y, problem.parents], axis=1).ravel(), np.stack([y, problem.children], axis=1).ravel(), by_child]
    values = [np.tile([1.0, -1.0], edges), np.ones(2 * edges + tables + edges)]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.concatenate([2 * np.arange(2 * edges + 1), 4 * edges + ends]).astype(np.int32)
    model.a_matrix_.index_ = np.concatenate(rows).astype(np.int32)
    model.a_matrix_.value_ = np.concatenate(values)
    model.integrality_ = [highspy.HighsVarType.kInteger] * (tables + edges)
    return model


def cp_sat(problem: Problem, limit_seconds: float) -> Row:
    return _ortools("cp_sat", problem, limit_seconds)


def scip(problem: Problem, limit_seconds: float) -> Row:
    return _ortools("scip", problem, limit_seconds)


def _ortools(solver: str, problem: Problem, limit_seconds: float) -> Row:
    with tempfile.TemporaryDirectory(prefix="r2d2-problem-") as folder:
        file = Path(folder) / "problem.npz"
        columns = {name: getattr(problem, name) for name in ("retain", "must_keep", "parents", "children", "rebuild")}
        np.savez(file, **columns)
        command = [sys.executable, "-m", "benchmarks.ortools_baselines", solver, str(file), str(limit_seconds)]
        row: Row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return row
