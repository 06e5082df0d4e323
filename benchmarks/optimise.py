"""`make bench-optimise`: Figure 7 of the paper, peers on the same graphs, a lake's graph, and Dyn-Lin's growth."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.priced_graphs import erdos_renyi, lake_shaped, path
from benchmarks.results import FOLDER, Row, peak_memory_mb, save, timed
from benchmarks.solver_baselines import cp_sat, highs_as_written, scip
from r2d2.solve.dyn_lin import dyn_lin
from r2d2.solve.opt_ret import opt_ret
from r2d2.solve.problem import Problem, Solution, weak_components

NODES_AT_P = (0.0005, (1_000, 2_000, 4_000, 6_000, 8_000, 10_000))
EDGES_AT_NODES = (2_000, (1_000, 2_000, 4_000, 8_000, 16_000))
DENSE_LIMIT_SECONDS = 60.0
SWEEP_LIMIT_SECONDS = 120.0
PEERS_LIMIT_SECONDS = 900.0
PATHS = (1_000, 10_000, 100_000, 1_000_000)
COSTS = "sizes log-normal, accesses and maintenance from a power law, ADLS Gen2 prices; see benchmarks/priced_graphs.py"
TIMES = "seconds of CPU time, one thread each; ours from the edges to the choice, of the others the solver alone"


def ours(problem: Problem, limit_seconds: float) -> Row:
    found: list[Solution] = []
    cpu, clock = timed(lambda: found.append(opt_ret(problem, time_limit_seconds=limit_seconds)))
    solution = found[0]
    gap = float(solution.gap.sum()) / solution.objective
    return {"cpu": cpu, "clock": clock, "proven": solution.proven, "objective": solution.objective, "gap": gap}


SOLVERS: dict[str, Callable[[Problem, float], Row]] = {
    "ours": ours,
    "HiGHS as written": highs_as_written,
    "CP-SAT": cp_sat,
    "SCIP": scip,
}


def main() -> None:
    """Every experiment, or those that are named; a large case alone, so that the peak memory is its own."""
    wanted = sys.argv[1:] or list(EXPERIMENTS)
    if wanted[0] in LARGE:
        print(json.dumps(LARGE[wanted[0]]()))
        return
    for name in wanted:
        EXPERIMENTS[name]()


def paths() -> None:
    save("dyn-lin", list(dyn_lin_growth()), data="one chain", times=TIMES)


def large() -> None:
    save("optimise-large", [_apart(name) for name in LARGE], data=COSTS, times=TIMES)


def others() -> None:
    rows = list(peers(erdos_renyi(10_000, 50_000)))
    save("optimise-peers", rows, data=f"10,000 tables, 50,000 edges; {COSTS}", times=TIMES)


def nodes() -> None:
    chance, sizes = NODES_AT_P
    rows = list(sweep([(tables, round(chance * tables * (tables - 1))) for tables in sizes]))
    save("optimise-nodes", rows, data=f"Erdős–Rényi, p = {chance}; {COSTS}", times=TIMES)
    plot("optimise-nodes", rows, "tables", f"tables, at p = {chance}")


def edges() -> None:
    tables, counts = EDGES_AT_NODES
    rows = list(sweep([(tables, count) for count in counts]))
    save("optimise-edges", rows, data=f"Erdős–Rényi, {tables:,} tables; {COSTS}", times=TIMES)
    plot("optimise-edges", rows, "edges", f"edges, at {tables:,} tables")


EXPERIMENTS = {"paths": paths, "large": large, "others": others, "nodes": nodes, "edges": edges}


def sweep(sizes: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """Every solver on every size; one that ran out of time is not run on the larger ones."""
    given_up: set[str] = set()
    for tables, edges in sizes:
        problem = erdos_renyi(tables, edges)
        row: Row = {"tables": tables, "edges": edges}
        for name, solve in SOLVERS.items():
            if name in given_up:
                row[name] = "not run: no proof in time on a smaller one"
                continue
            answer = solve(problem, SWEEP_LIMIT_SECONDS)
            row[name] = answer["cpu"] if answer["proven"] else f"no proof in {SWEEP_LIMIT_SECONDS:.0f} s"
            if name == "ours":
                row["our gap"] = answer["gap"]
            if not answer["proven"] and name != "ours":
                given_up.add(name)
        print(row, flush=True)
        yield row


def peers(problem: Problem) -> Iterator[Row]:
    """One graph, every solver, and how much longer each takes than ours."""
    first = 0.0
    for name, solve in SOLVERS.items():
        row = {"solver": name, **solve(problem, PEERS_LIMIT_SECONDS)}
        first = first or row["cpu"]
        row["times ours"] = row["cpu"] / first
        print(row, flush=True)
        yield row


def large_random() -> Row:
    """100,000 tables and 300,000 edges, nearly all of them in one component."""
    return _large("Erdős–Rényi", erdos_renyi(100_000, 300_000))


def large_lake() -> Row:
    """100,000 tables of a lake: chains closed, classes of equal tables."""
    return _large("lake", lake_shaped(100_000))


def dense() -> Row:
    """The hard case: many parents for each table and costs that hardly differ. A minute is not enough."""
    problem = erdos_renyi(1_000, 10_000)
    rng = np.random.default_rng(0)
    retain = 1 + 0.01 * rng.random(len(problem))
    rebuild = 0.05 * retain[problem.parents] + 0.5 * retain[problem.children]
    same = Problem(retain, problem.must_keep, problem.parents, problem.children, rebuild)
    return _large("dense, costs nearly equal", same, DENSE_LIMIT_SECONDS)


LARGE: dict[str, Callable[[], Row]] = {"random": large_random, "lake": large_lake, "dense": dense}


def _large(name: str, problem: Problem, limit_seconds: float = math.inf) -> Row:
    component = weak_components(len(problem), problem.parents, problem.children)
    largest = int(np.bincount(component).max())
    about = {"graph": name, "tables": len(problem), "edges": len(problem.parents), "largest component": largest}
    return {**about, **ours(problem, limit_seconds), "peak MB": peak_memory_mb()}


def _apart(name: str) -> Row:
    command = [sys.executable, "-m", "benchmarks.optimise", name]
    row: Row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(row, flush=True)
    return row


def dyn_lin_growth() -> Iterator[Row]:
    """Dyn-Lin from a thousand to a million tables; the exponent is against the first size."""
    first = 0.0
    for tables in PATHS:
        problem = path(tables)
        cpu = min(timed(lambda problem=problem: dyn_lin(problem))[0] for _ in range(3))  # type: ignore[misc]
        row: Row = {"tables": tables, "cpu": cpu, "peak MB": peak_memory_mb()}
        first = first or cpu
        if tables > PATHS[0]:
            row["growth exponent"] = math.log(cpu / first) / math.log(tables / PATHS[0])
        yield row


def plot(name: str, rows: Sequence[Row], across: str, label: str) -> None:
    """One line for each solver; a size without a proof has no point."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.5, 4), layout="constrained")
    for solver in SOLVERS:
        points: list[tuple[Any, Any]] = [(row[across], row[solver]) for row in rows if isinstance(row[solver], float)]
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=solver)
    axes.set(xlabel=label, ylabel="CPU seconds to the proven optimum", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(FOLDER / f"{name}.png", dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
