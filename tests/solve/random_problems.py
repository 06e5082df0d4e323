"""Random problems of every kind that the algorithms must agree on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from r2d2.solve.problem import Problem

Random = np.random.Generator


def random_costs(rng: Random, count: int, parents: np.ndarray, children: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Retain and rebuild costs: few small whole numbers with zeros, twelve orders of magnitude, or sizes and accesses."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(0, 5, count).astype(float), rng.integers(0, 4, len(parents)).astype(float)
    if kind == 1:
        return 10 ** rng.uniform(-6, 6, count), 10 ** rng.uniform(-6, 6, len(parents))
    size, accesses = rng.integers(1, 5, count).astype(float), rng.integers(0, 4, count)
    return 2 * size, (0.1 * size[parents] + 0.6 * size[children]) * accesses[children]


def problem_with(rng: Random, count: int, pairs: np.ndarray, keep_share: float = 0.1) -> Problem:
    parents, children = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    retain, rebuild = random_costs(rng, count, parents, children)
    return Problem(retain, rng.random(count) < keep_share, parents, children, rebuild)


def random_graph(rng: Random, most: int = 9) -> Problem:
    """Any edges; or classes of equal tables, transitively closed; or the same with some edges missing."""
    count = int(rng.integers(1, most + 1))
    kind = rng.integers(3)
    if kind == 0:
        matrix = rng.random((count, count)) < rng.random()
    else:
        level = rng.integers(0, 1 + count // 2, count)
        matrix = level[:, None] <= level[None, :]
        if kind == 2:
            matrix &= rng.random((count, count)) < 0.7
    np.fill_diagonal(matrix, False)
    return problem_with(rng, count, np.argwhere(matrix))


def hard_graph(rng: Random, count: int = 11) -> Problem:
    """Costs close to each other and no table that is certain to stay: little can be decided without the solver."""
    matrix = rng.random((count, count)) < 0.35
    np.fill_diagonal(matrix, False)
    pairs = np.argwhere(matrix)
    retain, rebuild = 10 + rng.random(count), 1 + rng.random(len(pairs))
    return Problem(retain, np.zeros(count, np.bool_), pairs[:, 0], pairs[:, 1], rebuild)


def random_paths(rng: Random, most: int = 14) -> Problem:
    """One chain or several, their tables numbered at random."""
    count = int(rng.integers(1, most + 1))
    order = rng.permutation(count)
    links = np.stack([order[:-1], order[1:]], axis=1)
    return problem_with(rng, count, links[rng.random(len(links)) < 0.9])


def closed_chain(rng: Random, most: int = 10) -> Problem:
    """A chain with every shortcut, as containment itself has them."""
    count = int(rng.integers(1, most + 1))
    order = rng.permutation(count)
    pairs = [(order[i], order[j]) for i in range(count) for j in range(i + 1, count)]
    return problem_with(rng, count, np.array(pairs, np.int64).reshape(-1, 2))


def random_forest(rng: Random, *, one_parent: bool, most: int = 14) -> Problem:
    """Trees: with one parent at most for each table, or with edges either way, and both ways between equal tables."""
    count = int(rng.integers(1, most + 1))
    number = rng.permutation(count)
    pairs = []
    for table in range(1, count):
        if rng.random() < 0.9:
            link = (number[rng.integers(table)], number[table])
            way = 0 if one_parent else rng.integers(3)
            pairs += [link] if way == 0 else [link[::-1]] if way == 1 else [link, link[::-1]]
    return problem_with(rng, count, np.array(pairs, np.int64).reshape(-1, 2))


def seeds(count: int) -> Iterator[Random]:
    for seed in range(count):
        yield np.random.default_rng(seed)
