"""Pairs of tables as numbers and back, for tests that think in tuples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from r2d2.model.containment import Missing
from r2d2.steps.edges.arrays import Ints
from r2d2.steps.edges.ledger import Counts, Pair, pairs_of

NO_PAIRS = np.empty(0, np.int64)


def numbers(pairs: Iterable[Pair], tables: int) -> Ints:
    """Pairs as ascending numbers."""
    return np.array(sorted(parent * tables + child for parent, child in pairs), np.int64)


def by_pair(counts: Counts, tables: int) -> dict[Pair, Missing]:
    """Counts by parent and child."""
    missing = map(Missing, counts.rows.tolist(), counts.copies.tolist())
    return dict(zip(pairs_of(counts.pairs, tables), missing, strict=True))
