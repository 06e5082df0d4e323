"""Priced graphs to solve: Erdős–Rényi as in the paper's Figure 7, lakes as containment shapes them, and paths."""

from __future__ import annotations

import numpy as np

from r2d2.solve.problem import Problem

# ADLS Gen2, hot tier, dollars per GB: storage for a month, and reads and writes in operations of 4 MB.
STORE, READ, WRITE = 0.0184, 0.00013, 0.00166


def erdos_renyi(tables: int, edges: int, seed: int = 0) -> Problem:
    """Random edges; accesses and maintenance from a power law, an edge costs the child's write (section 6.7)."""
    rng = np.random.default_rng(seed)
    pair = rng.choice(tables * (tables - 1), edges, replace=False)
    parents, other = pair // (tables - 1), pair % (tables - 1)
    children = other + (other >= parents)
    size = np.exp(rng.normal(0, 1.5, tables))
    accesses, maintenance = rng.pareto(1.5, tables), rng.pareto(1.5, tables)
    return Problem(
        (STORE + READ * maintenance) * size,
        np.zeros(tables, np.bool_),
        parents,
        children,
        WRITE * size[children] * accesses[children],
    )


def lake_shaped(tables: int, seed: int = 0) -> Problem:
    """Families of tables derived from one another, chains closed; one in five is a copy, one in ten has two sources.

    Rebuilding reads the parent and writes the child; one table in twenty must be kept.
    """
    rng = np.random.default_rng(seed)
    above: list[list[int]] = []  # every table that holds this one
    copies: list[list[int]] = []  # a list that equal tables share
    size = np.empty(tables)
    family_start = 0
    family_end = 0
    for table in range(tables):
        if table == family_end:
            family_start, family_end = table, table + 1 + int(min(20_000, 20 * rng.pareto(1.1)))
        what = rng.random()
        if table == family_start or what < 0.02:
            above.append([])
            copies.append([table])
            size[table] = np.exp(rng.normal(3, 1.5))
        elif what < 0.22:
            like = int(rng.integers(family_start, table))
            above.append(above[like])
            copies.append(copies[like])
            copies[like].append(table)
            size[table] = size[like] * (1 if what < 0.12 else rng.uniform(0.9, 1.1))
        else:
            sources = rng.integers(family_start, table, 2 if what < 0.32 else 1).tolist()
            held = {holder for source in sources for holder in (*above[source], source)}
            above.append(sorted(held))
            copies.append([table])
            size[table] = min(size[source] for source in sources) * rng.uniform(0.05, 1)
    pairs = {(holder, table) for table in range(tables) for each in above[table] for holder in copies[each]}
    pairs |= {(copy, table) for table in range(tables) for copy in copies[table] if copy != table}
    edges = np.array(sorted(pair for pair in pairs if pair[0] != pair[1]), np.int64)
    parents, children = edges[:, 0], edges[:, 1]
    accesses, maintenance = rng.pareto(1.5, tables), rng.pareto(1.5, tables)
    rebuild = (READ * size[parents] + WRITE * size[children]) * accesses[children]
    return Problem((STORE + READ * maintenance) * size, rng.random(tables) < 0.05, parents, children, rebuild)


def path(tables: int, seed: int = 0) -> Problem:
    """One chain, each table written from the one before it."""
    rng = np.random.default_rng(seed)
    size, accesses = np.exp(rng.normal(0, 1.5, tables)), 10 * rng.pareto(1.5, tables)
    rebuild = (READ * size[:-1] + WRITE * size[1:]) * accesses[1:]
    return Problem(STORE * size, np.zeros(tables, np.bool_), np.arange(tables - 1), np.arange(1, tables), rebuild)
