"""Small tables as codes, and conditions on them, drawn at random; for tests of the search for predicates."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from r2d2.steps.predicates.boxes import Condition
from r2d2.steps.predicates.fitting import Marked

RANDOM = np.random.default_rng(1)


def marked(codes: np.ndarray, kept: np.ndarray, in_child: np.ndarray) -> Marked:
    """The rows of a parent, given which of them the child was made of and which columns it has."""
    keys = [tuple(row) for row in codes[in_child].T.tolist()]
    child = sorted({key for key, keep in zip(keys, kept, strict=True) if keep})
    number = {key: n for n, key in enumerate(child)}
    group = np.array([number.get(key, -1) for key in keys], np.int64)
    random_of = {key: RANDOM.integers(2**64, dtype=np.uint64) for key in keys}
    wanted = np.bincount(group[kept], minlength=len(child))
    return Marked(codes, group, np.array([random_of[key] for key in keys], np.uint64), wanted, in_child)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Codes of a few columns, and which of them the child has."""
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(1, 40))
    values = st.lists(st.integers(-1, draw(st.sampled_from([2, 6, 50]))), min_size=rows, max_size=rows)
    codes = np.array([draw(values) for _ in range(columns)], np.int64)
    in_child = np.array(draw(st.lists(st.booleans(), min_size=columns, max_size=columns)), bool)
    in_child[draw(st.integers(0, columns - 1))] = True
    return codes, in_child


@st.composite
def conditions(draw: st.DrawFn, columns: int) -> Condition:
    column, null = draw(st.integers(0, columns - 1)), draw(st.booleans())
    if draw(st.booleans()):
        most = 3 - null  # lists of up to three values are looked for, and NULL is one
        return Condition(column, codes=tuple(draw(st.sets(st.integers(0, 6), max_size=most))), null=null)
    low, high = draw(st.none() | st.integers(0, 25)), draw(st.none() | st.integers(0, 50))
    return Condition(column, low, high, None, null)
